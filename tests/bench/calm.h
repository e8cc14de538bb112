// Waits until RocksDB has nothing left to do in the background, so that what is
// measured next does not share the machine with what was done to prepare it.

#ifndef ROCKSYNC_TESTS_BENCH_CALM_H_
#define ROCKSYNC_TESTS_BENCH_CALM_H_

#include <chrono>
#include <cstdint>
#include <thread>

#include "rocksdb/db.h"

namespace rocksync::bench {

// Waits until nothing is left to flush or compact, of any family, and returns
// since when that is so. A compaction that is only pending may be one that
// RocksDB's picker declines from then on, so what counts is that none runs and
// none begins for `calm`.
inline std::chrono::steady_clock::time_point WaitUntilCalm(
    rocksdb::DB* db, std::chrono::milliseconds calm) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point calm_since = Clock::now();
  while (Clock::now() - calm_since < calm) {
    uint64_t working = 0;
    for (const char* property :
         {"rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes",
          "rocksdb.num-running-compactions"}) {
      uint64_t value = 0;
      db->GetAggregatedIntProperty(property, &value);
      working += value;
    }
    if (working != 0) calm_since = Clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return calm_since;
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_CALM_H_
