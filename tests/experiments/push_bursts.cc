// Dynamic size under bursts (figures 10 and 11): filters of timers that are
// added by density or by cardinality, beside the filter of the stream.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "push.h"
#include "random_sets.h"
#include "report.h"
#include "sketch/window/sliding_window_filter.h"
#include "streams.h"
#include "tests/experiments/filters/dynamic_filter.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

// A burst in the middle third of the stream.
constexpr uint64_t kThird = 2000;   // slots
constexpr uint64_t kBaseRate = 20;  // events a slot, before and after
constexpr uint32_t kBurstRanks = 100'000;
constexpr uint32_t kBurstProbes = 4;
constexpr double kBurstRate = 0.05;  // of false positives, of one filter
// The first filter has room for this much of what a window holds before the
// burst, so that chance alone does not fill it.
constexpr double kBurstHeadroom = 1.1;
constexpr uint64_t kSample = 20;  // slots between two samples
constexpr uint64_t kAbsentPerSample = 400;

// One of the filters that the stream is given to.
class BurstSubject {
 public:
  virtual ~BurstSubject() = default;
  virtual bool MayContain(const ElementHash& hash, uint64_t slot) = 0;
  virtual void Insert(const ElementHash& hash, uint64_t slot) = 0;
  virtual double CountFilters(uint64_t slot) = 0;
  virtual double Bits(uint64_t slot) = 0;
};

class TimersSubject : public BurstSubject {
 public:
  TimersSubject(Growth growth, const FilterShape& shape, uint64_t window,
                Random* random)
      : mapping_({shape, 1, 1}, RandomSeed(*random), 0),
        bits_(static_cast<double>(shape.bits) *
              TimerSpan::Exact(window).bits()),
        filter_(&mapping_, TimerSpan::Exact(window), growth, kBurstRate) {}
  bool MayContain(const ElementHash& hash, uint64_t slot) override {
    return filter_.MayContain(hash, slot);
  }
  void Insert(const ElementHash& hash, uint64_t slot) override {
    filter_.Insert(hash, slot);
  }
  double CountFilters(uint64_t slot) override {
    return static_cast<double>(filter_.CountFilters(slot));
  }
  double Bits(uint64_t slot) override { return CountFilters(slot) * bits_; }

 private:
  const SlicedMapping mapping_;
  const double bits_;
  DynamicFilter filter_;
};

class WindowSubject : public BurstSubject {
 public:
  WindowSubject(uint64_t window, Random* random)
      : filter_({.window_ms = window, .false_positive_rate = kBurstRate},
                RandomSeed(*random)) {}
  bool MayContain(const ElementHash& hash, uint64_t slot) override {
    return filter_.MayContain(hash, slot);
  }
  void Insert(const ElementHash& hash, uint64_t slot) override {
    filter_.Insert(hash, slot);
  }
  double CountFilters(uint64_t slot) override {
    return filter_.GetStatistics(slot).generations;
  }
  double Bits(uint64_t slot) override {
    return 8 * static_cast<double>(filter_.GetStatistics(slot).memory_bytes);
  }

 private:
  SlidingWindowFilter filter_;
};

struct BurstSample {
  uint64_t slot = 0;
  double filters = 0;
  double bits = 0;
  double rate = 0;  // of false positives, of elements that never came
};

std::vector<BurstSample> RunBurst(BurstSubject* subject, uint64_t times,
                                  Random* random) {
  const Zipf popularity(kBurstRanks, 1);
  const std::vector<ElementHash> elements = RandomElements(kBurstRanks, random);
  std::vector<BurstSample> samples;
  for (uint64_t slot = 0; slot < 3 * kThird; ++slot) {
    const bool burst = slot / kThird == 1;
    for (uint64_t i = 0; i < kBaseRate * (burst ? times : 1); ++i) {
      const ElementHash& e = elements[popularity.Draw(random)];
      if (!subject->MayContain(e, slot)) subject->Insert(e, slot);
    }
    if (slot % kSample != 0) continue;
    uint64_t hidden = 0;
    for (uint64_t i = 0; i < kAbsentPerSample; ++i) {
      hidden += subject->MayContain({(*random)(), (*random)()}, slot);
    }
    samples.push_back({slot, subject->CountFilters(slot), subject->Bits(slot),
                       static_cast<double>(hidden) / kAbsentPerSample});
  }
  return samples;
}

// Of the samples in [begin, end): counts of filters, rates, bits.
struct BurstSummary {
  Sample filters;
  Sample rate;
  Sample bits;
};

