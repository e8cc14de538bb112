// What was aimed at, beside what was measured.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_GOALS_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_GOALS_H_

#include "tests/bench/filter/report.h"

namespace rocksync::bench {

// Ratios of the cases in the report: ours with the best instruction set to the
// built-in Bloom filter of the same run, keys of 16 bytes.
void ReportGoals(Report* report);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_GOALS_H_
