// Filters by themselves, queried through RocksDB's interface. Each case says
// what an operation took and, as "..._ratio", how that compares with the
// built-in Bloom filter, slice by slice. A filter of 100 MB is built once, so
// its build is one pair.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_SETS_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_SETS_H_

#include <cstddef>

#include "tests/bench/filter/report.h"

namespace rocksync::bench {

struct SetSize {
  size_t repetitions = 400;  // turns of 4 096 queries each
  bool ribbon = true;        // slow to build where filters are large
};

// One filter of 300 000 keys, which stays in the processor's second cache.
void MeasureHot(double bits_per_key, size_t key_bytes, const SetSize& size,
                Report* report);

// One filter of 100 MB: every query misses all caches.
void MeasureLarge(double bits_per_key, size_t key_bytes, const SetSize& size,
                  Report* report);

// 2 000 filters of 20 000 keys; each query goes to another.
void MeasureMany(double bits_per_key, size_t key_bytes, const SetSize& size,
                 Report* report);

// One filter of 10^8 keys, every one of which is asked for: "missed" has to be
// 0. Not timed.
void MeasureHuge(double bits_per_key, size_t key_bytes, Report* report);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_SETS_H_
