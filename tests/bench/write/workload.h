// The workloads of bench_write, each run on a plain and on a replicated
// database.

#ifndef ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_
#define ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_

#include <cstddef>
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
  uint64_t operations = 0;          // keys, over all threads
  size_t db_write_buffer_size = 0;  // as in DBOptions; 0: no limit
};

struct Measurement {
  double operations_per_second = 0;
  double p95_us = 0;  // of one call, and so on
  double p99_us = 0;
  double p999_us = 0;
  double cpu_us = 0;         // of the calling threads, an operation
  double bytes_written = 0;  // WAL, flushes and compactions
  double index_lag_ms = 0;   // from a Put's return until a snapshot has it
};

// How one workload did on both, in one round.
struct Round {
  Measurement plain;
  Measurement rocksync;
};

// Runs in two fresh databases below `directory`, which is removed afterwards.
// They take turns (`rocksync_first`: who begins), reads in short slices, writes
// in a few long ones that begin when nothing runs in the background. Of
// put_compact, all of it on one, then on the other.
Round Run(const Workload& workload, bool rocksync_first,
          const std::string& directory, uint64_t seed);

// What readying the digests reads after scattered overwrites.
struct DigestReads {
  uint64_t pairs = 0;
  uint64_t overwrites = 0;
  uint64_t entries_read = 0;
  uint64_t bytes_read = 0;   // from files, blocks of 1 KiB
  uint64_t index_bytes = 0;  // of the index's files
  double seconds = 0;
};
DigestReads MeasureDigests(uint64_t pairs, uint64_t overwrites,
                           const std::string& directory);

// The workloads of the table in docs/design_writes.md; `scale` multiplies the
// numbers of operations. The last, put_compact, goes on to the end of all work
// in the background.
std::vector<Workload> AllWorkloads(double scale);

// How many operations `at_scale_one` are at another scale; at least 1 000.
uint64_t Operations(double scale, double at_scale_one);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_WRITE_WORKLOAD_H_
