// Bloom trees, sparse and dense, and top-down testing (table 1, figure 12).

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "push.h"
#include "random_sets.h"
#include "report.h"
#include "streams.h"
#include "tests/experiments/filters/bloom_tree.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

// In the paper's table about 17 of 100 events are distinct.
constexpr double kTreeDistinctPart = 0.17;
constexpr uint32_t kTreeProbes = 4;

// Events and the leaves that they come to. Leaves differ in how many come, by a
// Zipf law. A part of the events, `locality`, is drawn by the leaf's own order
// of popularity, the others by one for all.
struct TreeStream {
  struct Event {
    uint32_t rank = 0;
    uint32_t leaf = 0;
  };
  std::vector<ElementHash> elements;
  std::vector<Event> events;
  double distinct = 0;

  TreeStream(uint32_t leaves, double locality, uint32_t length,
             Random* random) {
    const uint32_t ranks = RanksFor(kTreeDistinctPart * length, length);
    elements = RandomElements(ranks, random);
    const Zipf popularity(ranks, 1);
    const Zipf producers(leaves, 1);
    std::vector<bool> seen(ranks);
    for (uint32_t i = 0; i < length; ++i) {
      const uint32_t leaf = static_cast<uint32_t>(producers.Draw(random));
      uint64_t rank = popularity.Draw(random);
      if (Fraction(*random) < locality) {
        rank = (rank + uint64_t{leaf} * ranks / leaves) % ranks;
      }
      events.push_back({static_cast<uint32_t>(rank), leaf});
      distinct += !seen[rank];
      seen[rank] = true;
    }
  }
};

struct TreeRun {
  Answers answers;
  std::vector<double> hits;      // duplicates found, by level
  std::vector<double> ended;     // climbs that ended, by level
  std::vector<double> accesses;  // by level
};

TreeRun RunTree(const TreeStream& stream, const BloomTreeOptions& options,
                Random* random) {
  BloomTree tree(options,
                 FilterMapping(RandomSeed(*random), 0, options.shape.probes));
  std::vector<bool> delivered(stream.elements.size());
  TreeRun run;
  run.hits.resize(options.levels);
  run.ended.resize(options.levels);
  for (const TreeStream::Event& event : stream.events) {
    const BloomTree::Outcome outcome =
        tree.Process(stream.elements[event.rank], event.leaf);
    run.answers.Count(outcome.duplicate, delivered[event.rank]);
    if (!outcome.duplicate) delivered[event.rank] = true;
    run.hits[outcome.level] += outcome.duplicate;
    ++run.ended[outcome.level];
  }
  run.accesses.assign(tree.accesses().begin(), tree.accesses().end());
  return run;
}

const char* NameOf(TreeKind kind) {
  return kind == TreeKind::kDense ? "dense" : "sparse";
}
constexpr TreeKind kTreeKinds[] = {TreeKind::kSparse, TreeKind::kDense};

// Table 1: leaves and a root.
void RunLocalFilters(const PushOptions& options, Random* random,
                     Report* report) {
  constexpr uint32_t kLeaves = 64;
  const double events = options.events;
  for (const double locality : {0.0, 0.5}) {
    const TreeStream stream(kLeaves, locality, options.events, random);
    const FilterShape shape = ShapeWith(stream.distinct, kTreeProbes, 0.01);
    std::vector<TreeRun> runs;
    for (const TreeKind kind : kTreeKinds) {
      runs.push_back(RunTree(
          stream,
          {.kind = kind, .levels = 2, .fan_out = kLeaves, .shape = shape},
          random));
    }
    for (const uint32_t level : {0u, 1u}) {
      report->Result({{"local filters, locality", locality},
                      {"level", level == 0 ? "L0, root" : "L1, leaves"},
                      {"hits, dense", runs[1].hits[level] / events},
                      {"hits, sparse", runs[0].hits[level] / events},
                      {"accesses, dense", runs[1].accesses[level] / events},
                      {"accesses, sparse", runs[0].accesses[level] / events}});
    }
    const std::string of =
        ", locality " + std::to_string(locality).substr(0, 3);
    report->Compare("hits at the leaves, dense over sparse" + of,
                    "9.8 (49 K, 5 K)", runs[1].hits[1] / runs[0].hits[1],
                    {1.5, 100});
    report->Compare("accesses of the root, sparse over dense" + of,
                    "2.2 (111 K, 50 K)",
                    runs[0].accesses[0] / runs[1].accesses[0], {1.2, 10});
    report->Compare("all hits, sparse over dense" + of, "0.99 (82 K, 83 K)",
                    (runs[0].hits[0] + runs[0].hits[1]) /
                        (runs[1].hits[0] + runs[1].hits[1]),
                    {0.99, 1.01});
  }
}

