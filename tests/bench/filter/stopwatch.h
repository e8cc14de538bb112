// Repeated timing: cases that are compared take turns, and of many short
// repetitions the low end counts, so that other load disturbs little and all
// alike.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace rocksync::bench {

template <class Work>
double TimeNs(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now() - begin)
      .count();
}

// The twentieth part from below: what it takes when nothing else interferes.
inline double LowEnd(std::vector<double> values) {
  const auto at = values.begin() + values.size() / 20;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Times run(0) to run(cases - 1) in turn, `repetitions` times; gives each
// case's low end, divided by `operations`. Before each turn `prepare(i,
// repetition)` is called, untimed.
template <class Prepare, class Run>
std::vector<double> TakeTurns(size_t cases, size_t repetitions,
                              double operations, Prepare&& prepare, Run&& run) {
  std::vector<std::vector<double>> times(cases);
  for (size_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < cases; ++i) {
      prepare(i, repetition);
      times[i].push_back(TimeNs([&] { run(i); }) / operations);
    }
  }
  std::vector<double> results;
  for (auto& of_case : times) {
    results.push_back(LowEnd(std::move(of_case)));
  }
  return results;
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_
