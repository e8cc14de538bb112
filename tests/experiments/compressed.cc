// Compressed Bloom filters (Mitzenmacher, PODC 2001): a filter that is larger
// and sparser than the best plain one hides fewer elements at the same number
// of transmitted bits. His tables, with the library's coder: the bits are those
// of the bytes that would travel.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "experiments.h"
#include "random_sets.h"
#include "report.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/filter/filter_coding.h"
#include "tests/experiments/filters/filter_estimates.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

struct CompressedOptions {
  uint32_t seeds = 20;
  uint64_t first_seed = 1;
  uint64_t elements = 100'000;
  uint64_t tests = 500'000;  // absent elements, per seed
};

// A column of the paper's tables.
struct Column {
  double transmitted;  // bits per element: the table's budget
  double array_bits;   // m / n
  uint32_t probes;
  double rate;  // the paper's
};
constexpr Column kColumns[] = {
    {8, 8, 6, 0.0216},     {8, 14, 2, 0.0177},   {8, 92, 1, 0.0108},
    {16, 16, 11, 4.59e-4}, {16, 28, 4, 3.14e-4}, {16, 48, 3, 2.22e-4},
};

std::vector<uint64_t> SlotsOf(const DistributedBloomFilter& filter) {
  std::vector<uint64_t> slots;
  for (uint64_t p = 0; p < filter.shape().bits; ++p) {
    if (filter.bytes()[p / 8] >> p % 8 & 1) slots.push_back(p);
  }
  return slots;
}

bool DecodesTo(const std::string& coded, uint64_t range,
               const std::vector<uint64_t>& slots) {
  SlotReader reader;
  if (!SlotReader::Open(coded, range, &reader)) return false;
  uint64_t slot = 0;
  for (const uint64_t expected : slots) {
    if (!reader.Next(&slot) || slot != expected) return false;
  }
  return !reader.Next(&slot) && reader.ok();
}

struct Measured {
  Sample rate;
  Sample bits;        // per element, on the wire
  Sample over_limit;  // coded bits / entropy of the bits set
  bool decoded = true;
};

double Entropy(double p) {
  return p <= 0 || p >= 1 ? 0 : -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

// One filter of one seed. A plain filter travels as it is.
void Measure(const CompressedOptions& options, const FilterShape& shape,
             bool coded, Random* random, Measured* measured) {
  DistributedBloomFilter filter(
      shape, FilterMapping(RandomSeed(*random), 0, shape.probes));
  const double n = static_cast<double>(options.elements);
  for (const ElementHash& e : RandomElements(options.elements, random)) {
    filter.Add(e);
  }
  uint64_t hidden = 0;
  for (uint64_t i = 0; i < options.tests; ++i) {
    hidden += filter.MayContain({(*random)(), (*random)()});
  }
  measured->rate.Add(static_cast<double>(hidden) /
                     static_cast<double>(options.tests));
  const std::vector<uint64_t> slots = SlotsOf(filter);
  std::string bytes = filter.bytes();
  if (coded) {
    bytes.clear();
    EncodeSlots(slots, shape.bits, &bytes);
    measured->decoded =
        measured->decoded && DecodesTo(bytes, shape.bits, slots);
  }
  const double bits = 8 * static_cast<double>(bytes.size());
  measured->bits.Add(bits / n);
  const double m = static_cast<double>(shape.bits);
  measured->over_limit.Add(
      bits / (m * Entropy(static_cast<double>(slots.size()) / m)));
}

Measured MeasureColumn(const CompressedOptions& options,
                       const FilterShape& shape, bool coded) {
  Measured measured;
  Random random(options.first_seed);
  for (uint32_t i = 0; i < options.seeds; ++i) {
    Measure(options, shape, coded, &random, &measured);
  }
  return measured;
}

// The paper's two tables.
void RunTables(const CompressedOptions& options, Report* report) {
  Progress progress("compressed, tables", std::size(kColumns));
  for (const Column& column : kColumns) {
    const FilterShape shape = {
        static_cast<uint64_t>(column.array_bits *
                              static_cast<double>(options.elements)),
        column.probes};
    const bool coded = column.array_bits > column.transmitted;
    const Measured m = MeasureColumn(options, shape, coded);
    report->Result(
        {{"m/n", column.array_bits},
         {"k", column.probes},
         {"f, paper", column.rate},
         {"f, formula (1)", FalsePositiveRate(options.elements, shape)},
         {"f, measured", m.rate.Mean()},
         {"bits allowed", column.transmitted},
         {"bits sent", m.bits.Mean()},
         {"sent / entropy", m.over_limit.Mean()}});
    const std::string of = "m/n=" + std::to_string(int(column.array_bits)) +
                           " k=" + std::to_string(column.probes);
    // The spread over few seeds alone says too little.
    const double chance = std::sqrt(
        column.rate / (options.seeds * static_cast<double>(options.tests)));
    report->Compare("false positive rate, " + of, column.rate, m.rate.Mean(),
                    {0.98 * column.rate, 1.02 * column.rate,
                     std::max(m.rate.StandardError(), chance)});
    report->Compare("bits sent per element, " + of, column.transmitted, m.bits,
                    0.9 * column.transmitted, column.transmitted);
    if (coded) {
      report->Compare("bits sent / entropy, " + of, nullptr, m.over_limit, 1,
                      1.01);
      report->Compare("decodes to the same filter, " + of, nullptr,
                      m.decoded ? 1 : 0, {1, 1});
    }
    progress.Step();
  }
}

// False positives against bits sent: a plain filter with the best k, and the
// library's one probe, coded.
void RunCurve(const CompressedOptions& options, Report* report) {
  CompressedOptions few = options;
  few.seeds = 1;
  few.tests = 4 * options.tests;
  Progress progress("compressed, curve", 9);
  for (const double rate : {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625,
                            0.0078125, 0.00390625, 0.001953125}) {
    const double n = static_cast<double>(options.elements);
    const FilterShape plain = ShapeFilter(options.elements, rate);
    const FilterShape sparse = {static_cast<uint64_t>(n / -std::log1p(-rate)),
                                1};
    const Measured p = MeasureColumn(few, plain, false);
    const Measured s = MeasureColumn(few, sparse, true);
    report->Run({{"curve", rate},
                 {"plain_k", plain.probes},
                 {"plain_bits", p.bits.Mean()},
                 {"plain_rate", p.rate.Mean()},
                 {"coded_bits", s.bits.Mean()},
                 {"coded_rate", s.rate.Mean()}});
    if (rate < 0.5) {
      report->Compare("one coded probe / best plain filter, bits, f=" +
                          std::to_string(rate).substr(0, 7),
                      nullptr, s.bits.Mean() / p.bits.Mean(), {0.5, 1.0});
    }
    progress.Step();
  }
}

bool Run(const CompressedOptions& options, bool json) {
  Report report("compressed", json);
  RunTables(options, &report);
  RunCurve(options, &report);
  return report.Finish({{"seeds", options.seeds},
                        {"first_seed", options.first_seed},
                        {"elements", options.elements},
                        {"tests", options.tests}});
}

}  // namespace

void AddCompressed(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<CompressedOptions>();
  CLI::App* command = app.add_subcommand(
      "compressed", "Mitzenmacher's compressed Bloom filters, real bytes");
  command->add_option("--seeds", options->seeds, "filters per column")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--first-seed", options->first_seed)
      ->capture_default_str();
  command->add_option("--elements", options->elements)
      ->check(CLI::Range(1000, 10'000'000))
      ->capture_default_str();
  command->add_option("--tests", options->tests, "absent elements per filter")
      ->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
