// WriteOptions::no_slowdown: a write of the application that waits for nothing,
// as one has to that a listener of RocksDB does.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/mentions.h"

namespace rocksync {
namespace {

class NoSlowdownTest : public StoreTest {
 protected:
  static constexpr int kKeys = 400;

  NoSlowdownTest() { at_once_.no_slowdown = true; }

  static std::string Key(int i) { return "k" + std::to_string(i); }

  // A thread is in a stall within a write, and holds the lock of its key, which
  // is one of kKeys.
  void OpenAndStall() {
    options_.write_buffer_size = 64 << 10;
    options_.max_write_buffer_number = 2;
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "family", &family_));
    ASSERT_ROCKS_OK(db_->PauseBackgroundWork());
    writer_ = std::thread([this] {
      const std::string value(1000, 'v');
      for (int i = 0; i < kKeys; ++i) EXPECT_ROCKS_OK(Put(Key(i), value));
      written_ = true;
    });
    uint64_t stopped = 0;
    while (stopped == 0 && !written_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(db_->GetIntProperty("rocksdb.is-write-stopped", &stopped));
    }
    // Who waits for its end fails the test, and does not hang it.
    watchdog_ = std::thread([this] {
      for (int i = 0; i < 300 && !over_; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      EXPECT_TRUE(over_) << "somebody waits for the stall's end";
      EXPECT_ROCKS_OK(db_->ContinueBackgroundWork());
    });
  }

  void EndStall() {
    over_ = true;
    watchdog_.join();
    writer_.join();
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family_));
    CloseAndCheck();
  }

  // Of whichever key, each is refused.
  void ExpectIncomplete(
      const std::function<rocksdb::Status(const std::string& key)>& write) {
    for (int i = 0; i < kKeys; ++i) {
      const rocksdb::Status status = write(Key(i));
      ASSERT_TRUE(status.IsIncomplete()) << status.ToString();
      EXPECT_TRUE(Mentions(status, "stall")) << status.ToString();
    }
  }

  rocksdb::WriteOptions at_once_;
  rocksdb::ColumnFamilyHandle* family_ = nullptr;
  std::thread writer_;
  std::thread watchdog_;
  std::atomic<bool> written_{false};
  std::atomic<bool> over_{false};
};

TEST_F(NoSlowdownTest, WaitsForNoWriteThatIsStalled) {
  OpenAndStall();
  ExpectIncomplete(
      [this](const std::string& key) { return db_->Put(at_once_, key, "v"); });
  ExpectIncomplete(
      [this](const std::string& key) { return db_->Delete(at_once_, key); });
  ExpectIncomplete([this](const std::string& key) {
    rocksdb::WriteBatch batch;
    EXPECT_ROCKS_OK(batch.Put(key, "v"));
    EXPECT_ROCKS_OK(batch.Put("another", "v"));
    return db_->Write(at_once_, &batch);
  });
  ExpectIncomplete([this](const std::string& key) {
    return db_->Update(at_once_, {{db_->DefaultColumnFamily(), key}},
                       [](std::vector<std::optional<std::string>>* values) {
                         values->front() = "v";
                         return rocksdb::Status::OK();
                       });
  });
  rocksdb::WriteBatch range;
  EXPECT_ROCKS_OK(range.DeleteRange("k", "l"));
  EXPECT_TRUE(db_->Write(at_once_, &range).IsIncomplete());
  EXPECT_FALSE(written_);
  EndStall();
}

// As a session does for its snapshot: it waits for the stalled write, and all
// that come later wait for it.
TEST_F(NoSlowdownTest, WaitsForNobodyWhoWantsAllLocks) {
  OpenAndStall();
  StripeLocks* const locks = StoreAccess::IndexedOf(db_.get())->locks();
  std::atomic<bool> held{false};
  std::thread session([&] {
    const AllStripesGuard all(locks);
    held = true;
  });
  StripeSet one;
  one.Add(StripeOf(0));
  while (locks->Lock(one, [] { return true; })) {
    locks->Unlock(one);
    std::this_thread::yield();
  }
  EXPECT_FALSE(held);
  ExpectIncomplete(
      [this](const std::string& key) { return db_->Put(at_once_, key, "v"); });
  EXPECT_FALSE(held);
  over_ = true;
  session.join();
  EndStall();
}

// Neither stalled nor held up for long, it is a write as others.
TEST_F(NoSlowdownTest, IsAWrite) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Put(at_once_, "key", "value"));
  EXPECT_EQ(Get("key"), "value");
  ASSERT_ROCKS_OK(
      db_->DeleteRange(at_once_, db_->DefaultColumnFamily(), "k", "l"));
  EXPECT_EQ(Get("key"), "-");
  CloseAndCheck();
}

}  // namespace
}  // namespace rocksync
