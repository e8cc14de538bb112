#include "examples/demo/report.h"

#include <string>

#include "examples/demo/progress.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

TEST(Report, Json) {
  Report report;
  report.replicas = 3;
  report.puts = 4;
  report.overwrites = 5;
  report.deletes = 6;
  report.converged = true;
  report.heal_seconds = 1.5;
  report.traffic.pairs_shipped = 21;
  report.traffic.bytes_values = 2000;
  report.traffic.bytes_total = 5000;
  report.traffic.rounds = 7;
  report.comparison.equal = true;
  report.comparison.keys = 100;
  report.comparison.pairs_needed = 20;
  report.comparison.key_bytes_needed = 300;
  report.comparison.value_bytes_needed = 1900;
  EXPECT_EQ(FormatJson(report),
            "{\"replicas\":3,\"keys\":100,\"changes_while_apart\":15,"
            "\"converged\":true,\"verified_by_scan\":true,\"heal_seconds\":1.5,"
            "\"rounds\":7,\"pairs_needed\":20,\"pairs_shipped\":21,"
            "\"value_bytes_needed\":1900,\"value_bytes_shipped\":2000,"
            "\"protocol_bytes\":2800}");
}

// What was not looked at is not claimed.
TEST(Report, NothingIsEqualAtFirst) {
  const Report report;
  EXPECT_FALSE(report.converged);
  EXPECT_FALSE(report.comparison.equal);
}

TEST(Numbers, ForPeople) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1 000");
  EXPECT_EQ(Grouped(12345678), "12 345 678");
  EXPECT_EQ(Bytes(0), "0 B");
  EXPECT_EQ(Bytes(999), "999 B");
  EXPECT_EQ(Bytes(1500), "1.5 kB");
  EXPECT_EQ(Bytes(12'000'000), "12.0 MB");
}

}  // namespace
}  // namespace rocksync
