// Sliced Bloom filters ("One is Enough: Distributed Filtering for Duplicate
// Elimination", CIKM 2011): one filter cut into slices horizontally, vertically
// or both ways (diced), some of which are lost; how the load spreads over the
// slices, and what asking them one after the other saves. Sliding windows,
// dynamic sizes, trees and filters filled by a stream are in push.h.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "experiments.h"
#include "random_sets.h"
#include "report.h"
#include "streams.h"
#include "tests/experiments/filters/sliced_filter.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

struct SlicedOptions {
  uint32_t seeds = 20;
  uint64_t first_seed = 1;
  uint64_t elements = 20'000;
  uint32_t tests = 5'000;     // absent elements, per seed
  uint32_t events = 200'000;  // of the load
};

struct Cut {
  const char* name;
  uint32_t groups;
  uint32_t ranges;
};
constexpr uint32_t kSlices = 40;
constexpr Cut kCuts[] = {{"horizontal", kSlices, 1},
                         {"diced 8 x 5", 8, 5},
                         {"vertical", 1, kSlices}};

SliceLayout LayoutOf(const Cut& cut, const FilterShape& shape) {
  return {.filter = shape, .groups = cut.groups, .ranges = cut.ranges};
}

// Half of the bits set, the best fill for k probes.
FilterShape HalfFull(uint64_t n, uint32_t probes) {
  return {static_cast<uint64_t>(
              std::ceil(static_cast<double>(n * probes) / std::log(2.0))),
          probes};
}

// A filter over random elements, some of whose slices never arrived.
struct Arrived {
  SlicedMapping mapping;
  SlicedFilter filter;
  std::vector<ElementHash> members;
  std::vector<bool> lost;

  Arrived(const SliceLayout& layout, uint64_t n, uint32_t lost_slices,
          Random* random)
      : mapping(layout, RandomSeed(*random), 0),
        filter(&mapping),
        members(RandomElements(n, random)),
        lost(layout.slices(), false) {
    for (const ElementHash& e : members) filter.Add(e);
    for (const uint32_t i : Choose(*random, layout.slices(), lost_slices)) {
      lost[i] = true;
    }
  }
  Arrived(const Arrived&) = delete;
  Arrived& operator=(const Arrived&) = delete;

  // What the slices that arrived say together.
  SliceAnswer Ask(const ElementHash& hash) const {
    SliceAnswer sum;
    for (const uint32_t slice : SlicesOf(hash)) {
      if (lost[slice]) continue;
      const SliceAnswer answer =
          TestSlice(mapping, slice, filter.slice(slice), hash);
      sum.zeros += answer.zeros;
      sum.ones += answer.ones;
    }
    return sum;
  }

  // In the order of the probes, each once.
  std::vector<uint32_t> SlicesOf(const ElementHash& hash) const {
    std::vector<uint32_t> slices;
    for (uint32_t i = 0; i < mapping.layout().filter.probes; ++i) {
      const uint32_t slice = mapping.Probe(hash, i).slice;
      if (std::find(slices.begin(), slices.end(), slice) == slices.end()) {
        slices.push_back(slice);
      }
    }
    return slices;
  }
};

// --- Lost slices ------------------------------------------------------------

Sample MeasureRate(const SlicedOptions& options, const SliceLayout& layout,
                   uint32_t lost, Random* random) {
  Sample rates;
  for (uint32_t i = 0; i < options.seeds; ++i) {
    const Arrived arrived(layout, options.elements, lost, random);
    uint32_t hidden = 0;
    for (uint32_t j = 0; j < options.tests; ++j) {
      hidden += arrived.Ask({(*random)(), (*random)()}).zeros == 0;
    }
    rates.Add(static_cast<double>(hidden) / options.tests);
  }
  return rates;
}

// A lost slice must never claim that a member is missing.
uint64_t FalselyMissing(const SlicedOptions& options, const SliceLayout& layout,
                        uint32_t lost, Random* random) {
  const Arrived arrived(layout, options.elements, lost, random);
  uint64_t missing = 0;
  for (const ElementHash& e : arrived.members) {
    missing += arrived.Ask(e).zeros > 0;
  }
  return missing;
}

// How many slices may be lost until the rate exceeds `bound`: the fault
// tolerance of a cut.
uint32_t FaultTolerance(uint64_t n, const SliceLayout& layout, double bound) {
  uint32_t lost = 0;
  while (lost < layout.slices() &&
         FalsePositiveRateWithLoss(n, layout, lost + 1) <= bound) {
    ++lost;
  }
  return lost;
}

