// What is decided of options; what a stall does to a database is in
// tests/integration/store/write_buffer_budget_test.cc.

#include "replication/store/open/write_buffer_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/write_buffer_manager.h"
#include "tests/support/mentions.h"

namespace rocksync {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class WriteBufferBudgetTest : public ::testing::Test {
 protected:
  void Budget(size_t bytes, bool may_stall) {
    options_.write_buffer_manager =
        std::make_shared<rocksdb::WriteBufferManager>(bytes, nullptr,
                                                      may_stall);
  }
  rocksdb::Status Fit() { return FitWriteBufferBudget(families_, &options_); }

  std::vector<rocksdb::ColumnFamilyDescriptor> families_ = {
      {"default", rocksdb::ColumnFamilyOptions()},
      {"more", rocksdb::ColumnFamilyOptions()}};
  rocksdb::DBOptions options_;
};

TEST_F(WriteBufferBudgetTest, WithoutABudgetNothingChanges) {
  EXPECT_TRUE(Fit().ok());
  EXPECT_EQ(options_.write_buffer_manager, nullptr);
  EXPECT_FALSE(options_.atomic_flush);
}

TEST_F(WriteBufferBudgetTest, TheOptionBecomesAManagerThatTheIndexKnows) {
  options_.db_write_buffer_size = kMiB;
  EXPECT_TRUE(Fit().ok());
  ASSERT_NE(options_.write_buffer_manager, nullptr);
  EXPECT_EQ(options_.write_buffer_manager->buffer_size(), kMiB);
  EXPECT_FALSE(options_.atomic_flush) << "such a one never stalls";
}

TEST_F(WriteBufferBudgetTest, OneThatEmptyMemtablesUseUpIsRefused) {
  const size_t least = 80 * 1024;  // of two families and the index
  options_.db_write_buffer_size = least - 1;
  EXPECT_TRUE(Mentions(Fit(), "DBOptions::db_write_buffer_size is 81919"));
  EXPECT_TRUE(Mentions(Fit(), "the WriteBufferManager's budget is 81919"))
      << "which the first call made";
  Budget(least, /*may_stall=*/false);
  EXPECT_TRUE(Fit().ok());
  families_.emplace_back("third", rocksdb::ColumnFamilyOptions());
  EXPECT_TRUE(Fit().IsInvalidArgument());
}

TEST_F(WriteBufferBudgetTest, OneThatStallsNeedsFlushesOfAllFamilies) {
  Budget(kMiB, /*may_stall=*/true);
  EXPECT_TRUE(Fit().ok());
  EXPECT_TRUE(options_.atomic_flush);
  EXPECT_EQ(options_.write_buffer_manager->memory_usage(), 0u)
      << "what the trial took";

  options_.atomic_flush = false;
  options_.enable_pipelined_write = true;
  EXPECT_TRUE(Mentions(Fit(), "enable_pipelined_write"));
  EXPECT_FALSE(options_.atomic_flush);
}

TEST_F(WriteBufferBudgetTest, OneThatDoesNotStallMayBePipelined) {
  Budget(kMiB, /*may_stall=*/false);
  options_.enable_pipelined_write = true;
  EXPECT_TRUE(Fit().ok());
  EXPECT_FALSE(options_.atomic_flush);
}

// A trial would throw out what the cache holds.
TEST_F(WriteBufferBudgetTest, OneThatIsChargedToACacheIsTakenToStall) {
  options_.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
      kMiB, rocksdb::NewLRUCache(2 * kMiB), /*allow_stall=*/false);
  EXPECT_TRUE(Fit().ok());
  EXPECT_TRUE(options_.atomic_flush);
}

TEST_F(WriteBufferBudgetTest, KeptMemtablesMayTakeHalfOfItAtMost) {
  families_[1].options.max_write_buffer_size_to_maintain = int64_t{3 * kMiB};
  families_[1].options.write_buffer_size = kMiB;
  Budget(8 * kMiB, /*may_stall=*/true);
  EXPECT_TRUE(Mentions(Fit(), "column family 'more'"));
  EXPECT_TRUE(Mentions(Fit(), "here up to about 4194304 bytes"));
  Budget(8 * kMiB + 2, /*may_stall=*/true);
  EXPECT_TRUE(Fit().ok());
  Budget(8 * kMiB, /*may_stall=*/false);
  EXPECT_TRUE(Fit().ok());
}

}  // namespace
}  // namespace rocksync
