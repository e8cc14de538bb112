// The formulas that the library and the papers lean on, against measured rates.

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "experiments.h"
#include "random_sets.h"
#include "report.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "tests/experiments/filters/filter_estimates.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

struct FormulaOptions {
  uint32_t seeds = 100;
  uint64_t first_seed = 1;
};

DistributedBloomFilter FilterOf(std::span<const ElementHash> elements,
                                const FilterShape& shape,
                                const MappingSeed& seed) {
  DistributedBloomFilter filter(shape, FilterMapping(seed, 0, shape.probes));
  for (const ElementHash& e : elements) filter.Add(e);
  return filter;
}

std::string ShapeName(uint64_t n, const FilterShape& shape) {
  return "n=" + std::to_string(n) + " m=" + std::to_string(shape.bits) +
         " k=" + std::to_string(shape.probes);
}

// The part of `tests` fresh elements that a filter over n others hides, once
// per seed.
Sample MeasureRate(uint64_t n, const FilterShape& shape, uint32_t filters,
                   uint32_t tests, Random* random) {
  Sample rates;
  for (uint32_t i = 0; i < filters; ++i) {
    const DistributedBloomFilter filter =
        FilterOf(RandomElements(n, random), shape, RandomSeed(*random));
    uint32_t hidden = 0;
    for (const ElementHash& e : RandomElements(tests, random)) {
      hidden += filter.MayContain(e);
    }
    rates.Add(static_cast<double>(hidden) / tests);
  }
  return rates;
}

// Formula (1), and the bound for finite filters.
void CheckFalsePositiveRate(const FormulaOptions& options, Random* random,
                            Report* report) {
  Progress progress("formulas, rates", 6);
  for (const auto& [n, shape] :
       {std::pair<uint64_t, FilterShape>{1000, {1443, 1}},
        {1000, {9586, 7}},
        {20'000, {160'000, 6}},
        {20'000, {280'000, 2}},
        // Small, where (1) is too low and only the bound holds.
        {4, {12, 2}},
        {20, {60, 3}}}) {
    const bool small = n < 1000;
    const double formula = FalsePositiveRate(n, shape);
    const double bound = FalsePositiveBound(n, shape);
    const Sample measured =
        MeasureRate(n, shape, options.seeds * (small ? 200 : 1),
                    small ? 100 : 20'000, random);
    report->Result({{"formula (1)", ShapeName(n, shape)},
                    {"formula", formula},
                    {"bound", bound},
                    {"measured", measured.Mean()},
                    {"standard error", measured.StandardError()}});
    const std::string what = "false positive rate, " + ShapeName(n, shape);
    if (small) {
      report->Compare(what + ", above (1) and below the bound", nullptr,
                      measured, formula, bound);
    } else {
      report->Compare(what, Formula(formula), measured, 0.995 * formula,
                      1.005 * bound);
    }
    progress.Step();
  }
}

// Of `tests` absent elements, the part hidden by the filters of all of `nodes`
// neighbours which hold the same n elements.
double HiddenByNodes(uint64_t n, const FilterShape& shape, uint32_t nodes,
                     bool distributed, uint32_t tests, Random* random) {
  const std::vector<ElementHash> held = RandomElements(n, random);
  std::vector<ElementHash> hidden = RandomElements(tests, random);
  const MappingSeed common = RandomSeed(*random);
  for (uint32_t node = 0; node < nodes; ++node) {
    const DistributedBloomFilter filter =
        FilterOf(held, shape, distributed ? RandomSeed(*random) : common);
    std::erase_if(hidden,
                  [&](const ElementHash& e) { return !filter.MayContain(e); });
  }
  return static_cast<double>(hidden.size()) / tests;
}

