// What the program prints: a line per kill, and a summary.

#ifndef ROCKSYNC_TESTS_CRASH_REPORT_H_
#define ROCKSYNC_TESTS_CRASH_REPORT_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "tests/crash/kill.h"

namespace rocksync::crash {

class Report {
 public:
  Report(uint32_t kills, uint64_t seed, bool json)
      : kills_(kills), seed_(seed), json_(json) {}

  void Print(const Kill& kill);
  void PrintSummary() const;

 private:
  double Seconds() const;

  const uint32_t kills_;
  const uint64_t seed_;
  const bool json_;
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  std::map<std::string, uint32_t> by_machine_;
  uint32_t done_ = 0;
  uint32_t violations_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t synced_ = 0;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_REPORT_H_
