#include "tests/bench/filter/report.h"

#include <cstdio>
#include <iostream>

namespace rocksync::bench {
namespace {

std::string Cell(const Case& value) {
  char text[64];
  if (value.is_number_float()) {
    std::snprintf(text, sizeof(text), "%14.5g", value.get<double>());
  } else if (value.is_string()) {
    std::snprintf(text, sizeof(text), "%14s", value.get<std::string>().c_str());
  } else {
    std::snprintf(text, sizeof(text), "%14s", value.dump().c_str());
  }
  return text;
}

}  // namespace

void Report::Add(const Case& a_case) {
  cases_.push_back(a_case);
  if (json_) {
    std::cout << a_case.dump() << std::endl;
    return;
  }
  std::string header;
  std::string line;
  for (const auto& [name, value] : a_case.items()) {
    char title[64];
    std::snprintf(title, sizeof(title), "%14s",
                  name.size() > 13 ? name.substr(0, 13).c_str() : name.c_str());
    header += title;
    line += Cell(value);
  }
  if (header != header_) {
    std::cout << "\n" << header << "\n";
    header_ = header;
  }
  std::cout << line << std::endl;
}

std::vector<Case> Report::OfSet(const std::string& set) const {
  std::vector<Case> found;
  for (const Case& a_case : cases_) {
    if (a_case["set"] == set) found.push_back(a_case);
  }
  return found;
}

void Report::Goal(const std::string& what, double ratio, double limit) {
  const bool met = ratio <= limit;
  all_goals_met_ = all_goals_met_ && met;
  if (json_) {
    std::cout << Case{{"set", "goal"},
                      {"goal", what},
                      {"ratio", ratio},
                      {"limit", limit},
                      {"met", met}}
                     .dump()
              << std::endl;
    return;
  }
  if (header_ != "goals") {
    std::cout << "\nratios to the built-in Bloom filter\n";
    header_ = "goals";
  }
  std::printf("  %-52s %7.3f  (goal %.2f) %s\n", what.c_str(), ratio, limit,
              met ? "met" : "NOT MET");
  std::fflush(stdout);
}

}  // namespace rocksync::bench