// Formula (2).
void CheckNodes(const FormulaOptions& options, Random* random, Report* report) {
  const uint64_t n = 1000;
  const FilterShape shape = ShapeFilter(n, 0.5);
  Progress progress("formulas, nodes", 3);
  for (const uint32_t nodes : {2u, 5u, 10u}) {
    Sample distributed;
    Sample standard;
    for (uint32_t i = 0; i < options.seeds; ++i) {
      distributed.Add(HiddenByNodes(n, shape, nodes, true, 20'000, random));
      standard.Add(HiddenByNodes(n, shape, nodes, false, 2'000, random));
    }
    const double formula = HiddenByAll(n, shape, nodes);
    const double single = FalsePositiveRate(n, shape);
    report->Result({{"formula (2), N", nodes},
                    {"formula", formula},
                    {"distributed", distributed.Mean()},
                    {"standard", standard.Mean()}});
    const std::string by = "hidden by all of " + std::to_string(nodes);
    // Formula (1) neglects that the fill varies, and f^N feels that N times.
    report->Compare(by + ", distributed", Formula(formula), distributed,
                    0.99 * formula,
                    std::pow(FalsePositiveBound(n, shape), nodes) * 1.01);
    report->Compare(by + ", standard: as by one", Formula(single), standard,
                    0.995 * single, 1.005 * single);
    progress.Step();
  }
}

// Estimates over the true size.
struct OverlapErrors {
  Sample count;
  Sample both;
  Sample shared;
  Sample missing;
};

void MeasureOverlap(uint64_t n, uint64_t common, const FilterShape& shape,
                    Random* random, OverlapErrors* errors) {
  const std::vector<ElementHash> all = RandomElements(2 * n - common, random);
  const std::span<const ElementHash> a(all.data(), n);
  const std::span<const ElementHash> b(all.data() + n - common, n);
  const MappingSeed seed = RandomSeed(*random);
  const DistributedBloomFilter filter_a = FilterOf(a, shape, seed);
  const DistributedBloomFilter filter_b = FilterOf(b, shape, seed);
  const OverlapEstimate estimate = EstimateOverlap(filter_a, filter_b);
  errors->count.Add(estimate.first / static_cast<double>(n));
  errors->both.Add(estimate.union_size / static_cast<double>(all.size()));
  errors->shared.Add(estimate.intersection / static_cast<double>(common));
  uint64_t misses = 0;
  for (const ElementHash& e : b) misses += !filter_a.MayContain(e);
  errors->missing.Add(EstimateMissing(misses, CountBitsSet(filter_a), shape) /
                      static_cast<double>(n - common));
}

// Count from bits set, union, intersection and missing elements.
void CheckEstimates(const FormulaOptions& options, Random* random,
                    Report* report) {
  const uint64_t n = 10'000;
  Progress progress("formulas, estimates", 4);
  for (const uint64_t common : {1000u, 9000u}) {
    for (const FilterShape shape :
         {ShapeFilter(n, 0.5), ShapeFilter(n, 0.01)}) {
      OverlapErrors errors;
      for (uint32_t i = 0; i < options.seeds; ++i) {
        MeasureOverlap(n, common, shape, random, &errors);
      }
      report->Result({{"estimates", ShapeName(n, shape)},
                      {"in common", common},
                      {"count / true", errors.count.Mean()},
                      {"spread", errors.count.StandardDeviation()},
                      {"union / true", errors.both.Mean()},
                      {"spread ", errors.both.StandardDeviation()},
                      {"intersection / true", errors.shared.Mean()},
                      {"spread  ", errors.shared.StandardDeviation()},
                      {"missing / true", errors.missing.Mean()},
                      {"spread   ", errors.missing.StandardDeviation()}});
      const std::string of =
          ", " + ShapeName(n, shape) + " common=" + std::to_string(common);
      report->Compare("count from bits set / true" + of, Formula(1),
                      errors.count, 0.998, 1.002);
      report->Compare("union / true" + of, Formula(1), errors.both, 0.998,
                      1.002);
      report->Compare("intersection / true" + of, Formula(1), errors.shared,
                      0.98, 1.02);
      report->Compare("missing / true" + of, Formula(1), errors.missing, 0.995,
                      1.005);
      progress.Step();
    }
  }
}

bool Run(const FormulaOptions& options, bool json) {
  Report report("formulas", json);
  Random random(options.first_seed);
  CheckFalsePositiveRate(options, &random, &report);
  CheckNodes(options, &random, &report);
  CheckEstimates(options, &random, &report);
  return report.Finish(
      {{"seeds", options.seeds}, {"first_seed", options.first_seed}});
}

}  // namespace

void AddFormulas(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<FormulaOptions>();
  CLI::App* command = app.add_subcommand(
      "formulas", "false positive rates and estimates, formula and measured");
  command->add_option("--seeds", options->seeds, "filters of each kind")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--first-seed", options->first_seed)
      ->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
