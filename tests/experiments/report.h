// What an experiment says: a line per run, and a summary that puts a paper's
// figures next to ours and judges them. With --json every line is one JSON
// object on stdout; without, only the summary is printed, as a table.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_REPORT_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_REPORT_H_

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rocksync {

using Json = nlohmann::ordered_json;

// Mean and spread of what several runs measured.
class Sample {
 public:
  void Add(double value) { values_.push_back(value); }
  size_t size() const { return values_.size(); }
  double Mean() const;
  double Min() const;
  double Max() const;
  double StandardDeviation() const;  // of one value; 0 of fewer than two
  double StandardError() const;      // of the mean

 private:
  std::vector<double> values_;
};

// What a figure of ours is compared with, if a formula says it and not a text.
inline Json Formula(double value) { return {{"formula", value}}; }

// Where a figure of ours must lie to hold: within [low, high], give or take
// four standard errors of what was measured.
struct Bounds {
  double low = 0;
  double high = 0;
  double standard_error = 0;
};

class Report {
 public:
  Report(std::string experiment, bool json);

  // One run. Fields that are arrays of numbers are data of pictures.
  void Run(Json line);

  // One row of the summary's results: what was measured, whether or not a paper
  // says anything about it.
  void Result(Json row) { results_.push_back(std::move(row)); }

  // Compares one figure. `paper` is what the paper says, as it says it, or
  // Formula(), or null where the expectation is our own.
  void Compare(const std::string& what, const Json& paper, double ours,
               const Bounds& bounds);
  void Compare(const std::string& what, const Json& paper, const Sample& ours,
               double low, double high);

  // Prints the summary; true if every comparison held and there was at least
  // one.
  bool Finish(const Json& parameters);

 private:
  void PrintResults() const;
  void PrintComparisons() const;

  const std::string experiment_;
  const bool json_;
  Json results_ = Json::array();
  Json comparisons_ = Json::array();
  bool all_hold_ = true;
};

// Says on stderr, now and then, how far a long experiment has come.
class Progress {
 public:
  Progress(std::string what, uint64_t total);
  void Step(const std::string& at = "");

 private:
  const std::string what_;
  const uint64_t total_;
  uint64_t done_ = 0;
  std::chrono::steady_clock::time_point said_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_REPORT_H_
