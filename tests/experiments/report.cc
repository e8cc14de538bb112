#include "report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace rocksync {
namespace {

std::string CellOf(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "NO";
  if (!value.is_number_float()) return value.dump();
  char text[32];
  std::snprintf(text, sizeof(text), "%.5g", value.get<double>());
  return text;
}

// A row of a Markdown table, so that it can be pasted.
void PrintRow(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) std::printf("| %s ", cell.c_str());
  std::printf("|\n");
}

}  // namespace

double Sample::Mean() const {
  if (values_.empty()) return 0;
  return std::accumulate(values_.begin(), values_.end(), 0.0) /
         static_cast<double>(values_.size());
}

double Sample::Min() const {
  return values_.empty() ? 0
                         : *std::min_element(values_.begin(), values_.end());
}

double Sample::Max() const {
  return values_.empty() ? 0
                         : *std::max_element(values_.begin(), values_.end());
}

double Sample::StandardDeviation() const {
  if (values_.size() < 2) return 0;
  const double mean = Mean();
  double squares = 0;
  for (const double value : values_) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values_.size() - 1));
}

double Sample::StandardError() const {
  return values_.empty() ? 0
                         : StandardDeviation() /
                               std::sqrt(static_cast<double>(values_.size()));
}

Report::Report(std::string experiment, bool json)
    : experiment_(std::move(experiment)), json_(json) {}

void Report::Run(Json line) {
  if (!json_) return;
  Json out = {{"experiment", experiment_}};
  out.update(line);
  std::cout << out.dump() << std::endl;
}

void Report::Compare(const std::string& what, const Json& paper, double ours,
                     const Bounds& bounds) {
  const double slack = 4 * bounds.standard_error;
  const bool holds = ours >= bounds.low - slack && ours <= bounds.high + slack;
  all_hold_ = all_hold_ && holds;
  comparisons_.push_back(
      {{"what", what},
       {"paper", paper.is_object() ? Json() : paper},
       {"formula", paper.is_object() ? paper["formula"] : Json()},
       {"ours", ours},
       {"low", bounds.low},
       {"high", bounds.high},
       {"standard_error", bounds.standard_error},
       {"holds", holds}});
}

void Report::Compare(const std::string& what, const Json& paper,
                     const Sample& ours, double low, double high) {
  Compare(what, paper, ours.Mean(), {low, high, ours.StandardError()});
}

bool Report::Finish(const Json& parameters) {
  const bool passed = all_hold_ && !comparisons_.empty();
  if (json_) {
    const Json summary = {{"experiment", experiment_}, {"summary", true},
                          {"parameters", parameters},  {"results", results_},
                          {"compared", comparisons_},  {"all_hold", passed}};
    std::cout << summary.dump() << std::endl;
  } else {
    PrintResults();
    PrintComparisons();
  }
  for (const Json& line : comparisons_) {
    if (!line["holds"]) std::cerr << "does not hold: " << line << std::endl;
  }
  return passed;
}

void Report::PrintResults() const {
  Json fields;
  for (const Json& row : results_) {
    Json now = Json::array();
    for (const auto& item : row.items()) now.push_back(item.key());
    if (now != fields) {
      fields = now;
      std::vector<std::string> names;
      for (const Json& name : fields) names.push_back(name);
      PrintRow(names);
    }
    std::vector<std::string> cells;
    for (const auto& item : row.items()) cells.push_back(CellOf(item.value()));
    PrintRow(cells);
  }
  if (!results_.empty()) std::printf("\n");
}

void Report::PrintComparisons() const {
  PrintRow({experiment_, "paper", "formula", "ours", "within", "holds"});
  for (const Json& line : comparisons_) {
    PrintRow({line["what"], CellOf(line["paper"]), CellOf(line["formula"]),
              CellOf(line["ours"]),
              CellOf(line["low"]) + " .. " + CellOf(line["high"]),
              CellOf(line["holds"])});
  }
}

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      said_(std::chrono::steady_clock::now()) {}

void Progress::Step(const std::string& at) {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (now - said_ < std::chrono::seconds(2)) return;
  said_ = now;
  std::fprintf(stderr, "%s: %llu of %llu%s%s\n", what_.c_str(),
               static_cast<unsigned long long>(done_),
               static_cast<unsigned long long>(total_), at.empty() ? "" : ", ",
               at.c_str());
}

}  // namespace rocksync