void CompareLoss(const SlicedOptions& options, uint32_t probes, const Cut& cut,
                 uint32_t lost, Random* random, Report* report) {
  const SliceLayout layout = LayoutOf(cut, HalfFull(options.elements, probes));
  const double formula =
      FalsePositiveRateWithLoss(options.elements, layout, lost);
  const Sample rate = MeasureRate(options, layout, lost, random);
  report->Run({{"cut", cut.name},
               {"k", probes},
               {"slices", layout.slices()},
               {"lost", lost},
               {"formula", formula},
               {"measured", rate.Mean()},
               {"standard_error", rate.StandardError()}});
  const std::string of =
      std::string(cut.name) + ", k=" + std::to_string(probes) + ", " +
      std::to_string(lost) + " of " + std::to_string(layout.slices()) + " lost";
  // Rates of few per mille are few events: their spread over the seeds alone
  // says too little.
  const double chance = std::sqrt(formula / (options.seeds * options.tests));
  report->Compare(
      "false positive rate, " + of, Formula(formula), rate.Mean(),
      {0.98 * formula, 1.02 * formula, std::max(rate.StandardError(), chance)});
}

void RunLoss(const SlicedOptions& options, Random* random, Report* report) {
  uint64_t falsely_missing = 0;
  Progress progress("sliced, lost slices", 2 * std::size(kCuts));
  for (const uint32_t probes : {4u, 8u}) {
    for (const Cut& cut : kCuts) {
      Json row = {{"false positive rate", cut.name}, {"k", probes}};
      const SliceLayout layout =
          LayoutOf(cut, HalfFull(options.elements, probes));
      for (const uint32_t lost : {0u, 1u, 4u, 8u, 20u}) {
        CompareLoss(options, probes, cut, lost, random, report);
        falsely_missing += FalselyMissing(options, layout, lost, random);
        row[std::to_string(lost) + " of 40 lost"] =
            FalsePositiveRateWithLoss(options.elements, layout, lost);
      }
      row["lost until 25 %"] = FaultTolerance(options.elements, layout, 0.25);
      report->Result(row);
      progress.Step();
    }
  }
  report->Compare("members called missing, by any cut with any loss", nullptr,
                  static_cast<double>(falsely_missing), {0, 0});
  const SliceLayout vertical =
      LayoutOf(kCuts[2], HalfFull(options.elements, 8));
  const SliceLayout horizontal =
      LayoutOf(kCuts[0], HalfFull(options.elements, 8));
  report->Compare("fault tolerance at 25 %, k=8, vertical - horizontal",
                  nullptr,
                  double{1} * FaultTolerance(options.elements, vertical, 0.25) -
                      FaultTolerance(options.elements, horizontal, 0.25),
                  {1, kSlices});
}

// --- At least x bits --------------------------------------------------------

// Errors of "it is there if at least x of its bits are known to be set", by x
// from 0 to k: of absent elements that are called present, and of members
// that are called missing, which the library never does.
struct HeuristicErrors {
  std::vector<double> false_present;
  std::vector<double> false_missing;
};

std::vector<uint64_t> CountOnes(const Arrived& arrived,
                                const std::vector<ElementHash>& elements) {
  std::vector<uint64_t> counts(arrived.mapping.layout().filter.probes + 1);
  for (const ElementHash& e : elements) ++counts[arrived.Ask(e).ones];
  return counts;
}

HeuristicErrors MeasureHeuristic(const SlicedOptions& options,
                                 const SliceLayout& layout, uint32_t lost,
                                 Random* random) {
  const uint32_t k = layout.filter.probes;
  HeuristicErrors errors = {std::vector<double>(k + 1),
                            std::vector<double>(k + 1)};
  for (uint32_t i = 0; i < options.seeds; ++i) {
    const Arrived arrived(layout, options.elements, lost, random);
    const auto absent =
        CountOnes(arrived, RandomElements(options.tests, random));
    const auto present = CountOnes(arrived, arrived.members);
    for (uint32_t x = 0; x <= k; ++x) {
      for (uint32_t ones = 0; ones <= k; ++ones) {
        (ones >= x ? errors.false_present[x] : errors.false_missing[x]) +=
            ones >= x
                ? static_cast<double>(absent[ones]) /
                      (options.seeds * double{1} * options.tests)
                : static_cast<double>(present[ones]) /
                      (static_cast<double>(options.elements) * options.seeds);
      }
    }
  }
  return errors;
}

