#include "replication/store/write/counted_db.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/snapshot.h"
#include "rocksdb/write_buffer_manager.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using rocksdb::WriteOptions;

class CountedDBTest : public testing::Test {
 protected:
  CountedDBTest() {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.write_buffer_manager = memory_;
    options.listeners = {log_};
    EXPECT_TRUE(OpenPlain(options, "/db", &plain_).ok());
    counted_ = std::make_unique<CountedDB>(plain_.get(), log_);
  }
  ~CountedDBTest() override {
    EndWriteUnderWay();
    EndStall();
  }

  // One that waits within RocksDB, as for a stall.
  void BeginWriteUnderWay() {
    std::promise<void> begun;
    under_way_ = std::async(std::launch::async, [&] {
      return counted_->Count({}, 1, [&] {
        begun.set_value();
        end_.get_future().wait();
        return plain_->Put({}, "under way", "");
      });
    });
    begun.get_future().wait();
  }
  void EndWriteUnderWay() {
    if (!under_way_.valid()) return;
    end_.set_value();
    EXPECT_TRUE(under_way_.get().ok());
  }

  // As of memtables that are full.
  void BeginStall() {
    memory_->ReserveMem(2 * kMemory);
    stalls_ = true;
  }
  void EndStall() {
    if (!stalls_) return;
    memory_->FreeMem(2 * kMemory);
    stalls_ = false;
  }

  std::future<bool> CountInBackground(uint64_t* foreign) {
    return std::async(std::launch::async, [this, foreign] {
      return counted_->CountForeign([this] { return cancelled_.load(); },
                                    foreign);
    });
  }
  static bool IsDone(const std::future<bool>& future) {
    return future.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
  Status PutAtOnce() {
    WriteOptions options;
    options.no_slowdown = true;
    return counted_->Put(options, counted_->DefaultColumnFamily(), "key", "");
  }
  static constexpr size_t kMemory = size_t{64} << 20;
  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
  const std::shared_ptr<rocksdb::WriteBufferManager> memory_ =
      std::make_shared<rocksdb::WriteBufferManager>(kMemory, nullptr,
                                                    /*allow_stall=*/true);
  const std::shared_ptr<LogWatch> log_ = std::make_shared<LogWatch>();
  std::unique_ptr<rocksdb::DB> plain_;
  std::unique_ptr<CountedDB> counted_;
  std::atomic<bool> cancelled_{false};

 private:
  std::promise<void> end_;
  std::future<Status> under_way_;
  bool stalls_ = false;
};

TEST_F(CountedDBTest, CountsWhatBypassesIt) {
  uint64_t foreign = 1;
  ASSERT_TRUE(PutAtOnce().ok());
  ASSERT_TRUE(counted_->CountForeign({}, &foreign));
  EXPECT_EQ(foreign, 0u);
  ASSERT_TRUE(plain_->Put({}, "foreign", "").ok());
  ASSERT_TRUE(counted_->CountForeign({}, &foreign));
  EXPECT_EQ(foreign, 1u);
  counted_->Accept(foreign);
  ASSERT_TRUE(counted_->CountForeign({}, &foreign));
  EXPECT_EQ(foreign, 0u);
}

TEST_F(CountedDBTest, WithNoSlowdownNoneWaitsForALook) {
  ASSERT_TRUE(plain_->Put({}, "foreign", "").ok());
  BeginWriteUnderWay();
  uint64_t foreign = 0;
  std::future<bool> counting = CountInBackground(&foreign);
  // Written, until the look holds writes up.
  Status put = PutAtOnce();
  while (put.ok()) put = PutAtOnce();
  EXPECT_TRUE(put.IsIncomplete()) << put.ToString();
  EXPECT_FALSE(IsDone(counting));
  EndWriteUnderWay();
  EXPECT_TRUE(counting.get());
  EXPECT_EQ(foreign, 1u);
  EXPECT_TRUE(PutAtOnce().ok());
}

TEST_F(CountedDBTest, ALookEndsIfAWriteSitsInAStall) {
  ASSERT_TRUE(plain_->Put({}, "foreign", "").ok());
  BeginWriteUnderWay();
  BeginStall();
  uint64_t foreign = 0;
  EXPECT_FALSE(counted_->CountForeign({}, &foreign));
  EndStall();
  EndWriteUnderWay();
  ASSERT_TRUE(counted_->CountForeign({}, &foreign));
  EXPECT_EQ(foreign, 1u);
}

TEST_F(CountedDBTest, AnImportLetsWritesPassDuringAStall) {
  BeginWriteUnderWay();
  std::atomic<bool> alone{false};
  std::future<Status> import = std::async(std::launch::async, [&] {
    return counted_->Alone([&] {
      alone = true;
      return Status::OK();
    });
  });
  // Written, until the import holds writes up.
  Status put = PutAtOnce();
  while (put.ok()) put = PutAtOnce();
  EXPECT_TRUE(put.IsIncomplete()) << put.ToString();
  BeginStall();
  std::future<Status> passed = std::async(std::launch::async, [this] {
    return counted_->Count({}, 1, [] { return Status::OK(); });
  });
  EXPECT_EQ(passed.wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  EXPECT_FALSE(alone);
  EndStall();
  EndWriteUnderWay();
  EXPECT_TRUE(passed.get().ok());
  EXPECT_TRUE(import.get().ok());
  EXPECT_TRUE(alone);
}

TEST_F(CountedDBTest, OwnSnapshotsNeverLookForeign) {
  std::atomic<bool> stop{false};
  std::future<void> takes = std::async(std::launch::async, [&] {
    while (!stop) rocksdb::ManagedSnapshot own(counted_.get());
  });
  uint64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    most = std::max(most, counted_->CountForeignSnapshots());
  }
  EXPECT_EQ(most, 0u);
  {
    rocksdb::ManagedSnapshot foreign(plain_.get());
    EXPECT_EQ(counted_->CountForeignSnapshots(), 1u);
  }
  stop = true;
  takes.wait();
}

}  // namespace
}  // namespace rocksync
