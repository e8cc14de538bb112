// Repeated timing: cases that are compared take turns, in short slices, so that
// other load meets all of them alike. What counts is the CPU time of the
// thread, which nobody else's time slices stretch, and of that the median over
// the quietest quarter of the turns: those in which case 0, to which the others
// are compared, was fastest.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace rocksync::bench {

inline double ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec);
}

template <class Work>
double TimeNs(Work&& work) {
  const double begin = ThreadCpuNs();
  work();
  return ThreadCpuNs() - begin;
}

inline double Median(std::vector<double> values) {
  const auto at = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// What one case took.
struct Timing {
  double ns = 0;     // an operation, median
  double ratio = 1;  // to case 0 in the same turn, median
};

// The turns in which `times` were lowest, a quarter of them.
inline std::vector<size_t> QuietTurns(const std::vector<double>& times) {
  std::vector<size_t> turns(times.size());
  std::iota(turns.begin(), turns.end(), size_t{0});
  const size_t quarter = (turns.size() + 3) / 4;
  std::nth_element(turns.begin(), turns.begin() + quarter - 1, turns.end(),
                   [&](size_t a, size_t b) { return times[a] < times[b]; });
  turns.resize(quarter);
  return turns;
}

// times[i][turn], in nanoseconds an operation.
inline std::vector<Timing> Compare(
    const std::vector<std::vector<double>>& times) {
  const std::vector<size_t> turns = QuietTurns(times[0]);
  std::vector<Timing> timings;
  for (const std::vector<double>& of_case : times) {
    std::vector<double> ns;
    std::vector<double> ratios;
    for (const size_t turn : turns) {
      ns.push_back(of_case[turn]);
      ratios.push_back(of_case[turn] / times[0][turn]);
    }
    timings.push_back({Median(std::move(ns)), Median(std::move(ratios))});
  }
  return timings;
}

// Times run(0) to run(cases - 1) in turn, `turns` times, backwards in every
// other turn. Before each `prepare(i, turn)` is called, untimed.
template <class Prepare, class Run>
std::vector<Timing> TakeTurns(size_t cases, size_t turns, double operations,
                              Prepare&& prepare, Run&& run) {
  std::vector<std::vector<double>> times(cases);
  for (size_t turn = 0; turn < turns; ++turn) {
    for (size_t step = 0; step < cases; ++step) {
      const size_t i = turn % 2 == 0 ? step : cases - 1 - step;
      prepare(i, turn);
      times[i].push_back(TimeNs([&] { run(i); }) / operations);
    }
  }
  return Compare(times);
}

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_STOPWATCH_H_
