// Beyond arXiv 1910.07782: replicas of a keyed store, with overwrites and
// deletes, by the library's adaptive exchange and by the paper's, over fixed
// neighbours and over random pairs; and what a node's traffic becomes as the
// network grows.

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster.h"
#include "experiments.h"
#include "report.h"

namespace rocksync {
namespace {

struct BeyondOptions {
  ClusterOptions cluster;
  std::vector<std::string> modes = {"adaptive", "bloom"};
  std::vector<std::string> pairings = {"neighbours", "random"};
  // Sizes of the network that grows; none: no growth.
  std::vector<uint32_t> growth = {10, 30, 100, 300};
  uint32_t growth_seeds = 3;
};

double BytesPerNode(const ClusterRun& run, uint32_t nodes) {
  return static_cast<double>(run.hello_bytes + run.exchange_bytes) / nodes;
}

Json LineOf(const ClusterOptions& options, const ClusterRun& run) {
  return {{"mode", NameOf(options.mode)},
          {"pairing", NameOf(options.pairing)},
          {"nodes", options.nodes},
          {"keys", options.keys},
          {"seed", options.seed},
          {"converged", run.converged},
          {"rounds", run.rounds},
          {"meetings", run.meetings},
          {"exchanges", run.exchanges},
          {"hello_bytes", run.hello_bytes},
          {"exchange_bytes", run.exchange_bytes},
          {"bytes_per_node", BytesPerNode(run, options.nodes)},
          {"pairs_offered", run.offered},
          {"offered_in_vain", run.offered_in_vain},
          {"pairs_shipped", run.shipped},
          {"pairs_needed", run.needed},
          {"nodes_converged", run.nodes_converged},
          {"bytes_after", run.bytes_after}};
}

ClusterRun RunOne(const ClusterOptions& options, Report* report) {
  Progress progress("beyond, " + NameOf(options.mode) + ", " +
                        NameOf(options.pairing) + ", " +
                        std::to_string(options.nodes) + " nodes, rounds",
                    options.max_rounds);
  const ClusterRun run = RunCluster(options, [&](const ClusterRun& so_far) {
    progress.Step(std::to_string(so_far.nodes_converged.back()) +
                  " nodes converged, " +
                  std::to_string(so_far.bytes_after.back()) + " bytes");
  });
  report->Run(LineOf(options, run));
  return run;
}

// --- The paper's experiment, grown up ---------------------------------------

void Judge(const ClusterOptions& options, const ClusterRun& run,
           Report* report) {
  const std::string of =
      ", " + NameOf(options.mode) + ", " + NameOf(options.pairing);
  const double per_node = BytesPerNode(run, options.nodes);
  const double needed = static_cast<double>(run.needed);
  report->Result(
      {{"exchange", NameOf(options.mode)},
       {"pairing", NameOf(options.pairing)},
       {"nodes", options.nodes},
       {"keys", options.keys},
       {"rounds", run.rounds},
       {"bytes per node", per_node},
       {"bytes per pair needed", per_node * options.nodes / needed},
       {"pairs shipped / needed", static_cast<double>(run.shipped) / needed}});
  report->Compare("all nodes converged" + of, nullptr, run.converged, {1, 1});
  report->Compare("pairs shipped / needed" + of, nullptr,
                  static_cast<double>(run.shipped) / needed, {1, 1.05});
}

void RunSame(const BeyondOptions& options, Report* report) {
  std::map<std::string, double> bytes;
  for (const std::string& mode : options.modes) {
    for (const std::string& pairing : options.pairings) {
      ClusterOptions cluster = options.cluster;
      cluster.mode =
          mode == "bloom" ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
      cluster.pairing =
          pairing == "random" ? Pairing::kRandom : Pairing::kNeighbours;
      const ClusterRun run = RunOne(cluster, report);
      Judge(cluster, run, report);
      bytes[mode + " " + pairing] = BytesPerNode(run, cluster.nodes);
    }
  }
  for (const auto& [what, over, under, low, high] :
       {std::tuple{"adaptive / bloom", "adaptive neighbours",
                   "bloom neighbours", 0.0, 0.6},
        {"adaptive / bloom, random pairs", "adaptive random", "bloom random",
         0.0, 0.6},
        {"random pairs / neighbours", "adaptive random", "adaptive neighbours",
         0.7, 1.4}}) {
    if (!bytes.contains(over) || !bytes.contains(under)) continue;
    report->Compare(std::string("bytes per node, ") + what, nullptr,
                    bytes[over] / bytes[under], {low, high});
  }
}

// --- Growth -----------------------------------------------------------------

// Least squares of y over ln N.
class LogFit {
 public:
  void Add(double nodes, double y) {
    const double x = std::log(nodes);
    n_ += 1;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
  }
  double Slope() const { return (n_ * xy_ - x_ * y_) / (n_ * xx_ - x_ * x_); }
  double At(double nodes) const {
    return y_ / n_ + Slope() * (std::log(nodes) - x_ / n_);
  }