uint32_t BestX(const HeuristicErrors& errors) {
  uint32_t best = 0;
  for (uint32_t x = 0; x < errors.false_present.size(); ++x) {
    if (errors.false_present[x] + errors.false_missing[x] <
        errors.false_present[best] + errors.false_missing[best]) {
      best = x;
    }
  }
  return best;
}

// 40 slices, 8 lost, k = 8, cut vertically: the paper finds x = 3 or 4 best.
void RunAtLeast(const SlicedOptions& options, Random* random, Report* report) {
  const uint32_t k = 8;
  Progress progress("sliced, at least x bits", 4);
  for (const double fill : {0.05, 0.1, 0.25, 0.5}) {
    const FilterShape shape = {
        static_cast<uint64_t>(static_cast<double>(k * options.elements) /
                              -std::log1p(-fill)),
        k};
    const SliceLayout layout = LayoutOf(kCuts[2], shape);
    const HeuristicErrors errors = MeasureHeuristic(options, layout, 8, random);
    Json row = {{"at least x bits, fill", fill}};
    for (uint32_t x = 2; x <= 7; ++x) {
      row["wrong at x=" + std::to_string(x)] =
          errors.false_present[x] + errors.false_missing[x];
    }
    const uint32_t best = BestX(errors);
    row["best x"] = best;
    row["of it members called missing"] = errors.false_missing[best];
    report->Result(row);
    if (fill <= 0.1) {
      report->Compare("best x, fill " + std::to_string(fill).substr(0, 4),
                      "3 or 4", best, {3, 4});
    }
    report->Compare("members called missing at the best x, fill " +
                        std::to_string(fill).substr(0, 4),
                    nullptr, errors.false_missing[best], {1e-4, 1});
    progress.Step();
  }
}

// --- Fairness ---------------------------------------------------------------

struct Load {
  double fairness = 0;  // Jain's index: 1 if all are equal, 1/S if one has all
  double max_over_mean = 0;
};

Load LoadOf(const std::vector<uint64_t>& asked) {
  double sum = 0;
  double squares = 0;
  for (const uint64_t x : asked) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const double n = static_cast<double>(asked.size());
  const double most =
      static_cast<double>(*std::max_element(asked.begin(), asked.end()));
  return {sum * sum / (n * squares), most * n / sum};
}

// Events that ask about members, drawn from `popularity`; each asks every slice
// that one of its probes falls into.
Load MeasureLoad(const SlicedOptions& options, const Cut& cut, uint32_t probes,
                 const Zipf& popularity, Random* random) {
  const Arrived arrived(LayoutOf(cut, HalfFull(options.elements, probes)),
                        options.elements, 0, random);
  std::vector<uint64_t> asked(kSlices);
  for (uint32_t i = 0; i < options.events; ++i) {
    const ElementHash& e = arrived.members[popularity.Draw(random)];
    for (const uint32_t slice : arrived.SlicesOf(e)) ++asked[slice];
  }
  return LoadOf(asked);
}

void RunFairness(const SlicedOptions& options, Random* random, Report* report) {
  const uint32_t ranks = static_cast<uint32_t>(options.elements);
  const Zipf uniform(ranks, 0);
  const Zipf skewed(ranks, 1);
  Progress progress("sliced, fairness", 2 * std::size(kCuts));
  for (const uint32_t probes : {4u, 8u}) {
    std::map<std::string, Sample> fair;
    for (const Cut& cut : kCuts) {
      Sample even, even_most, skew, skew_most;
      for (uint32_t i = 0; i < std::max(3u, options.seeds / 4); ++i) {
        const Load u = MeasureLoad(options, cut, probes, uniform, random);
        const Load z = MeasureLoad(options, cut, probes, skewed, random);
        even.Add(u.fairness);
        even_most.Add(u.max_over_mean);
        skew.Add(z.fairness);
        skew_most.Add(z.max_over_mean);
      }
      report->Result({{"fairness of load", cut.name},
                      {"k", probes},
                      {"uniform", even.Mean()},
                      {"uniform, most / mean", even_most.Mean()},
                      {"Zipf", skew.Mean()},
                      {"Zipf, most / mean", skew_most.Mean()}});
      report->Compare("fairness, uniform, " + std::string(cut.name) +
                          ", k=" + std::to_string(probes),
                      nullptr, even, 0.97, 1);
      fair[cut.name] = skew;
      progress.Step();
    }
    const std::string k = ", k=" + std::to_string(probes);
    report->Compare("fairness, Zipf, vertical - horizontal" + k, nullptr,
                    fair["vertical"].Mean() - fair["horizontal"].Mean(),
                    {0.05, 1});
  }
}

