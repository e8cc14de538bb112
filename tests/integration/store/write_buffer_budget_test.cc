// A database whose memtables share a small budget with the index's.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/listener.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/write_buffer_manager.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::WriteBufferManager;

class FlushCounter final : public rocksdb::EventListener {
 public:
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    ++flushes;
  }
  std::atomic<int> flushes{0};
};

class WriteBufferBudgetTest : public StoreTest {
 protected:
  void SetBudget(size_t bytes, bool allow_stall) {
    budget_ = std::make_shared<WriteBufferManager>(bytes, nullptr, allow_stall);
    options_.write_buffer_manager = budget_;
  }

  // False if the writes stalled for good: each may wait for a flush, and 40 of
  // those take long on a slow machine.
  bool Ends(const std::function<void()>& writes) {
    std::atomic<bool> done{false};
    std::thread writer([&] {
      writes();
      done = true;
    });
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!done && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const bool ended = done;
    budget_->SetBufferSize(size_t{1} << 40);  // let it go
    writer.join();
    return ended;
  }

  // All that was begun is done.
  bool NoFlushRuns() {
    uint64_t pending = 0;
    uint64_t running = 0;
    return db_->GetAggregatedIntProperty(
               rocksdb::DB::Properties::kMemTableFlushPending, &pending) &&
           db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes,
                               &running) &&
           pending == 0 && running == 0;
  }

  std::shared_ptr<WriteBufferManager> budget_;
};

TEST_F(WriteBufferBudgetTest, StallsEnd) {
  for (const size_t budget :
       {size_t{80} << 10, size_t{256} << 10, size_t{1} << 20, size_t{2} << 20,
        size_t{5} << 20}) {
    SetBudget(budget, /*allow_stall=*/true);
    const std::string name = "db" + std::to_string(budget);
    ASSERT_TRUE(Ends([&] { ASSERT_ROCKS_OK(Open(name)); })) << budget;
    budget_->SetBufferSize(budget);
    EXPECT_TRUE(Ends([&] {
      const std::string value(3000, 'v');
      for (int i = 0; i < 40; ++i) {
        ASSERT_ROCKS_OK(Put("k" + std::to_string(i), value));
      }
    })) << budget;
    CloseAndCheck(nullptr, name);
  }
}

// The last writes of a database come when nothing is flushed any more. What
// they switch, as the log is too long, takes the rest of the budget.
TEST_F(WriteBufferBudgetTest, StallsDoNotKeepItFromClosing) {
  options_.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  options_.memtable_prefix_bloom_size_ratio = 0.1;
  options_.write_buffer_size = size_t{2} << 20;
  options_.max_total_wal_size = 100'000;
  for (int seed = 0; seed < 6; ++seed) {
    SetBudget(size_t{1} << 20, /*allow_stall=*/true);
    const std::string name = "db" + std::to_string(seed);
    ASSERT_ROCKS_OK(Open(name));
    const std::string value(1000, 'v');
    for (int i = 0; i < 300 + 37 * seed; ++i) {
      ASSERT_ROCKS_OK(Put("k00" + std::to_string(i), value));
    }
    EXPECT_TRUE(Ends([&] { EXPECT_ROCKS_OK(db_->Close()); })) << seed;
    db_.reset();
    SetBudget(size_t{1} << 30, /*allow_stall=*/false);
    ASSERT_ROCKS_OK(Open(name));
    CloseAndCheck(nullptr, name);
  }
}

// A family that stays at the limit at which RocksDB slows writers down, with
// nothing to compact: a flush that waits until it would slow nobody down waits
// without end.
TEST_F(WriteBufferBudgetTest, AFamilyAtItsLimitDoesNotKeepItFromClosing) {
  SetBudget(size_t{64} << 20, /*allow_stall=*/true);
  options_.compaction_style = rocksdb::kCompactionStyleUniversal;
  options_.level0_file_num_compaction_trigger = 2;
  options_.level0_slowdown_writes_trigger = 2;
  options_.level0_stop_writes_trigger = 4;
  ASSERT_ROCKS_OK(Open());
  const std::string value(200, 'v');
  const auto put = [&](int keys) {
    for (int i = 0; i < keys; ++i) {
      ASSERT_ROCKS_OK(Put("k" + std::to_string(i), value));
    }
  };
  put(2000);
  rocksdb::CompactRangeOptions compact;
  compact.allow_write_stall = true;
  ASSERT_ROCKS_OK(db_->CompactRange(compact, nullptr, nullptr));
  put(200);
  rocksdb::FlushOptions flush;
  flush.allow_write_stall = true;
  ASSERT_ROCKS_OK(db_->Flush(flush));
  put(100);
  EXPECT_TRUE(Ends([&] { EXPECT_ROCKS_OK(db_->Close()); }));
}

