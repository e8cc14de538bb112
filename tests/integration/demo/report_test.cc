#include "examples/demo/report.h"

#include <cstdio>
#include <memory>
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
  report.traffic.exchanges = 7;
  report.comparison.equal = true;
  report.comparison.keys = 100;
  report.comparison.pairs_needed = 20;
  report.comparison.key_bytes_needed = 300;
  report.comparison.value_bytes_needed = 1900;
  EXPECT_EQ(FormatJson(report),
            "{\"replicas\":3,\"keys\":100,\"changes_while_apart\":15,"
            "\"converged\":true,\"verified_by_scan\":true,\"heal_seconds\":1.5,"
            "\"exchanges\":7,\"pairs_needed\":20,\"pairs_shipped\":21,"
            "\"value_bytes_needed\":1900,\"value_bytes_shipped\":2000,"
            "\"protocol_bytes\":2800}");
}

TEST(Report, TheTableTellsWhatItsBytesAre) {
  Report report;
  report.traffic.bytes_total = 5000;
  report.comparison.key_bytes_needed = 300;
  report.comparison.value_bytes_needed = 1900;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(),
                                                             &std::fclose);
  ASSERT_NE(file, nullptr);
  PrintTable(report, file.get());
  std::rewind(file.get());
  std::string table(size_t{1} << 12, '\0');
  table.resize(std::fread(table.data(), 1, table.size(), file.get()));
  const size_t line = table.find("bytes of all messages");
  ASSERT_NE(line, std::string::npos) << table;
  const std::string whole = table.substr(line, table.find('\n', line) - line);
  EXPECT_NE(whole.find("5 000"), std::string::npos) << whole;
  EXPECT_NE(whole.find("keys and values needed, and 2 800 beside them"),
            std::string::npos)
      << whole;
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
