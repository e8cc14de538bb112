// A leveled database of several levels, filled at random and settled, asked
// for absent keys.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_END_TO_END_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_END_TO_END_H_

#include <cstddef>

#include "tests/bench/filter/report.h"

namespace rocksync::bench {

struct EndToEndSize {
  size_t keys = 500'000;     // four levels with files
  size_t repetitions = 200;  // of 2 048 lookups each
};

// Ours, level-aware, at 10 bits a key, then the built-in Bloom filter with as
// many bits a key as give the same total size of filters, and ours uniform.
void MeasureEndToEnd(const EndToEndSize& size, Report* report);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_END_TO_END_H_