// --- Pipelining -------------------------------------------------------------

struct Messages {
  double at_once = 0;    // all slices of the probes are asked
  double pipelined = 0;  // one after the other, until one says no
};

// Mean messages per event when `present` of the events ask about members.
Messages MeasureMessages(const SlicedOptions& options, const Cut& cut,
                         uint32_t probes, double present, Random* random) {
  const Arrived arrived(LayoutOf(cut, HalfFull(options.elements, probes)),
                        options.elements, 0, random);
  Messages sum;
  for (uint32_t i = 0; i < options.events; ++i) {
    const ElementHash e =
        Fraction(*random) < present
            ? arrived.members[Below(*random, arrived.members.size())]
            : ElementHash{(*random)(), (*random)()};
    const std::vector<uint32_t> slices = arrived.SlicesOf(e);
    sum.at_once += static_cast<double>(slices.size());
    for (const uint32_t slice : slices) {
      ++sum.pipelined;
      const SliceAnswer answer =
          TestSlice(arrived.mapping, slice, arrived.filter.slice(slice), e);
      if (answer.zeros > 0) break;
    }
  }
  return {sum.at_once / options.events, sum.pipelined / options.events};
}

// Vertical, S slices, fill p: an event reaches probe i if the i before it all
// met a 1, and asks a slice then unless one of the i fell there already. A
// slice that answers for all its probes can only stop earlier than this.
double PipelinedFormula(uint32_t slices, uint32_t probes, double fill,
                        double present) {
  double messages = 0;
  for (uint32_t i = 0; i < probes; ++i) {
    const double reached = present + (1 - present) * std::pow(fill, i);
    messages += reached * std::pow(1 - 1.0 / slices, i);
  }
  return messages;
}

void RunPipelining(const SlicedOptions& options, Random* random,
                   Report* report) {
  Progress progress("sliced, pipelining", 6);
  for (const uint32_t probes : {4u, 8u}) {
    for (const double present : {0.0, 0.5, 0.9}) {
      const Messages vertical =
          MeasureMessages(options, kCuts[2], probes, present, random);
      const Messages diced =
          MeasureMessages(options, kCuts[1], probes, present, random);
      const double formula = PipelinedFormula(kSlices, probes, 0.5, present);
      const double at_once =
          kSlices * (1 - std::pow(1 - 1.0 / kSlices, probes));
      report->Result({{"messages per event, k", probes},
                      {"members asked for", present},
                      {"vertical, at once", vertical.at_once},
                      {"pipelined", vertical.pipelined},
                      {"saved", 1 - vertical.pipelined / vertical.at_once},
                      {"diced, at once", diced.at_once},
                      {"pipelined ", diced.pipelined},
                      {"saved ", 1 - diced.pipelined / diced.at_once}});
      const std::string of = ", vertical, k=" + std::to_string(probes) +
                             ", members " +
                             std::to_string(present).substr(0, 3);
      report->Compare("messages at once" + of, Formula(at_once),
                      vertical.at_once, {0.99 * at_once, 1.01 * at_once});
      report->Compare("messages pipelined" + of, Formula(formula),
                      vertical.pipelined, {0.94 * formula, 1.01 * formula});
      progress.Step();
    }
  }
}

bool Run(const SlicedOptions& options, bool json) {
  Report report("sliced", json);
  Random random(options.first_seed);
  RunLoss(options, &random, &report);
  RunAtLeast(options, &random, &report);
  RunFairness(options, &random, &report);
  RunPipelining(options, &random, &report);
  return report.Finish({{"seeds", options.seeds},
                        {"first_seed", options.first_seed},
                        {"elements", options.elements},
                        {"tests", options.tests},
                        {"events", options.events},
                        {"slices", kSlices}});
}

}  // namespace

void AddSliced(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<SlicedOptions>();
  CLI::App* command = app.add_subcommand(
      "sliced", "filters in slices, some of them lost (CIKM 2011)");
  command->add_option("--seeds", options->seeds, "filters of each kind")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--first-seed", options->first_seed)
      ->capture_default_str();
  command->add_option("--elements", options->elements)
      ->check(CLI::Range(1000, 1'000'000))
      ->capture_default_str();
  command->add_option("--tests", options->tests, "absent elements per filter")
      ->check(CLI::Range(100, 100'000'000))
      ->capture_default_str();
  command->add_option("--events", options->events, "of the load")
      ->check(CLI::Range(1000, 100'000'000))
      ->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
