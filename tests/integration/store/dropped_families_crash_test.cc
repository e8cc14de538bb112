// A process that is killed at any step of dropping a family, and of the purge
// that follows: its index has nothing of the family once it was opened again.

#include <memory>
#include <string>
#include <vector>

#include "replication/store/index/index_reader.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/sanitized.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync {
namespace {

class DroppedFamiliesCrashTest : public StoreTest {
 protected:
  static constexpr int kKeys = 20;
  static constexpr char kDirectory[] = "/disk/db";

  void SetUp() override {
    StoreTest::SetUp();
    options_.info_log_level = rocksdb::ERROR_LEVEL;
  }
  void OpenOn(ForgetfulDisk* disk) {
    env_ = rocksdb::NewCompositeEnv(disk->Mount());
    options_.env = env_.get();
    EXPECT_ROCKS_OK(env_->CreateDirIfMissing("/disk"));
    std::vector<std::string> names = {"default"};
    if (env_->FileExists(std::string(kDirectory) + "/CURRENT").ok()) {
      ASSERT_ROCKS_OK(
          rocksdb::DB::ListColumnFamilies(options_, kDirectory, &names));
    }
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      if (name != kIndexFamilyName) families.push_back({name, options_});
    }
    ReplicatedDB* raw = nullptr;
    ASSERT_ROCKS_OK(ReplicatedDB::Open(options_, replication_, kDirectory,
                                       families, &handles_, &raw));
    db_.reset(raw);
  }
  void Close() {
    for (auto* handle : handles_) {
      EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }
  // Entries of families that are not there.
  int Leftovers() {
    const IndexReader& reader = StoreAccess::IndexedOf(db_.get())->reader();
    IndexCursor cursor(reader, nullptr, 0, IndexCursor::Order::kTotal);
    int count = 0;
    for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
      if (cursor.family() == nullptr) ++count;
    }
    EXPECT_ROCKS_OK(cursor.status());
    return count;
  }

  std::unique_ptr<rocksdb::Env> env_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

TEST_F(DroppedFamiliesCrashTest, LeavesNoEntries) {
  bool killed = true;
  uint64_t step = 1;
  int dropped = 0;
  for (; killed && !HasFailure(); step += kSanitized ? 3 : 1) {
    SCOPED_TRACE("killed at step " + std::to_string(step));
    ForgetfulDisk disk;
    OpenOn(&disk);
    ASSERT_ROCKS_OK(
        db_->CreateColumnFamily({}, "family", &handles_.emplace_back()));
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_ROCKS_OK(db_->Put({}, handles_[1], std::to_string(i), "v"));
    }
    disk.KillAfter(step);
    ASSERT_ROCKS_OK(db_->DropColumnFamily(handles_[1]));
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    killed = disk.killed();
    disk.Kill();
    Close();

    OpenOn(&disk);
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    const bool stays = handles_.size() == 2;
    EXPECT_EQ(Leftovers(), 0);
    EXPECT_EQ(Total().count, stays ? kKeys : 0);
    dropped += stays ? 0 : 1;
    Close();
  }
  EXPECT_GT(step, 5u) << "nothing was interrupted";
  EXPECT_GT(dropped, 1);
}

}  // namespace
}  // namespace rocksync
