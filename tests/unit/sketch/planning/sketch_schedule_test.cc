#include "sketch/planning/sketch_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace rocksync {
namespace {

// Plays the passes over many groups and counts sums per difference.
TEST(ScheduleTest, FewSumsAndFewPasses) {
  std::mt19937_64 random(4);
  for (const double truth : {22.0, 31.0, 42.0}) {
    std::poisson_distribution<uint32_t> size(truth);
    std::vector<uint32_t> groups(300);
    uint64_t differences = 0;
    for (uint32_t& d : groups) differences += d = size(random);
    // Estimated as 31.
    uint32_t sums = FirstSums(31, 0.25, SumsMargin::kFrugal, false);
    uint64_t sent = sums * groups.size();
    uint32_t passes = 1;
    while (true) {
      std::vector<uint32_t> decoded;
      std::vector<uint32_t> failed;
      for (const uint32_t d : groups)
        (d <= sums ? decoded : failed).push_back(d);
      if (failed.empty()) break;
      ASSERT_LT(++passes, 9u);
      const uint32_t next = NextSums(
          sums, decoded, static_cast<uint32_t>(failed.size()),
          ShareToDecode(passes < kPasses ? kPasses - passes : 1, false), false,
          false);
      ASSERT_GT(next, sums);
      sent += (next - sums) * failed.size();
      sums = next;
      groups = failed;
    }
    EXPECT_LT(static_cast<double>(sent) / static_cast<double>(differences),
              1.36)
        << truth;
  }
}

// A single group, its differences estimated within a standard error of 25 %:
// an eighth too many sums in the mean, and a quarter seldom.
TEST(ScheduleTest, ASingleGroupGrowsInSmallSteps) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> error(1, 0.25);
  constexpr int kRuns = 2000;
  constexpr uint32_t kDifferences = 100;
  double sent = 0;
  double passes = 0;
  int wasteful = 0;
  for (int run = 0; run < kRuns; ++run) {
    uint32_t sums = FirstSums(kDifferences * std::max(error(random), 0.2), 0.25,
                              SumsMargin::kFrugal, true);
    for (++passes; sums < kDifferences; ++passes) {
      sums = NextSums(sums, {}, 1, ShareToDecode(1, false), false, true);
    }
    sent += sums;
    wasteful += sums > kDifferences * 5 / 4;
  }
  EXPECT_LT(sent / kRuns, 1.13 * kDifferences);
  EXPECT_LT(passes / kRuns, 2.6);
  EXPECT_LT(wasteful, kRuns / 10);
}

}  // namespace
}  // namespace rocksync