// RocksDB flushes the family with the oldest memtable, which is not the one
// that is too large.
TEST_F(WriteBufferBudgetTest, StallsEndWhicheverFamilyIsFull) {
  SetBudget(size_t{8} << 20, /*allow_stall=*/true);
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  EXPECT_TRUE(Ends([&] {
    ASSERT_ROCKS_OK(db_->Put({}, other, "small", "v"));
    for (int i = 0; i < 4; ++i) {
      ASSERT_ROCKS_OK(Put("large", std::string(10 << 20, 'v')));
      ASSERT_ROCKS_OK(db_->Put({}, other, "small", "v"));
    }
  }));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
}

TEST_F(WriteBufferBudgetTest, AOfflineReplicaIsChargedAFewPages) {
  SetBudget(size_t{64} << 20, /*allow_stall=*/false);
  ASSERT_ROCKS_OK(Open());
  EXPECT_LE(budget_->memory_usage(), size_t{32} << 10);
}

TEST_F(WriteBufferBudgetTest, ASmallBudgetIsNotFlushedAtEachWrite) {
  options_.db_write_buffer_size = size_t{1} << 20;
  options_.arena_block_size = 16 << 10;
  auto counter = std::make_shared<FlushCounter>();
  options_.listeners = {counter};
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 50; ++i) {
    ASSERT_ROCKS_OK(Put("k" + std::to_string(i), "v"));
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!NoFlushRuns() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_EQ(counter->flushes, 0);
}

TEST_F(WriteBufferBudgetTest, ABudgetThatIsTooSmallIsRefused) {
  SetBudget(1000, /*allow_stall=*/true);
  rocksdb::Status status;
  EXPECT_TRUE(Ends([&] { status = Open(); }));
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  const std::string text = status.ToString();
  const std::string before =
      "smallest that works for these families and the "
      "index is ";
  const size_t at = text.find(before);
  ASSERT_NE(at, std::string::npos) << text;
  const size_t least = std::stoul(text.substr(at + before.size()));

  SetBudget(least, /*allow_stall=*/true);
  EXPECT_TRUE(Ends([&] {
    ASSERT_ROCKS_OK(Open());
    for (int i = 0; i < 100; ++i) ASSERT_ROCKS_OK(Put("k", "v"));
  }));

  options_.write_buffer_manager = nullptr;
  options_.db_write_buffer_size = 1000;
  status = Open();
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
}

// RocksDB keeps what it has flushed, and waits for a flush to free it.
TEST_F(WriteBufferBudgetTest, WhatIsKeptAfterAFlushHasToLeaveRoom) {
  SetBudget(size_t{8} << 20, /*allow_stall=*/true);
  options_.max_write_buffer_size_to_maintain = 1 << 20;
  rocksdb::Status status = Open();
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("'default'"), std::string::npos);
  options_.write_buffer_size = 1 << 20;
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyOptions keeps;
  keeps.max_write_buffer_size_to_maintain = -1;
  rocksdb::ColumnFamilyHandle* other = nullptr;
  status = db_->CreateColumnFamily(keeps, "other", &other);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_EQ(other, nullptr);
  keeps.write_buffer_size = 1 << 20;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(keeps, "other", &other));
  EXPECT_TRUE(Ends([&] {
    const std::string value(3000, 'v');
    for (int i = 0; i < 6000; ++i) {
      const std::string key = "k" + std::to_string(i);
      ASSERT_ROCKS_OK(i < 2000 ? db_->Put({}, other, key, value)
                               : Put(key, value));
    }
  }));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));

  SetBudget(size_t{8} << 20, /*allow_stall=*/false);
  options_.max_write_buffer_size_to_maintain = 8 << 20;
  ASSERT_ROCKS_OK(Open("patient"));
}

TEST_F(WriteBufferBudgetTest, PipelinedWritesAreRefusedWhereTheyCouldStall) {
  options_.enable_pipelined_write = true;
  SetBudget(size_t{1} << 20, /*allow_stall=*/true);
  const rocksdb::Status status = Open();
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  SetBudget(size_t{1} << 20, /*allow_stall=*/false);
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  EXPECT_GT(budget_->memory_usage(), 0u);
}

}  // namespace
}  // namespace rocksync
