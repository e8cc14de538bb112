// The demo as a person runs it, smaller: its line of JSON holds what was
// promised.

#include <cstdio>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace {

// Standard output of a command that must succeed.
std::string OutputOf(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string output;
  char buffer[4096];
  for (size_t size; (size = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, size);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return output;
}

TEST(Demo, Heals) {
  const std::string output =
      OutputOf(std::string(DEMO) + " --keys 20000 --changes 4000 --json");
  ASSERT_FALSE(output.empty());
  EXPECT_EQ(output.find('\n'), output.size() - 1) << output;
  const auto line = nlohmann::json::parse(output, nullptr, false);
  ASSERT_TRUE(line.is_object()) << output;
  EXPECT_EQ(line["replicas"], 3);
  EXPECT_GE(line["keys"], 20'000);
  EXPECT_EQ(line["changes_while_apart"], 8000);
  EXPECT_EQ(line["converged"], true);
  EXPECT_EQ(line["verified_by_scan"], true);
  // One side's changes go to one replica, the other's to two.
  EXPECT_GE(line["pairs_needed"], 11'200);
  EXPECT_LE(line["pairs_needed"], 12'000);
  EXPECT_LE(line["pairs_shipped"], 1.05 * line["pairs_needed"].get<double>());
  // The largest values have 64 kB, so one that is shipped twice, as a later one
  // came while replicas met, is 1.2 % of all.
  EXPECT_LE(line["value_bytes_shipped"],
            1.05 * line["value_bytes_needed"].get<double>());
  EXPECT_GE(line["exchanges"], 1);
  EXPECT_GT(line["protocol_bytes"], 0);
  EXPECT_LT(line["protocol_bytes"], 800'000);
  std::printf("%s", output.c_str());
}

TEST(Demo, SaysWhatIsWrong) {
  const std::string output = OutputOf(
      std::string(DEMO) + " --dir /dev/null/x 2>&1 && exit 1 || exit 0");
  EXPECT_NE(output.find("/dev/null/x"), std::string::npos) << output;
}

}  // namespace