BurstSummary Summarize(const std::vector<BurstSample>& samples, uint64_t begin,
                       uint64_t end) {
  BurstSummary summary;
  for (const BurstSample& sample : samples) {
    if (sample.slot < begin || sample.slot >= end) continue;
    summary.filters.Add(sample.filters);
    summary.rate.Add(sample.rate);
    summary.bits.Add(sample.bits);
  }
  return summary;
}

// How many slots after the burst there are as few filters as before it, at
// most.
double SlotsUntilCalm(const std::vector<BurstSample>& samples, double before) {
  double calm = 0;
  for (const BurstSample& sample : samples) {
    if (sample.slot >= 2 * kThird && sample.filters > before) {
      calm = static_cast<double>(sample.slot - 2 * kThird);
    }
  }
  return calm;
}

void WriteBurst(const std::vector<BurstSample>& samples, std::ofstream* out) {
  for (const BurstSample& sample : samples) {
    *out << sample.slot << ' ' << sample.filters << ' ' << sample.bits / 8
         << ' ' << sample.rate << '\n';
  }
  *out << "\n\n";
}

struct BurstKind {
  const char* name;
  bool timers;
  Growth growth;
};
constexpr BurstKind kBurstKinds[] = {
    {"density", true, Growth::kDensity},
    {"cardinality", true, Growth::kCardinality},
    {"stream's filter", false, Growth::kDensity}};

void CompareBurst(const std::string& of, bool timers,
                  const BurstSummary& before, const BurstSummary& during,
                  const BurstSummary& after, Report* report) {
  const double most = std::max(during.filters.Max(), before.filters.Max());
  // A rate of 400 tests has a spread of its own.
  const double bound = timers ? kBurstRate * most : kBurstRate;
  report->Compare("false positives, mean of the burst" + of, nullptr,
                  during.rate.Mean(), {0, bound});
  report->Compare("memory, burst over before" + of, "more filters, temporarily",
                  during.bits.Max() / before.bits.Mean(), {1.2, 12});
  report->Compare("memory, after over before" + of, "as before",
                  after.bits.Mean() / before.bits.Mean(), {0.6, 1.5});
}

void RunBurstsOf(uint64_t window, uint64_t times, Random* random,
                 Report* report, std::ofstream* data) {
  const double held =
      Zipf(kBurstRanks, 1).Distinct(static_cast<double>(kBaseRate * window));
  const FilterShape shape =
      ShapeWith(kBurstHeadroom * held, kBurstProbes, kBurstRate);
  double density_spread = 0;
  for (const BurstKind& kind : kBurstKinds) {
    std::unique_ptr<BurstSubject> subject;
    if (kind.timers) {
      subject =
          std::make_unique<TimersSubject>(kind.growth, shape, window, random);
    } else {
      subject = std::make_unique<WindowSubject>(window, random);
    }
    const std::vector<BurstSample> samples =
        RunBurst(subject.get(), times, random);
    WriteBurst(samples, data);
    // A window after a change the filters hold what the new rate brings.
    const BurstSummary before = Summarize(samples, window, kThird);
    const BurstSummary during = Summarize(samples, kThird + window, 2 * kThird);
    const BurstSummary after =
        Summarize(samples, 2 * kThird + 3 * window / 2, 3 * kThird);
    report->Result(
        {{"burst, window", window},
         {"rate of events", std::to_string(times) + " x"},
         {"by", kind.name},
         {"filters before", before.filters.Mean()},
         {"during", during.filters.Mean()},
         {"spread", during.filters.StandardDeviation()},
         {"after", after.filters.Mean()},
         {"slots until calm", SlotsUntilCalm(samples, before.filters.Max())},
         {"kB before", before.bits.Mean() / 8000},
         {"kB, most", during.bits.Max() / 8000},
         {"false positives before", before.rate.Mean()},
         {"during ", during.rate.Mean()}});
    const std::string of = ", " + std::string(kind.name) + ", window " +
                           std::to_string(window) + ", " +
                           std::to_string(times) + " x";
    CompareBurst(of, kind.timers, before, during, after, report);
    if (kind.timers && kind.growth == Growth::kDensity) {
      density_spread = before.filters.StandardDeviation();
    } else if (kind.timers) {
      report->Compare(
          "fluctuation of filters, cardinality - density, window " +
              std::to_string(window) + ", " + std::to_string(times) + " x",
          "larger", before.filters.StandardDeviation() - density_spread,
          {0.05, 1});
    }
  }
}

}  // namespace

void RunPushBursts(const PushOptions& options, Random* random, Report* report) {
  std::ofstream data(PushData(options, "push-bursts.dat"));
  Progress progress("push, bursts", 6);
  for (const uint64_t times : {2u, 5u}) {
    for (const uint64_t window : {100u, 500u, 1000u}) {
      RunBurstsOf(window, times, random, report, &data);
      progress.Step();
    }
  }
}

}  // namespace rocksync
