// The workloads of bench_write, each run on a plain and on a replicated
// database.

#ifndef ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_
#define ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync::bench {

enum class Kind : uint8_t {
  kPut,         // new keys
  kPutCompact,  // new keys, to the end of all flushes and compactions
  kOverwrite,   // a hot set of 10 000 keys
  kDelete,      // keys that are there
  kGet,
  kMultiGet,
  kIterate,
};

struct Workload {
  std::string name;
  Kind kind = Kind::kPut;
  int threads = 1;
  int value_bytes = 100;
  int batch = 1;
  uint64_t operations = 0;  // keys, over all threads
};

struct Measurement {
  double operations_per_second = 0;
  double p99_us = 0;         // of one call
  double cpu_us = 0;         // of the calling threads, an operation
  double bytes_written = 0;  // WAL, flushes and compactions
  double index_lag_ms = 0;   // from a Put's return until a snapshot has it
};

// Runs in a fresh database in `directory`, which is removed afterwards.
Measurement Run(const Workload& workload, bool replicated,
                const std::string& directory, uint64_t seed);

// The workloads of the table in docs/design_writes.md; `scale` multiplies the
// numbers of operations.
std::vector<Workload> AllWorkloads(double scale);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_
