#include "tests/bench/filter/goals.h"

#include <string>
#include <utility>
#include <vector>

#include "plugin/filter_kernel.h"

namespace rocksync::bench {
namespace {

bool IsOurs(const Case& a_case) {
  return a_case["policy"] == "rocksync" &&
         a_case["isa"] == BestFilterKernel().name;
}

std::string AtBits(const Case& a_case) {
  return " at " +
         std::to_string(
             static_cast<int>(a_case["bits_per_key"].get<double>())) +
         " bits, keys of " + std::to_string(a_case["key_bytes"].get<int>());
}

// A time of ours, in each case of a set, to the built-in Bloom filter's.
void TimeGoal(Report* report, const char* set, const std::string& figure,
              double limit) {
  for (const Case& ours : report->OfSet(set)) {
    if (!IsOurs(ours)) continue;
    report->Goal(set + (" " + figure) + AtBits(ours),
                 ours[figure + "_ratio"].get<double>(), limit);
  }
}

// False positives of two cases of equal bits and key size.
void FalsePositiveGoal(Report* report, const Case& ours, const Case& theirs) {
  const std::vector<std::pair<double, double>> limits = {
      {10, 0.95}, {12, 0.90}, {16, 0.76}, {20, 0.65}};
  for (const auto& [bits, limit] : limits) {
    if (ours["bits_per_key"] != bits) continue;
    report->Goal("false positives" + AtBits(ours),
                 ours["fpr"].get<double>() / theirs["fpr"].get<double>(),
                 limit);
  }
}

void FalsePositiveGoals(Report* report) {
  const auto cases = report->OfSet("hot");
  for (const Case& ours : cases) {
    if (!IsOurs(ours)) continue;
    for (const Case& theirs : cases) {
      if (theirs["policy"] == "bloom" &&
          theirs["bits_per_key"] == ours["bits_per_key"] &&
          theirs["key_bytes"] == ours["key_bytes"]) {
        FalsePositiveGoal(report, ours, theirs);
      }
    }
  }
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
  const Case& bloom = cases[0];
  const Case& ours = cases[1];
  report->Goal("end to end, false positives per absent Get",
               ours["wasted_reads_per_get"].get<double>() /
                   bloom["wasted_reads_per_get"].get<double>(),
               0.45);
  report->Goal("end to end, Get of an absent key", ours["get_ratio"], 0.95);
  report->Goal("end to end, MultiGet of absent keys", ours["multiget_ratio"],
               0.90);
}

}  // namespace

void ReportGoals(Report* report) {
  FalsePositiveGoals(report);
  TimeGoal(report, "hot", "query", 0.35);
  TimeGoal(report, "hot", "batch_query", 0.40);
  TimeGoal(report, "hot", "mixed_query", 0.60);
  TimeGoal(report, "large", "query", 0.95);
  TimeGoal(report, "large", "batch_query", 0.85);
  for (const char* set : {"hot", "large", "many"}) {
    TimeGoal(report, set, "build", 1.05);
  }
  AttackGoals(report);
  EndToEndGoals(report);
}

}  // namespace rocksync::bench
