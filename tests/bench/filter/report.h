// What a benchmark says: a line per case, as a table or as JSON.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_REPORT_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_REPORT_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocksync::bench {

using Case = nlohmann::ordered_json;

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  // Prints the case at once and keeps it for the goals.
  void Add(const Case& a_case);

  // Cases of one set, as added.
  std::vector<Case> OfSet(const std::string& set) const;

  // Prints a ratio beside what it should not exceed, and remembers a miss.
  void Goal(const std::string& what, double ratio, double limit);

  bool all_goals_met() const { return all_goals_met_; }

 private:
  const bool json_;
  std::string header_;
  std::vector<Case> cases_;
  bool all_goals_met_ = true;
};

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_REPORT_H_
