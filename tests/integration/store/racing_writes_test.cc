// Every kind of local write on the same few keys at once, while sessions'
// digests are readied.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/merge_operator.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/integration/store/version_order.h"
#include "tests/sanitized.h"

namespace rocksync {
namespace {

// Adds numbers.
class Add final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "Add"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing,
             const rocksdb::Slice& value, std::string* merged,
             rocksdb::Logger*) const override {
    const int before =
        existing == nullptr ? 0 : std::stoi(existing->ToString());
    *merged = std::to_string(before + std::stoi(value.ToString()));
    return true;
  }
};

class RacingWritesTest : public StoreTest {
 protected:
  // Of a thread. A sanitizer does not need a race to be close.
  static constexpr int kWrites = kSanitized ? 300 : 1500;

  void SetUp() override {
    StoreTest::SetUp();
    options_.WAL_ttl_seconds = 3600;
    options_.merge_operator = std::make_shared<Add>();
    replication_.merge_families = {"default"};
    ASSERT_ROCKS_OK(Open());
  }

  // Runs each of them `writes` times, all at once.
  static void Race(const std::vector<std::function<void(int)>>& writers,
                   int writes = kWrites) {
    std::vector<std::thread> threads;
    for (const auto& writer : writers) {
      threads.emplace_back([writer, writes] {
        for (int i = 0; i < writes; ++i) writer(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static std::string Key(int i) { return "k" + std::to_string(i % 4); }
};

TEST_F(RacingWritesTest, VersionsAndCommitsHaveOneOrder) {
  std::atomic<bool> stop{false};
  std::thread sessions([&] {
    while (!stop) Total();
  });
  Race({[&](int i) { EXPECT_ROCKS_OK(Put(Key(i), "1")); },
        [&](int i) { EXPECT_ROCKS_OK(db_->Delete({}, Key(i))); },
        [&](int i) {
          rocksdb::WriteBatch batch;
          batch.Put(Key(i), "2");
          batch.Put(Key(i + 1), "3");
          EXPECT_ROCKS_OK(db_->Write({}, &batch));
        },
        [&](int) {
          EXPECT_ROCKS_OK(
              db_->DeleteRange({}, db_->DefaultColumnFamily(), "k", "l"));
        },
        [&](int i) { EXPECT_ROCKS_OK(db_->Merge({}, Key(i), "4")); }});
  stop = true;
  sessions.join();

  // The index is the only family but the default.
  VersionOrder order(1, db_->Identity().replica_id);
  ASSERT_ROCKS_OK(order.Read(db_->GetBaseDB()));
  EXPECT_GT(order.entries, 4u * kWrites);
  EXPECT_EQ(order.violations, 0u) << "of " << order.entries;
  CloseAndCheck();
}

// A range takes longer between its version and its commit than anything else,
// so here is nothing but ranges and what they race.
TEST_F(RacingWritesTest, RangesAndPutsHaveOneOrder) {
  const auto put = [&](int i) { EXPECT_ROCKS_OK(Put(Key(i), "1")); };
  const auto range = [&](int) {
    EXPECT_ROCKS_OK(db_->DeleteRange({}, db_->DefaultColumnFamily(), "k", "l"));
  };
  Race({put, put, put, range}, 6 * kWrites);
  VersionOrder order(1, db_->Identity().replica_id);
  ASSERT_ROCKS_OK(order.Read(db_->GetBaseDB()));
  EXPECT_EQ(order.violations, 0u) << "of " << order.entries;
  CloseAndCheck();
}

TEST_F(RacingWritesTest, NoMergeIsLost) {
  const auto add = [&](int) { EXPECT_ROCKS_OK(db_->Merge({}, "sum", "1")); };
  Race({add, add, add});
  EXPECT_EQ(Get("sum"), std::to_string(3 * kWrites));
  CloseAndCheck();
}

// What is read and deleted in a range is one moment's.
TEST_F(RacingWritesTest, ABatchIsInsideOfARangeOrOutside) {
  Race({[&](int i) {
          rocksdb::WriteBatch batch;
          for (int k = 0; k < 4; ++k) batch.Put(Key(k), std::to_string(i));
          EXPECT_ROCKS_OK(db_->Write({}, &batch));
        },
        [&](int) {
          EXPECT_ROCKS_OK(
              db_->DeleteRange({}, db_->DefaultColumnFamily(), "k", "l"));
        },
        [&](int) {
          const rocksdb::Snapshot* const at = db_->GetSnapshot();
          rocksdb::ReadOptions options;
          options.snapshot = at;
          std::string first, last;
          const bool has_first = db_->Get(options, Key(0), &first).ok();
          const bool has_last = db_->Get(options, Key(3), &last).ok();
          EXPECT_EQ(has_first, has_last);
          EXPECT_EQ(first, last);
          db_->ReleaseSnapshot(at);
        }});
  CloseAndCheck();
}

}  // namespace
}  // namespace rocksync