constexpr uint32_t kTreeLevels = 5;
constexpr uint32_t kTreeFanOut = 4;
constexpr double kTreeLocality = 0.5;
constexpr double kTreeRate = 0.05;  // of a filter that holds everything

// Figure 12 (a), (b).
void RunLevels(const PushOptions& options, Random* random, Report* report) {
  std::ofstream data(PushData(options, "push-trees-levels.dat"));
  const double events = options.events;
  std::vector<TreeRun> runs;
  const TreeStream stream(256, kTreeLocality, options.events, random);
  for (const TreeKind kind : kTreeKinds) {
    runs.push_back(
        RunTree(stream,
                {.kind = kind,
                 .levels = kTreeLevels,
                 .fan_out = kTreeFanOut,
                 .shape = ShapeWith(stream.distinct, kTreeProbes, kTreeRate)},
                random));
  }
  for (uint32_t up = 0; up < kTreeLevels; ++up) {
    const uint32_t level = kTreeLevels - 1 - up;
    report->Result({{"five levels, levels climbed", up},
                    {"ended there, sparse", runs[0].ended[level] / events},
                    {"dense", runs[1].ended[level] / events},
                    {"accesses, sparse", runs[0].accesses[level] / events},
                    {"dense ", runs[1].accesses[level] / events}});
    data << up << ' ' << runs[0].ended[level] / events << ' '
         << runs[1].ended[level] / events << ' '
         << runs[0].accesses[level] / events << ' '
         << runs[1].accesses[level] / events << '\n';
  }
  report->Compare("five levels, ended below the root, dense - sparse",
                  "dense resolves most at lower levels",
                  (runs[0].ended[0] - runs[1].ended[0]) / events, {0.05, 1});
}

// Figure 12 (c), and what the paper does not show: what it costs.
void RunTopDown(const PushOptions& options, Random* random, Report* report) {
  std::ofstream data(PushData(options, "push-trees-top-down.dat"));
  Progress progress("push, trees", 2 * kTreeLevels);
  for (const TreeKind kind : kTreeKinds) {
    std::vector<double> positives;
    double stops_missed = 0;
    for (uint32_t threshold = 0; threshold < kTreeLevels; ++threshold) {
      Sample stops, stops_negative, climbs, climbs_negative, accesses;
      for (uint32_t i = 0; i < std::max(2u, options.seeds / 4); ++i) {
        const TreeStream stream(256, kTreeLocality, options.events, random);
        BloomTreeOptions tree = {
            .kind = kind,
            .levels = kTreeLevels,
            .fan_out = kTreeFanOut,
            .shape = ShapeWith(stream.distinct, kTreeProbes, kTreeRate),
            .threshold = threshold,
            .top_down = TopDown::kStops};
        const TreeRun stopping = RunTree(stream, tree, random);
        stops.Add(stopping.answers.FalsePositiveRate());
        stops_negative.Add(stopping.answers.FalseNegativeRate());
        tree.top_down = TopDown::kClimbs;
        const TreeRun climbing = RunTree(stream, tree, random);
        climbs.Add(climbing.answers.FalsePositiveRate());
        climbs_negative.Add(climbing.answers.FalseNegativeRate());
        double sum = 0;
        for (const double level : climbing.accesses) sum += level;
        accesses.Add(sum / options.events);
      }
      report->Result({{"top-down testing", NameOf(kind)},
                      {"threshold", threshold},
                      {"false positives, stops", stops.Mean()},
                      {"false negatives", stops_negative.Mean()},
                      {"false positives, climbs on", climbs.Mean()},
                      {"false negatives ", climbs_negative.Mean()},
                      {"accesses per event", accesses.Mean()}});
      data << threshold << ' ' << stops.Mean() << ' ' << stops_negative.Mean()
           << ' ' << climbs.Mean() << '\n';
      positives.push_back(stops.Mean());
      stops_missed = std::max(stops_missed, stops_negative.Mean());
      report->Compare("false negatives if the climb goes on, threshold " +
                          std::to_string(threshold) + ", " + NameOf(kind),
                      nullptr, climbs_negative.Max(), {0, 0});
      progress.Step();
    }
    data << "\n\n";
    const std::string of = std::string(", ") + NameOf(kind);
    report->Compare("false positives, threshold 2 over none" + of, "below 1",
                    positives[2] / positives[0], {0, 0.9});
    report->Compare("false positives, threshold 4 over 2" + of,
                    "practically no further", positives[4] / positives[2],
                    {0, 1.05});
    report->Compare("false negatives if it stops, most" + of, nullptr,
                    stops_missed, {1e-6, 0.1});
  }
}

}  // namespace

void RunPushTrees(const PushOptions& options, Random* random, Report* report) {
  RunLocalFilters(options, random, report);
  RunLevels(options, random, report);
  RunTopDown(options, random, report);
}

}  // namespace rocksync
