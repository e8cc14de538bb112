#include "tests/bench/filter/goals.h"

#include <string>
#include <vector>

#include "plugin/filter_kernel.h"

namespace rocksync::bench {
namespace {

bool IsOurs(const Case& a_case) {
  return a_case["policy"] == "rocksync" &&
         a_case["isa"] == BestFilterKernel().name;
}

// Ratio of a figure between our case and the built-in's of equal bits and key
// size; calls give(ratio, bits).
template <class Give>
void Ratios(const std::vector<Case>& cases, const char* figure, Give give) {
  for (const Case& ours : cases) {
    if (!IsOurs(ours) || ours["key_bytes"] != 16) continue;
    for (const Case& theirs : cases) {
      if (theirs["policy"] == "bloom" &&
          theirs["bits_per_key"] == ours["bits_per_key"] &&
          theirs["key_bytes"] == ours["key_bytes"]) {
        give(ours[figure].get<double>() / theirs[figure].get<double>(),
             ours["bits_per_key"].get<double>());
      }
    }
  }
}

void SetGoal(Report* report, const char* set, const char* figure,
             double limit) {
  Ratios(report->OfSet(set), figure, [&](double ratio, double bits) {
    report->Goal(std::string(set) + " " + figure + " at " +
                     std::to_string(static_cast<int>(bits)) + " bits",
                 ratio, limit);
  });
}

void FalsePositiveGoals(Report* report) {
  const std::vector<std::pair<double, double>> limits = {
      {10, 0.95}, {12, 0.90}, {16, 0.76}, {20, 0.65}};
  Ratios(report->OfSet("hot"), "fpr", [&](double ratio, double bits) {
    for (const auto& [at, limit] : limits) {
      if (at == bits) {
        report->Goal("false positives at " +
                         std::to_string(static_cast<int>(bits)) + " bits",
                     ratio, limit);
      }
    }
  });
}

void AttackGoals(Report* report) {
  for (const Case& a_case : report->OfSet("attack")) {
    if (!IsOurs(a_case)) continue;
    report->Goal(
        "under attack, to its own normal rate (" +
            a_case["attack"].get<std::string>() + ")",
        a_case["attack_fpr"].get<double>() / a_case["fpr"].get<double>(), 1.1);
  }
}

void EndToEndGoals(Report* report) {
  const auto cases = report->OfSet("end_to_end");
  if (cases.size() < 2) return;
  const auto ratio = [&](const char* figure) {
    return cases[1][figure].get<double>() / cases[0][figure].get<double>();
  };
  report->Goal("end to end, false positives per absent Get",
               ratio("wasted_reads_per_get"), 0.45);
  report->Goal("end to end, Get of an absent key", ratio("get_ns"), 0.95);
  report->Goal("end to end, MultiGet of absent keys", ratio("multiget_ns"),
               0.90);
}

}  // namespace

void ReportGoals(Report* report) {
  FalsePositiveGoals(report);
  SetGoal(report, "hot", "query_ns", 0.35);
  SetGoal(report, "hot", "batch_query_ns", 0.40);
  SetGoal(report, "hot", "mixed_query_ns", 0.60);
  SetGoal(report, "hot", "build_ns", 1.05);
  SetGoal(report, "large", "query_ns", 0.95);
  SetGoal(report, "large", "batch_query_ns", 0.85);
  AttackGoals(report);
  EndToEndGoals(report);
}

}  // namespace rocksync::bench