 private:
  double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

constexpr uint32_t kGrowthKeys = 5000;
constexpr double kGrowthInserted = 0.2;

struct GrowthFit {
  LogFit rounds;
  LogFit bytes;
  // The slopes of single seeds: rounds are whole numbers, so one alone says
  // little.
  Sample rounds_slopes;
};

GrowthFit MeasureGrowth(const BeyondOptions& options, ExchangeMode mode,
                        Report* report) {
  GrowthFit fit;
  std::vector<LogFit> rounds_of_seed(options.growth_seeds);
  for (const uint32_t nodes : options.growth) {
    Sample rounds;
    Sample bytes;
    for (uint32_t i = 0; i < options.growth_seeds; ++i) {
      const ClusterOptions cluster = {.mode = mode,
                                      .pairing = Pairing::kRandom,
                                      .nodes = nodes,
                                      .keys = kGrowthKeys,
                                      .own = 1,
                                      .inserted = kGrowthInserted,
                                      .seed = options.cluster.seed + i};
      const ClusterRun run = RunOne(cluster, report);
      rounds.Add(run.rounds);
      rounds_of_seed[i].Add(nodes, run.rounds);
      bytes.Add(BytesPerNode(run, nodes));
    }
    fit.rounds.Add(nodes, rounds.Mean());
    fit.bytes.Add(nodes, bytes.Mean());
    report->Result({{"growth", NameOf(mode)},
                    {"nodes", nodes},
                    {"how", "measured"},
                    {"rounds", rounds.Mean()},
                    {"bytes per node", bytes.Mean()},
                    {"bytes per node and new element",
                     bytes.Mean() / (kGrowthKeys * kGrowthInserted)}});
  }
  for (const LogFit& seed : rounds_of_seed) {
    fit.rounds_slopes.Add(seed.Slope());
  }
  for (const uint32_t nodes : {10'000u, 100'000u, 1'000'000u}) {
    report->Result({{"growth", NameOf(mode)},
                    {"nodes", nodes},
                    {"how", "on paper"},
                    {"rounds", fit.rounds.At(nodes)},
                    {"bytes per node", fit.bytes.At(nodes)},
                    {"bytes per node and new element",
                     fit.bytes.At(nodes) / (kGrowthKeys * kGrowthInserted)}});
  }
  return fit;
}

// All nodes share 4 000 pairs; 1 000 more are written, each on one node. A
// node takes part in two meetings a round, so the part x of the nodes that know
// a new pair grows as x' = 2 x (1 - x): it takes about ln N rounds from one
// node to all but one. Every pair still has to reach every node once: with
// an exchange whose cost follows the differences, a node's traffic is that of
// the new pairs, plus a little for each of ln N rounds.
void RunGrowth(const BeyondOptions& options, Report* report) {
  if (options.growth.size() < 2) return;
  const GrowthFit adaptive =
      MeasureGrowth(options, ExchangeMode::kAdaptive, report);
  const GrowthFit bloom = MeasureGrowth(options, ExchangeMode::kBloom, report);
  report->Compare("growth, adaptive: rounds per ln N", nullptr,
                  adaptive.rounds_slopes, 0.5, 1.3);
  const double small = options.growth.front();
  const double large = options.growth.back();
  const double grown = std::log(large) / std::log(small);
  report->Compare(
      "growth, adaptive: bytes per node, largest / smallest network", nullptr,
      adaptive.bytes.At(large) / adaptive.bytes.At(small), {0.8, grown});
  report->Compare("growth: bytes per node at 10^6 nodes, adaptive / bloom",
                  nullptr, adaptive.bytes.At(1e6) / bloom.bytes.At(1e6),
                  {0, 0.5});
}

bool Run(const BeyondOptions& options, bool json) {
  Report report("beyond", json);
  RunSame(options, &report);
  RunGrowth(options, &report);
  const ClusterOptions& cluster = options.cluster;
  return report.Finish({{"nodes", cluster.nodes},
                        {"neighbours", cluster.neighbours},
                        {"keys", cluster.keys},
                        {"own", cluster.own},
                        {"overwritten", cluster.overwritten},
                        {"deleted", cluster.deleted},
                        {"seed", cluster.seed},
                        {"growth_seeds", options.growth_seeds}});
}

}  // namespace

void AddBeyond(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<BeyondOptions>();
  ClusterOptions& cluster = options->cluster;
  CLI::App* command = app.add_subcommand(
      "beyond", "large networks, overwrites, deletes, the adaptive exchange");
  command->add_option("--nodes", cluster.nodes)
      ->check(CLI::Range(2, 100'000))
      ->capture_default_str();
  command->add_option("--elements", cluster.keys, "keys in all")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  command->add_option("--own", cluster.own, "part of them on each node")
      ->capture_default_str();
  command->add_option("--overwritten", cluster.overwritten)
      ->capture_default_str();
  command->add_option("--deleted", cluster.deleted)->capture_default_str();
  command->add_option("--max-rounds", cluster.max_rounds)
      ->capture_default_str();
  command->add_option("--seed", cluster.seed)->capture_default_str();
  command->add_option("--modes", options->modes)
      ->delimiter(',')
      ->check(CLI::IsMember({"adaptive", "bloom"}))
      ->capture_default_str();
  command->add_option("--pairings", options->pairings)
      ->delimiter(',')
      ->check(CLI::IsMember({"neighbours", "random"}))
      ->capture_default_str();
  command
      ->add_option("--growth", options->growth,
                   "sizes of a growing network; one alone: no growth")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--growth-seeds", options->growth_seeds)
      ->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
