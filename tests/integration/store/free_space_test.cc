// A disk that gets full: writes are refused in time, and a disk that is full
// all the same ends no process.

#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/file_content.h"

namespace rocksync {
namespace {

// Says how much is free.
class StatedSpace final : public rocksdb::EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  rocksdb::Status GetFreeSpace(const std::string& path,
                               uint64_t* free) override {
    if (stated == 0) return EnvWrapper::GetFreeSpace(path, free);
    *free = stated;
    return rocksdb::Status::OK();
  }
  std::atomic<uint64_t> stated{0};
};

bool Mentions(const rocksdb::Status& status, const std::string& text) {
  return status.ToString().find(text) != std::string::npos;
}

class FreeSpaceTest : public StoreTest {
 protected:
  absl::Status Apply(const std::string& key) {
    const auto view = StoreAccess::NewView(db_.get());
    std::vector<ApplyOutcome> outcomes;
    const uint64_t now = env_.NowMicros() / 1000 << 16;
    return view->Apply(std::vector<Pair>{{0, key, {now, 99}, false, "v"}}, {},
                       &outcomes);
  }

  StatedSpace env_{rocksdb::Env::Default()};
};

TEST_F(FreeSpaceTest, MoreThanAnyDiskHasIsNeverFree) {
  options_.env = &env_;
  replication_.min_free_bytes = UINT64_MAX;
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(Put("k", "v").IsNoSpace());
}

TEST_F(FreeSpaceTest, WritesAreRefusedWhileTooLittleIsFree) {
  options_.env = &env_;
  replication_.min_free_bytes = 64 << 20;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  env_.stated = 60 << 20;
  // Noticed after 256 KiB at the latest.
  const std::string value(100 << 10, 'v');
  rocksdb::Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) status = Put("large", value);
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_TRUE(Mentions(status, Dir() + " has 62914560 bytes free"))
      << status.ToString();
  EXPECT_TRUE(Mentions(status, "make room")) << status.ToString();
  EXPECT_TRUE(Mentions(status, "min_free_bytes")) << status.ToString();
  rocksdb::WriteBatch batch;
  ASSERT_ROCKS_OK(batch.Put("k", "w"));
  EXPECT_TRUE(db_->Write({}, &batch).IsNoSpace());
  const absl::Status of_a_peer = Apply("of a peer");
  EXPECT_TRUE(absl::IsResourceExhausted(of_a_peer));
  const std::string said(of_a_peer.message());
  EXPECT_NE(said.find("make room"), std::string::npos) << said;
  EXPECT_EQ(said.find("make room"), said.rfind("make room")) << said;
  EXPECT_EQ(Get("k"), "v");
  ASSERT_ROCKS_OK(db_->Delete({}, "k"));
  env_.stated = 20 << 20;
  EXPECT_TRUE(db_->Delete({}, "large").IsNoSpace());

  env_.stated = 0;
  ASSERT_ROCKS_OK(Put("k", "again"));
  EXPECT_TRUE(Apply("of a peer").ok());
  CloseAndCheck();

  env_.stated = 1 << 20;
  status = Open();
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_TRUE(Mentions(status, Dir())) << status.ToString();
  EXPECT_TRUE(Mentions(status, "make room on that disk and open again"))
      << status.ToString();
  EXPECT_FALSE(Mentions(status, "min_free_bytes")) << "2 MiB are not that";
}

// So large that the files in a directory fill it.
class SmallDisk final : public rocksdb::EnvWrapper {
 public:
  SmallDisk(rocksdb::Env* env, uint64_t bytes)
      : EnvWrapper(env), bytes_(bytes) {}
  rocksdb::Status GetFreeSpace(const std::string& path,
                               uint64_t* free) override {
    uint64_t used = 0;
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      std::error_code gone;
      const uint64_t size = std::filesystem::file_size(file, gone);
      if (!gone) used += size;
    }
    *free = used < bytes_ ? bytes_ - used : 0;
    return rocksdb::Status::OK();
  }

 private:
  const uint64_t bytes_;
};

