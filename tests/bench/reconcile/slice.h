// What one 50 % slice of a Distributed Bloom Filter costs in time.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_SLICE_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_SLICE_H_

#include <cstdint>

namespace rocksync::bench {

// Nanoseconds of CPU an element, medians over runs.
struct SliceTimes {
  double build_ns = 0;
  double test_ns = 0;         // against a filter of a set that differs a little
  double test_absent_ns = 0;  // against one of other elements: half are missing
  double sha256_ns = 0;  // hashing a key of 16 bytes, as a filter over keys
                         // would have to for each of the two
};

SliceTimes TimeSlice(uint64_t n, uint64_t seed, uint32_t runs);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_SLICE_H_
