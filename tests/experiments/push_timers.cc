// Sliding windows: timers and the equal-timers heuristic (figure 9), and timers
// beside generations at equal memory.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "push.h"
#include "random_sets.h"
#include "report.h"
#include "sketch/window/sliding_window_filter.h"
#include "streams.h"
#include "tests/experiments/filters/generation_filter.h"
#include "tests/experiments/filters/timer_filter.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

// --- The equal-timers heuristic ---------------------------------------------

constexpr uint32_t kTimerProbes = 8;  // as in the paper's figure
constexpr double kTimerRate = 0.05;
constexpr uint32_t kTimerSlices = 40;
// Of which about half leave the window before they come again.
constexpr uint32_t kTimerRanks = 10'000;

struct TimerRun {
  Answers answers;
  // Of what the plain test calls duplicate, by how many timers agree.
  std::vector<uint64_t> called = std::vector<uint64_t>(kTimerProbes + 1);
  std::vector<uint64_t> true_ones = std::vector<uint64_t>(kTimerProbes + 1);
};

// A Zipf stream, one event a slot; an event is a duplicate if it was delivered
// less than `window` slots before. What is called distinct is delivered, and
// inserted.
TimerRun RunTimers(const PushOptions& options, const SliceLayout& layout,
                   uint64_t window, uint32_t at_least, Random* random) {
  const Zipf popularity(kTimerRanks, 1);
  const std::vector<ElementHash> elements =
      RandomElements(popularity.ranks(), random);
  const SlicedMapping mapping(layout, RandomSeed(*random), 0);
  TimerFilter filter(&mapping, TimerSpan::Exact(window));
  std::vector<uint64_t> delivered(elements.size());  // slot + window, 0: never
  TimerRun run;
  for (uint64_t slot = 0; slot < options.events; ++slot) {
    const size_t rank = popularity.Draw(random);
    const TimerAnswer answer = filter.Test(elements[rank], slot);
    const bool runs = answer.running == kTimerProbes;
    const bool said = runs && answer.equal >= at_least;
    const bool is = delivered[rank] > slot;
    run.answers.Count(said, is);
    run.called[answer.equal] += runs;
    run.true_ones[answer.equal] += runs && is;
    if (said) continue;
    filter.Insert(elements[rank], slot);
    delivered[rank] = slot + window;
  }
  return run;
}

void RunEqualTimers(const PushOptions& options, const char* cut,
                    uint64_t window, Random* random, Report* report) {
  const bool horizontal = std::string(cut) == "horizontal";
  const double held =
      Zipf(kTimerRanks, 1).Distinct(static_cast<double>(window));
  const SliceLayout layout = {ShapeWith(held, kTimerProbes, kTimerRate),
                              horizontal ? kTimerSlices : 1,
                              horizontal ? 1 : kTimerSlices};
  const std::string name = std::string(cut) + ", " + std::to_string(window);
  std::ofstream data(PushData(options, "push-timers-" + std::string(cut) + "-" +
                                           std::to_string(window) + ".dat"));
  std::vector<double> positives, negatives;
  Json truth = {{"true duplicates if x timers agree", name}};
  Json row_positives = {{"timers, at least x agree", name},
                        {"", "false positives"}};
  Json row_negatives = {{"timers, at least x agree", name},
                        {"", "false negatives"}};
  for (uint32_t x = 1; x <= kTimerProbes; ++x) {
    Sample positive, negative;
    uint64_t called = 0;
    uint64_t true_ones = 0;
    for (uint32_t i = 0; i < std::max(2u, options.seeds / 4); ++i) {
      const TimerRun run = RunTimers(options, layout, window, x, random);
      positive.Add(run.answers.FalsePositiveRate());
      negative.Add(run.answers.FalseNegativeRate());
      // The plain test's own duplicates.
      const TimerRun plain =
          x == 1 ? run : RunTimers(options, layout, window, 1, random);
      called += plain.called[x];
      true_ones += plain.true_ones[x];
    }
    positives.push_back(positive.Mean());
    negatives.push_back(negative.Mean());
    const double part = called == 0 ? 1
                                    : static_cast<double>(true_ones) /
                                          static_cast<double>(called);
    const std::string at = "x=" + std::to_string(x);
    truth[at] = called == 0 ? Json() : Json(part);
    row_positives[at] = positive.Mean();
    row_negatives[at] = negative.Mean();
    data << x << ' ' << (called == 0 ? "NaN" : std::to_string(part)) << ' '
         << positive.Mean() << ' ' << negative.Mean() << '\n';
  }
  report->Result(truth);
  report->Result(row_positives);
  report->Result(row_negatives);
  report->Compare("false negatives of the plain test, " + name, nullptr,
                  negatives[0], {0, 0});
  report->Compare("false positives, at least 4 of 8 agree over plain, " + name,
                  "fewer", positives[3] / positives[0], {0, 0.5});
  report->Compare("false negatives, all 8 agree, " + name, nullptr,
                  negatives[7], {0.02, 1});
}

