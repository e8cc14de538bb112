// What goes on in the background while a database is closed is its own.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "replication/store/format/index_key.h"
#include "rocksdb/convenience.h"
#include "rocksdb/listener.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

// Holds compactions of the data up until the close flushes the index, and that
// flush until one has ended.
class CompactsInTheClose final : public rocksdb::EventListener {
 public:
  void OnCompactionBegin(rocksdb::DB*,
                         const rocksdb::CompactionJobInfo& info) override {
    if (info.cf_name == kIndexFamilyName) return;
    std::unique_lock lock(mutex_);
    begun_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [this] { return flushing_; });
  }
  void OnCompactionCompleted(rocksdb::DB*,
                             const rocksdb::CompactionJobInfo& info) override {
    if (info.cf_name == kIndexFamilyName) return;
    const std::lock_guard lock(mutex_);
    completed_ = info.status.ok();
    changed_.notify_all();
  }
  void OnFlushCompleted(rocksdb::DB*,
                        const rocksdb::FlushJobInfo& info) override {
    if (info.cf_name != kIndexFamilyName) return;
    std::unique_lock lock(mutex_);
    if (!closing_) return;
    flushing_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, kPatience, [this] { return completed_; });
  }

  // Waits until the compaction has begun.
  bool Closing() {
    std::unique_lock lock(mutex_);
    closing_ = true;
    return changed_.wait_for(lock, kPatience, [this] { return begun_; });
  }
  bool completed() const {
    const std::lock_guard lock(mutex_);
    return completed_;
  }

 private:
  static constexpr auto kPatience = std::chrono::seconds(30);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;
  bool closing_ = false;
  bool flushing_ = false;
  bool completed_ = false;
};

class SealTest : public StoreTest {
 protected:
  // A MANIFEST of somebody who opened the database and did nothing else.
  void IdleOpening() {
    Plain("db", [](rocksdb::DB*) {});
  }
};

TEST_F(SealTest, ACompactionThatEndsDuringTheCloseIsOurOwn) {
  const auto listener = std::make_shared<CompactsInTheClose>();
  options_.listeners.push_back(listener);
  options_.level0_file_num_compaction_trigger = 2;
  options_.max_background_jobs = 2;
  ASSERT_ROCKS_OK(Open());
  for (const char* value : {"1", "2"}) {
    // Overlapping: files that do not are only moved, and stay the same.
    for (const char* key : {"a", "key", "z"}) ASSERT_ROCKS_OK(Put(key, value));
    ASSERT_ROCKS_OK(
        db_->Flush(rocksdb::FlushOptions(), db_->DefaultColumnFamily()));
  }
  ASSERT_TRUE(listener->Closing());
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  EXPECT_TRUE(listener->completed());
  options_.listeners.clear();
  IdleOpening();
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(db_->GetIndexBuildProgress().done)
      << db_->GetIndexBuildProgress().activity;
  EXPECT_EQ(Get("key"), "2");
}

TEST_F(SealTest, FilesOfSomebodyElseAreNot) {
  options_.disable_auto_compactions = true;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "1"));
  // Below level 0, whose files are not deleted so.
  ASSERT_ROCKS_OK(db_->CompactRange(rocksdb::CompactRangeOptions(),
                                    db_->DefaultColumnFamily(), nullptr,
                                    nullptr));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(rocksdb::DeleteFilesInRange(db, db->DefaultColumnFamily(),
                                                nullptr, nullptr));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  // Noticed: a peer's pair will replace it.
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 1u);
}

}  // namespace
}  // namespace rocksync
