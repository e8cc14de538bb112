// Experiment 1 of arXiv 1910.07782: m is fixed from all of S, so every filter
// has 1 443 bits. With one mapping for all, elements that share a bit with
// another can never be told to be missing, and every node stays without them.

#include <memory>
#include <string>

#include "dbf_comparison.h"
#include "experiments.h"

namespace rocksync {
namespace {

// The reduction makes no difference here: m never changes.
void JudgeDbf1(const DbfResult& result, Report* report) {
  const std::string of =
      NameOf(result.mapping) + ", " + NameOf(result.reduction);
  switch (result.mapping) {
    case MappingKind::kStandard:
      report->Compare("most nodes converged, " + of, 0, result.converged.Max(),
                      {0, 0});
      report->Compare("median set, " + of, 793, result.median, 750, 800);
      break;
    case MappingKind::kDistributed:
      report->Compare("nodes converged, " + of, "50; 1-3 may not",
                      result.converged, 47, 50);
      report->Compare("median set below the union, " + of, 0,
                      result.below_union, 0, 0);
      break;
    case MappingKind::kFresh:
      report->Compare("fewest nodes converged, " + of, 50,
                      result.converged.Min(), {50, 50});
      break;
  }
}

}  // namespace

void AddDbf1(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<DbfOptions>();
  options->network.sizing = FilterSizing::kFixed;
  CLI::App* command = app.add_subcommand(
      "dbf-1", "arXiv 1910.07782, experiment 1: filters of a fixed size");
  AddDbfOptions(command, options.get());
  command->callback([=] {
    chosen->run = [=] {
      return RunDbfExperiment("dbf-1", *options, chosen->json, JudgeDbf1);
    };
  });
}

}  // namespace rocksync