// Nobody else could: there is nothing on the disk but the database.
TEST_F(FreeSpaceTest, LogsThatAreKeptForOneFamilyMakeRoom) {
  SmallDisk disk(rocksdb::Env::Default(), 40 << 20);
  options_.env = &disk;
  options_.write_buffer_size = 1 << 20;
  options_.compression = rocksdb::kNoCompression;
  replication_.min_free_bytes = 2 << 20;
  replication_.families = {"default"};
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* seldom = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(options_, "seldom", &seldom));
  const std::string value(100 << 10, 'v');
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::minutes(2);
  int written = 0;
  int refused = 0;
  while (written < 1000 && std::chrono::steady_clock::now() < deadline) {
    const rocksdb::Status status =
        Put("k" + std::to_string(written % 20), value);
    if (status.ok()) {
      if (written++ % 100 == 0) {
        ASSERT_ROCKS_OK(db_->Put({}, seldom, "key", "value"));
      }
      continue;
    }
    ASSERT_TRUE(status.IsNoSpace()) << status.ToString();
    ++refused;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(written, 1000) << "of 100 KiB each, to a disk of 40 MiB";
  EXPECT_GT(refused, 0) << "the logs have filled it";
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(seldom));
  CloseAndCheck();
}

// How often `text` is in `log`.
int CountOf(const std::string& text, const std::string& log) {
  int count = 0;
  for (size_t at = log.find(text); at != std::string::npos;
       at = log.find(text, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(FreeSpaceTest, ThatWritesAreRefusedIsTold) {
  options_.env = &env_;
  replication_.min_free_bytes = 64 << 20;
  ASSERT_ROCKS_OK(Open());
  DiskSpaceStats disk = db_->GetDiskSpaceStats();
  EXPECT_FALSE(disk.writes_refused);
  EXPECT_GT(disk.free_bytes, disk.min_free_bytes);
  EXPECT_EQ(disk.min_free_bytes, uint64_t{64} << 20);

  // Nobody writes.
  env_.stated = 60 << 20;
  disk = db_->GetDiskSpaceStats();
  EXPECT_TRUE(disk.writes_refused);
  EXPECT_EQ(disk.free_bytes, uint64_t{60} << 20);
  EXPECT_TRUE(Put("k", "v").IsNoSpace());
  EXPECT_TRUE(db_->GetDiskSpaceStats().writes_refused);
  const std::string refused = "writes are refused from now on";
  const std::string go_on = "there is room on the disk again";
  EXPECT_EQ(CountOf(refused, InfoLog()), 1);
  EXPECT_EQ(CountOf(go_on, InfoLog()), 0);

  // A large write, for which there is too little room, though small ones pass.
  env_.stated = 0;
  EXPECT_FALSE(db_->GetDiskSpaceStats().writes_refused);
  EXPECT_EQ(CountOf(go_on, InfoLog()), 1);
  env_.stated = 70 << 20;
  EXPECT_TRUE(Put("large", std::string(16 << 20, 'v')).IsNoSpace());
  EXPECT_TRUE(db_->GetDiskSpaceStats().writes_refused);
  ASSERT_ROCKS_OK(Put("k", "v"));
  EXPECT_TRUE(db_->GetDiskSpaceStats().writes_refused);
  EXPECT_EQ(CountOf(refused, InfoLog()), 2);
  EXPECT_EQ(CountOf(go_on, InfoLog()), 1);
  env_.stated = 0;
  ASSERT_ROCKS_OK(Put("large", std::string(16 << 20, 'v')));
  EXPECT_FALSE(db_->GetDiskSpaceStats().writes_refused);
  EXPECT_EQ(CountOf(go_on, InfoLog()), 2);
}

TEST_F(FreeSpaceTest, WithoutAReserveNothingIsRefused) {
  options_.env = &env_;
  replication_.min_free_bytes = 0;
  env_.stated = 1;
  ASSERT_ROCKS_OK(Open());
  const DiskSpaceStats disk = db_->GetDiskSpaceStats();
  EXPECT_FALSE(disk.writes_refused);
  EXPECT_EQ(disk.free_bytes, 1u);
  EXPECT_EQ(disk.min_free_bytes, 0u);
}

// The log's file is not written through RocksDB's buffer, which ends the
// process at the second line after one that found no room.
TEST_F(FreeSpaceTest, LinesOfTheLogThatFindNoRoomAreLeftOut) {
  FailingDisk disk = MakeFailingDisk();
  options_.env = disk.env.get();
  ASSERT_ROCKS_OK(Open());
  const auto log = db_->GetDBOptions().info_log;
  *disk.state = DiskState::kFull;
  for (int i = 0; i < 3; ++i) rocksdb::Warn(log, "left out %d", i);
  log->Flush();
  rocksdb::Warn(log, "left out too");
  *disk.state = DiskState::kGood;
  rocksdb::Warn(log, "there again");
  db_.reset();
  const std::string text = FileContent(Dir() + "/LOG");
  EXPECT_EQ(text.find("left out"), std::string::npos);
  EXPECT_NE(text.find("[WARN] there again"), std::string::npos);
}

// A file system of its own; where this may not be mounted, one that answers as
// a full one does.
class FullDiskTest : public FreeSpaceTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    const std::string disk = root_ / "disk";
    std::filesystem::create_directory(disk);
    mounted_ =
        mount("none", disk.c_str(), "tmpfs", 0, "size=96m,mode=700") == 0;
    if (!mounted_) {
      std::cout << "tmpfs cannot be mounted: a layer takes its place\n";
      layered_.stated = uint64_t{96} << 20;
      options_.env = &layered_;
    }
    options_.write_buffer_size = 4 << 20;
    replication_.min_free_bytes = 32 << 20;
    replication_.index_write_buffer_bytes = 1 << 20;
  }
  void TearDown() override {
    db_.reset();
    if (mounted_) umount2((root_ / "disk").c_str(), MNT_DETACH);
    StoreTest::TearDown();
  }

  static constexpr const char* kName = "disk/db";
  std::string Filler() const { return root_ / "disk/filler"; }

  // Takes up the disk to the last byte, or gives it back.
  void Fill() {
    if (!mounted_) {
      *disk_.state = DiskState::kFull;
      return;
    }
    std::ofstream file(Filler(), std::ios::app);
    const std::string block(4096, 'f');
    while (file.write(block.data(), 4096) && file.flush()) {
    }
  }
  void MakeRoom() {
    *disk_.state = DiskState::kGood;
    std::filesystem::remove(Filler());
  }

  bool mounted_ = false;
  FailingDisk disk_ = MakeFailingDisk();
  StatedSpace layered_{disk_.env.get()};
};

TEST_F(FullDiskTest, NothingIsLostAndNothingAborts) {
  ASSERT_ROCKS_OK(Open(kName));
  const auto key = [](int i) { return "k" + std::to_string(i); };
  const std::string value(64 << 10, 'v');
  int written = 0;
  rocksdb::Status status;
  while (written < 4000) {
    if (!mounted_ && written == 200) layered_.stated = 20 << 20;
    status = Put(key(written), std::to_string(written) + value);
    if (!status.ok()) break;
    ++written;
  }
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  EXPECT_GT(written, 100);
  // What was written can be flushed.
  ASSERT_ROCKS_OK(db_->Flush(rocksdb::FlushOptions()));

  Fill();
  layered_.stated = mounted_ ? 0 : 1;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(Put("more", value).ok());
    rocksdb::Warn(db_->GetDBOptions().info_log, "a line %s", value.c_str());
  }
  for (int i = 0; i < written; ++i) {
    ASSERT_EQ(Get(key(i)), std::to_string(i) + value) << i;
  }
  db_.reset();
  Fill();  // what the end gave back
  status = Open(kName);
  EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
  // RocksDB's own errors, if nobody looks first.
  const uint64_t reserve = std::exchange(replication_.min_free_bytes, 0);
  EXPECT_FALSE(Open(kName).ok());
  replication_.min_free_bytes = reserve;

  MakeRoom();
  layered_.stated = mounted_ ? 0 : 96 << 20;
  ASSERT_ROCKS_OK(Open(kName));
  for (int i = 0; i < written; ++i) {
    ASSERT_EQ(Get(key(i)), std::to_string(i) + value) << i;
  }
  ASSERT_ROCKS_OK(db_->Delete({}, key(0)));
  CloseAndCheck(nullptr, kName);
}

}  // namespace
}  // namespace rocksync
