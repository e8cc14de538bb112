// Experiment 2 of arXiv 1910.07782: m follows the larger of the two sets that
// meet. With the paper's mod m even the standard filter's one mapping changes
// whenever m does, which lets about a third of the nodes converge. The library
// scales a mixed hash to [0, m): a slightly larger m hardly moves a place, so
// the standard filter stays stuck, as it should: only a mapping that is meant
// to be fresh may be relied upon.

#include <memory>
#include <string>

#include "dbf_comparison.h"
#include "experiments.h"

namespace rocksync {
namespace {

void JudgeStandard(const DbfResult& result, Report* report) {
  if (result.reduction == Reduction::kPlainMod) {
    report->Compare("nodes converged, standard, mod m", 18, result.converged,
                    15, 23);
    report->Compare("median set, standard, mod m", 999, result.median, 998,
                    1000);
    return;
  }
  report->Compare("most nodes converged, standard, ours", nullptr,
                  result.converged.Max(), {0, 0});
  report->Compare("median set, standard, ours", nullptr, result.median, 895,
                  915);
}

void JudgeDbf2(const DbfResult& result, Report* report) {
  const std::string of =
      NameOf(result.mapping) + ", " + NameOf(result.reduction);
  switch (result.mapping) {
    case MappingKind::kStandard:
      JudgeStandard(result, report);
      break;
    case MappingKind::kDistributed:
      report->Compare("nodes converged, " + of, 50, result.converged, 49.8, 50);
      break;
    case MappingKind::kFresh:
      report->Compare("fewest nodes converged, " + of, 50,
                      result.converged.Min(), {50, 50});
      break;
  }
}

}  // namespace

void AddDbf2(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<DbfOptions>();
  options->network.sizing = FilterSizing::kLarger;
  CLI::App* command = app.add_subcommand(
      "dbf-2",
      "arXiv 1910.07782, experiment 2: filters sized for each meeting");
  AddDbfOptions(command, options.get());
  command->callback([=] {
    chosen->run = [=] {
      return RunDbfExperiment("dbf-2", *options, chosen->json, JudgeDbf2);
    };
  });
}

}  // namespace rocksync
