#include "dbf_comparison.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace rocksync {
namespace {

Json LineOf(const NetworkOptions& options, const NetworkRun& run) {
  return {{"seed", options.seed},
          {"filter", NameOf(options.mapping)},
          {"reduction", NameOf(options.reduction)},
          {"nodes_converged", run.converged},
          {"union", run.union_size},
          {"median_set", run.median},
          {"iterations", run.iterations},
          {"stopped", run.stopped},
          {"filters", run.filters},
          {"filter_bytes", run.filter_bytes},
          {"elements_sent", run.elements_sent},
          {"elements_needed", run.elements_needed},
          {"hashes_stored", run.hashes_stored},
          {"hashes_unstored", run.hashes_unstored}};
}

void Keep(const NetworkOptions& options, const NetworkRun& run,
          DbfResult* result) {
  result->converged.Add(run.converged);
  result->median.Add(run.median);
  result->below_union.Add(run.union_size - run.median);
  result->iterations.Add(run.iterations);
  result->bytes_per_node.Add(static_cast<double>(run.filter_bytes) /
                             options.nodes);
  result->hashes_stored.Add(static_cast<double>(run.hashes_stored));
  result->hashes_unstored.Add(static_cast<double>(run.hashes_unstored));
}

Json RowOf(const DbfResult& result) {
  return {{"filter", NameOf(result.mapping)},
          {"reduction", NameOf(result.reduction)},
          {"nodes converged", result.converged.Mean()},
          {"fewest in a run", result.converged.Min()},
          {"median set", result.median.Mean()},
          {"iterations", result.iterations.Mean()},
          {"filter bytes per node", result.bytes_per_node.Mean()},
          {"hashes, stored", result.hashes_stored.Mean()},
          {"hashes, not stored", result.hashes_unstored.Mean()}};
}

DbfResult RunSeeds(const DbfOptions& options, MappingKind mapping,
                   Reduction reduction, Progress* progress, Report* report) {
  DbfResult result;
  result.mapping = mapping;
  result.reduction = reduction;
  NetworkOptions network = options.network;
  network.mapping = mapping;
  network.reduction = reduction;
  for (uint32_t i = 0; i < options.seeds; ++i) {
    network.seed = options.first_seed + i;
    const NetworkRun run = RunNetwork(network);
    report->Run(LineOf(network, run));
    Keep(network, run, &result);
    progress->Step(NameOf(mapping) + ", " + NameOf(reduction));
  }
  return result;
}

Json ParametersOf(const DbfOptions& options) {
  const NetworkOptions& network = options.network;
  return {{"nodes", network.nodes},
          {"neighbours", network.neighbours},
          {"elements", network.elements},
          {"own", network.own},
          {"false_positive_rate", network.false_positive_rate},
          {"meetings", network.meetings},
          {"seeds", options.seeds},
          {"first_seed", options.first_seed},
          {"order", network.order == Order::kSequential ? "sequential"
                                                        : "simultaneous"}};
}

}  // namespace

bool DbfOptions::Wants(Reduction which) const {
  return reduction == "both" ||
         reduction == (which == Reduction::kPlainMod ? "mod" : "ours");
}

void AddDbfOptions(CLI::App* command, DbfOptions* options) {
  NetworkOptions& network = options->network;
  command->add_option("--seeds", options->seeds, "how many networks")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--first-seed", options->first_seed)
      ->capture_default_str();
  command
      ->add_option("--reduction", options->reduction,
                   "of a hash to a place: the paper's mod m, or the library's")
      ->check(CLI::IsMember({"mod", "ours", "both"}))
      ->capture_default_str();
  command
      ->add_option("--order", network.order,
                   "whether what a node receives counts at its next meeting")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Order>{
          {"sequential", Order::kSequential},
          {"simultaneous", Order::kSimultaneous}}));
  command
      ->add_option("--meetings", network.meetings,
                   "neighbours that a node meets in one iteration")
      ->check(CLI::Range(1, 10))
      ->capture_default_str();
  command->add_option("--max-iterations", network.max_iterations)
      ->capture_default_str();
}

bool RunDbfExperiment(
    const std::string& name, const DbfOptions& options, bool json,
    const std::function<void(const DbfResult&, Report*)>& judge) {
  Report report(name, json);
  Progress progress(
      name, (options.reduction == "both" ? 6 : 3) * uint64_t{options.seeds});
  for (const Reduction reduction : {Reduction::kPlainMod, Reduction::kMixed}) {
    if (!options.Wants(reduction)) continue;
    for (const MappingKind mapping :
         {MappingKind::kStandard, MappingKind::kDistributed,
          MappingKind::kFresh}) {
      const DbfResult result =
          RunSeeds(options, mapping, reduction, &progress, &report);
      report.Result(RowOf(result));
      judge(result, &report);
    }
  }
  return report.Finish(ParametersOf(options));
}

}  // namespace rocksync