// --- Equal memory -----------------------------------------------------------

// Elements that come at an even rate, each once, and others that are asked for:
// how much memory must a window's element have for a rate?
constexpr uint64_t kWindowElements = 20'000;  // one a slot
constexpr uint32_t kPhases = 8;

// Inserts `elements`, one a slot, and tests through the last window: members of
// the window, and elements that never were there.
template <typename Insert, typename MayContain>
Answers RunEvenStream(uint64_t tests, Random* random, const Insert& insert,
                      const MayContain& may_contain) {
  const std::vector<ElementHash> elements =
      RandomElements(4 * kWindowElements, random);
  Answers answers;
  for (uint64_t slot = 0; slot < elements.size(); ++slot) {
    insert(elements[slot], slot);
    if (slot < 3 * kWindowElements ||
        slot % (kWindowElements / kPhases) != kWindowElements / kPhases / 2) {
      continue;
    }
    for (uint64_t i = 0; i < tests / kPhases; ++i) {
      answers.Count(may_contain(ElementHash{(*random)(), (*random)()}, slot),
                    false);
    }
    for (uint64_t age = 0; age < kWindowElements; age += 7) {
      answers.Count(may_contain(elements[slot - age], slot), true);
    }
  }
  return answers;
}

uint32_t BestProbes(double places, double held) {
  return static_cast<uint32_t>(
      std::clamp(std::round(std::log(2.0) * places / held), 1.0, 32.0));
}

struct MemoryRow {
  double rate = 0;
  double with_heuristic = -1;  // the lowest with at most 1 % false negatives
};

MemoryRow RunTimersOf(uint32_t bits, double bits_per_element, uint64_t tests,
                      Random* random) {
  const TimerSpan span = bits == 0 ? TimerSpan::Exact(kWindowElements)
                                   : TimerSpan::OfBits(kWindowElements, bits);
  const double places =
      bits_per_element * kWindowElements / static_cast<double>(span.bits());
  const double held =
      static_cast<double>(kWindowElements) + static_cast<double>(span.unit) / 2;
  const FilterShape shape = {static_cast<uint64_t>(places),
                             BestProbes(places, held)};
  MemoryRow row;
  for (uint32_t equal = 1; equal <= shape.probes; ++equal) {
    const SlicedMapping mapping({shape, 1, 1}, RandomSeed(*random), 0);
    TimerFilter filter(&mapping, span);
    const Answers answers = RunEvenStream(
        tests, random,
        [&](const ElementHash& e, uint64_t now) { filter.Insert(e, now); },
        [&](const ElementHash& e, uint64_t now) {
          return filter.MayContain(e, now, equal);
        });
    if (equal == 1) row.rate = answers.FalsePositiveRate();
    if (answers.FalseNegativeRate() > 0.01) break;
    row.with_heuristic = answers.FalsePositiveRate();
  }
  return row;
}

double RunGenerationsOf(uint32_t generations, double bits_per_element,
                        uint64_t tests, Random* random) {
  const double places = bits_per_element * kWindowElements / generations;
  const double held = static_cast<double>(kWindowElements) / (generations - 1);
  const FilterShape shape = {static_cast<uint64_t>(places),
                             BestProbes(places, held)};
  GenerationFilter filter(generations, kWindowElements, shape,
                          RandomSeed(*random));
  const Answers answers = RunEvenStream(
      tests, random,
      [&](const ElementHash& e, uint64_t now) { filter.Insert(e, now); },
      [&](const ElementHash& e, uint64_t now) {
        return filter.MayContain(e, now);
      });
  return answers.FalsePositiveRate();
}

