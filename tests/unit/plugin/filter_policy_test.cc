#include "rocksync/filter_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugin/filter_interface.h"
#include "plugin/policy_string.h"
#include "rocksdb/table.h"

namespace rocksync {
namespace {

// A filter made by a policy as RocksDB would have it made.
std::string Build(const rocksdb::FilterPolicy& policy, int keys) {
  const rocksdb::BlockBasedTableOptions table;
  const rocksdb::FilterBuildingContext context(table);
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
      policy.GetBuilderWithContext(context));
  for (int i = 0; i < keys; ++i) builder->AddKey("key" + std::to_string(i));
  std::unique_ptr<const char[]> owned;
  return builder->Finish(&owned).ToString();
}

double BitsPerKey(const FilterPolicyOptions& options) {
  return static_cast<double>(Build(*NewFilterPolicy(options), 10'000).size()) *
         8 / 10'000;
}

TEST(FilterPolicyTest, TakesTheBitsAskedFor) {
  for (const double bits : {1., 5.5, 10., 20., 50.}) {
    FilterPolicyOptions options;
    options.bits_per_key = bits;
    EXPECT_NEAR(BitsPerKey(options), bits, 0.06);
  }
}

// Braces stand for options, never for a size of 0 bits.
TEST(FilterPolicyTest, EmptyBracesAreTheDefaults) {
  EXPECT_EQ(NewFilterPolicy({})->GetId(), "rocksync:10");
  EXPECT_EQ(NewFilterPolicy({12, false, 10})->GetId(), "rocksync:12:uniform");
  EXPECT_EQ(NewFilterPolicy(12)->GetId(), "rocksync:12");
  EXPECT_EQ(NewFilterPolicy(12.5F)->GetId(), "rocksync:12.5");
}

TEST(FilterPolicyTest, OptionsOutOfRangeAreNamedAndMovedIntoIt) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  struct {
    double given;
    double used;
  } const cases[] = {{0, 1},      {-3, 1},        {0.999, 1},     {51, 50},
                     {1e300, 50}, {infinity, 50}, {-infinity, 1}, {nan, 10}};
  for (const auto& [given, used] : cases) {
    FilterPolicyOptions options;
    options.bits_per_key = given;
    const rocksdb::Status status = CheckFilterPolicyOptions(options);
    EXPECT_TRUE(status.IsInvalidArgument()) << given;
    EXPECT_NE(status.ToString().find("bits_per_key"), std::string::npos);
    EXPECT_NEAR(BitsPerKey(options), used, 0.06) << given;
  }
  for (const double ratio : {nan, infinity, 0., 1.9, 101., -10.}) {
    FilterPolicyOptions options;
    options.level_size_ratio = ratio;
    EXPECT_TRUE(CheckFilterPolicyOptions(options).IsInvalidArgument());
    EXPECT_NEAR(BitsPerKey(options), 10, 0.06);
  }
  EXPECT_TRUE(CheckFilterPolicyOptions(FilterPolicyOptions()).ok());
}

TEST(FilterPolicyTest, DamagedFiltersNeverMissOrCrashAndAreCounted) {
  const auto policy = NewFilterPolicy(10);
  const std::string filter = Build(*policy, 100);
  ASSERT_NE(std::unique_ptr<rocksdb::FilterBitsReader>(
                policy->GetFilterBitsReader(filter)),
            nullptr);
  size_t expected = GetFilterPolicyCounters().unusable_filters;
  for (size_t at = 0; at < filter.size(); ++at) {
    for (const char flip : {'\x01', '\x80', '\xff'}) {
      std::string damaged = filter;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(
          policy->GetFilterBitsReader(damaged));
      const bool in_trailer = at >= filter.size() - 24;
      ASSERT_EQ(reader == nullptr, in_trailer) << at;
      expected += in_trailer;
      if (reader != nullptr) reader->MayMatch("key1");
    }
  }
  EXPECT_EQ(GetFilterPolicyCounters().unusable_filters, expected);
  for (size_t size = 0; size < filter.size(); ++size) {
    EXPECT_EQ(policy->GetFilterBitsReader({filter.data(), size}), nullptr);
  }
  EXPECT_EQ(GetFilterPolicyCounters().unusable_filters,
            expected + filter.size());
}

TEST(FilterPolicyTest, OneReaderServesManyThreads) {
  const auto policy = NewFilterPolicy(10);
  const std::string filter = Build(*policy, 5000);
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(
      policy->GetFilterBitsReader(filter));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&reader] {
      for (int i = 0; i < 5000; ++i) {
        EXPECT_TRUE(reader->MayMatch("key" + std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FilterPolicyTest, NamesAreStable) {
  // They are in users' SST and OPTIONS files.
  EXPECT_STREQ(NewFilterPolicy(10)->Name(), "rocksync");
  EXPECT_STREQ(NewFilterPolicy(10)->CompatibilityName(), "rocksync.Filter");
  EXPECT_EQ(NewFilterPolicy(10)->GetId(), "rocksync:10");
}

TEST(PolicyStringTest, RoundTrips) {
  struct {
    const char* text;
    FilterPolicyOptions options;
  } const cases[] = {
      {"rocksync:10", {10, true, 10}},
      {"rocksync:9.5", {9.5, true, 10}},
      {"rocksync:9.125", {9.125, true, 10}},
      {"rocksync:1:uniform", {1, false, 10}},
      {"rocksync:50:leveled:8", {50, true, 8}},
      {"rocksync:12.5:leveled:2.5", {12.5, true, 2.5}},
  };
  for (const auto& [text, options] : cases) {
    FilterPolicyOptions parsed;
    ASSERT_TRUE(ParsePolicyString(text, &parsed).ok()) << text;
    EXPECT_EQ(parsed.bits_per_key, options.bits_per_key) << text;
    EXPECT_EQ(parsed.level_aware, options.level_aware) << text;
    EXPECT_EQ(parsed.level_size_ratio, options.level_size_ratio) << text;
    EXPECT_EQ(PolicyString(options), text);
  }
  FilterPolicyOptions parsed;
  ASSERT_TRUE(ParsePolicyString("rocksync:10.000:leveled", &parsed).ok());
  EXPECT_EQ(PolicyString(parsed), "rocksync:10");
}

TEST(PolicyStringTest, MistakesAreToldWhatIsAllowed) {
  for (const char* text : {"rocksync",
                           "rocksync:",
                           "rocksync:x",
                           "rocksync:-1",
                           "rocksync:0",
                           "rocksync:51",
                           "rocksync:1e1",
                           "rocksync:nan",
                           "rocksync:10 ",
                           "rocksync: 10",
                           "rocksync:10.0001",
                           "rocksync:.",
                           "rocksync:1.2.3",
                           "rocksync:10:",
                           "rocksync:10:uniforn",
                           "rocksync:10:uniform:8",
                           "rocksync:10:leveled:",
                           "rocksync:10:leveled:1",
                           "rocksync:10:leveled:8:9",
                           "rocksync:99999999999999999999999",
                           "rocksync::10",
                           "Rocksync:10",
                           "bloomfilter:10",
                           ""}) {
    FilterPolicyOptions options;
    options.bits_per_key = 33;
    const rocksdb::Status status = ParsePolicyString(text, &options);
    EXPECT_TRUE(status.IsInvalidArgument()) << text;
    EXPECT_NE(status.ToString().find("expected rocksync:BITS"),
              std::string::npos);
    EXPECT_EQ(options.bits_per_key, 33) << "must not be touched";
  }
}

TEST(FilterInterfaceTest, LayoutChangesWhereKnown) {
  EXPECT_EQ(FilterInterfaceLayout(7, 0), 0);
  EXPECT_EQ(FilterInterfaceLayout(9, 5), 0);
  EXPECT_EQ(FilterInterfaceLayout(9, 6), 1);
  EXPECT_EQ(FilterInterfaceLayout(10, 8), 1);
  EXPECT_EQ(FilterInterfaceLayout(10, 9), 2);
  EXPECT_EQ(FilterInterfaceLayout(11, 8), 2);
  EXPECT_TRUE(FilterInterfaceMatchesLibrary());
}

}  // namespace
}  // namespace rocksync
