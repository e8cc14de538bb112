// Two replicas on disk, and a session that reads their indexes.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_FROM_INDEX_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_FROM_INDEX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/reconcile/session_run.h"

namespace rocksync::bench {

struct IndexRun {
  uint64_t n = 10'000'000;  // pairs of each replica
  uint64_t only_a = 500;    // of them on one side only
  uint64_t only_b = 500;
  uint64_t overwrites = 0;  // for another session: scattered, the same on
                            // both sides, just before it
  std::string directory;    // for the databases; removed afterwards
};

struct IndexOutcome {
  uint64_t overwrites = 0;
  uint64_t entries[2] = {};       // in the index of a, of b
  uint64_t entries_read[2] = {};  // of them, by the session, lookups included
  uint64_t digest_reads[2] = {};  // of entries_read, to ready the digests
  double snapshot_ms[2] = {};     // to take the snapshot, with its digests
  double seconds = 0;             // of the session, both sides in turn
  double memory_mib = 0;          // of both sides, the most above idle
  SessionCost cost;
};

// One session and, if there are overwrites, another one after these with as
// many new differences. False, with the reason on stderr, if anything failed.
bool ReconcileFromIndex(const IndexRun& run, const SessionOptions& options,
                        uint64_t seed, std::vector<IndexOutcome>* outcomes);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_FROM_INDEX_H_