struct WindowPoint {
  double bits_per_element = 0;
  double measured = 0;
  double false_negatives = 0;
};

// The stream's own filter, its memory as it says.
WindowPoint RunWindowOf(double rate, uint64_t tests, Random* random) {
  SlidingWindowFilter filter({.window_ms = kWindowElements,
                              .false_positive_rate = rate,
                              .max_bytes = size_t{8} << 20},
                             RandomSeed(*random));
  Sample memory;
  const Answers answers = RunEvenStream(
      tests, random,
      [&](const ElementHash& e, uint64_t now) {
        filter.Insert(e, now);
        if (now >= 3 * kWindowElements && now % 100 == 0) {
          memory.Add(
              static_cast<double>(filter.GetStatistics(now).memory_bytes));
        }
      },
      [&](const ElementHash& e, uint64_t now) {
        return filter.MayContain(e, now);
      });
  return {8 * memory.Mean() / static_cast<double>(kWindowElements),
          answers.FalsePositiveRate(), answers.FalseNegativeRate()};
}

}  // namespace

void RunPushTimers(const PushOptions& options, Random* random, Report* report) {
  Progress progress("push, timers", 4);
  for (const uint64_t window : {1000u, 10'000u}) {
    for (const char* cut : {"vertical", "horizontal"}) {
      RunEqualTimers(options, cut, window, random, report);
      progress.Step();
    }
  }
}

void RunPushMemory(const PushOptions& options, Random* random, Report* report) {
  const uint64_t tests = uint64_t{options.events} * options.seeds / 10;
  std::ofstream data(PushData(options, "push-memory.dat"));
  const std::vector<double> budgets = {8, 12, 16, 20, 24, 32, 48};
  Progress progress("push, equal memory", budgets.size());
  for (const double budget : budgets) {
    Json row = {{"false positives, bits per element of the window", budget}};
    data << budget;
    for (const uint32_t bits : {0u, 2u, 3u, 4u}) {
      const MemoryRow timers = RunTimersOf(bits, budget, tests, random);
      const std::string name =
          bits == 0 ? "exact timers" : "timers of " + std::to_string(bits);
      row[name] = timers.rate;
      row[name + ", equal"] = timers.with_heuristic;
      data << ' ' << timers.rate << ' ' << timers.with_heuristic;
    }
    double five = 0;
    for (const uint32_t generations : {2u, 3u, 5u, 9u}) {
      const double rate = RunGenerationsOf(generations, budget, tests, random);
      row[std::to_string(generations) + " generations"] = rate;
      data << ' ' << rate;
      if (generations == 5) five = rate;
    }
    report->Result(row);
    data << '\n';
    const double best_timers =
        std::min(row["timers of 2, equal"].get<double>(),
                 std::min(row["timers of 3, equal"].get<double>(),
                          row["timers of 4, equal"].get<double>()));
    report->Compare("false positives, 5 generations over the best timers, " +
                        std::to_string(static_cast<int>(budget)) + " bits",
                    nullptr, five / std::max(best_timers, 1e-9), {0, 1});
    progress.Step();
  }
  std::ofstream window(PushData(options, "push-memory-window.dat"));
  for (const double rate : {0.3, 0.1, 0.03, 0.01, 0.003, 0.001}) {
    const WindowPoint point = RunWindowOf(rate, tests, random);
    report->Result({{"SlidingWindowFilter, rate asked for", rate},
                    {"bits per element of the window", point.bits_per_element},
                    {"false positives", point.measured}});
    window << point.bits_per_element << ' ' << point.measured << '\n';
    const std::string of = ", rate " + std::to_string(rate).substr(0, 5);
    report->Compare(
        "false positives of the stream's filter over asked for" + of, nullptr,
        point.measured / rate, {0, 1});
    report->Compare("members it forgot" + of, nullptr, point.false_negatives,
                    {0, 0});
  }
}

}  // namespace rocksync
