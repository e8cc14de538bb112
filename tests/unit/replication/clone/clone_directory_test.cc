#include "replication/clone/clone_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "replication/store/format/clone_record.h"
#include "replication/store/format/path_owner.h"
#include "rocksdb/db.h"
#include "tests/support/file_content.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;
using rocksdb::Env;
using rocksdb::Status;

class CloneDirectoryTest : public ::testing::Test {
 protected:
  std::string Dir() const { return root_ / "clone"; }
  Status Prepare(uint64_t id = 5) {
    directory_.reset();
    return CloneDirectory::Prepare(Env::Default(), Dir(), id, &directory_);
  }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(Dir() + "/" + name) << bytes;
  }
  Status Append(const CloneFile& file, uint64_t offset,
                const std::string& bytes) {
    std::unique_ptr<rocksdb::WritableFile> writer;
    Status s = directory_->Append(file, offset, &writer);
    if (s.ok()) s = writer->Append(bytes);
    return s.ok() ? writer->Close() : s;
  }

  const TemporaryDirectory root_;
  std::unique_ptr<CloneDirectory> directory_;
};

const CloneFiles kList = {
    .ticket = 3,
    .source_id = 4,
    .files = {{"000007.sst", 10}, {"CURRENT", 16}, {"MANIFEST-000005", 8}}};

TEST_F(CloneDirectoryTest, NothingOpensItBeforeItsEnd) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(directory_->Begin(kList, 0).ok());
  for (const CloneFile& file : kList.files) {
    const bool current = file.name == "CURRENT";
    ASSERT_TRUE(
        Append(file, 0,
               current ? "MANIFEST-000005\n" : std::string(file.size, 'x'))
            .ok());
    const std::string text = FileContent(Dir() + "/CURRENT");
    EXPECT_TRUE(IsUnfinishedClone(text)) << text;
  }
  EXPECT_FALSE(directory_->finished());
  ASSERT_TRUE(directory_->Finish().ok());
  EXPECT_TRUE(directory_->finished());
  const std::string text = FileContent(Dir() + "/CURRENT");
  EXPECT_EQ(text, "MANIFEST-000005\n");
  CloneRecord record;
  ASSERT_TRUE(ReadCloneRecord(Env::Default(), Dir(), &record).ok());
  EXPECT_EQ(record.replica_id, 5u);
  EXPECT_EQ(record.source_id, 4u);
  ASSERT_TRUE(Prepare().ok());
  EXPECT_TRUE(directory_->finished());
}

// Who has made an id there, as for an empty replica, is told what to do.
TEST_F(CloneDirectoryTest, AnIdThatWasMadeThereHasToBeRemoved) {
  fs::create_directory(Dir());
  Write("ROCKSYNC.id", "x");
  const Status made = Prepare();
  EXPECT_TRUE(made.IsInvalidArgument());
  EXPECT_NE(made.ToString().find("it holds ROCKSYNC.id: remove that file"),
            std::string::npos)
      << made.ToString();
  Write("000007.sst", "x");
  const Status others = Prepare();
  EXPECT_TRUE(others.IsInvalidArgument());
  EXPECT_EQ(others.ToString().find("remove that file"), std::string::npos);
  fs::remove(Dir() + "/000007.sst");
  fs::remove(Dir() + "/ROCKSYNC.id");
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(CloneDirectoryTest, RocksDBRefusesAPart) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(directory_->Begin(kList, 0).ok());
  directory_.reset();
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  EXPECT_FALSE(OpenPlain(options, Dir(), &db).ok());
}

// Only what it made itself goes.
TEST_F(CloneDirectoryTest, WithoutACopyNothingStays) {
  ASSERT_TRUE(Prepare().ok());
  directory_.reset();
  EXPECT_FALSE(fs::exists(Dir()));
  fs::create_directory(Dir());
  for (const char* name : {"LOCK", "somebody.new"}) {
    Write(name, "");
    ASSERT_TRUE(Prepare().ok());
    directory_.reset();
    EXPECT_TRUE(fs::exists(Dir() + "/" + name));
    EXPECT_FALSE(fs::exists(Dir() + "/CURRENT"));
    EXPECT_FALSE(fs::exists(Dir() + "/" + kCloneRecordFileName));
  }
  // What was there when it came stays, also if it was left by a kill.
  ASSERT_TRUE(MarkUnfinished(Env::Default(), Dir()).ok());
  ASSERT_TRUE(Prepare().ok());
  directory_.reset();
  EXPECT_TRUE(fs::exists(Dir() + "/CURRENT"));
}

TEST_F(CloneDirectoryTest, AWholeCopyIsOfOneReplica) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(directory_->Begin(kList, 0).ok());
  ASSERT_TRUE(Append(kList.files[1], 0, "MANIFEST-000005\n").ok());
  ASSERT_TRUE(Append(kList.files[2], 0, "manifest").ok());
  ASSERT_TRUE(directory_->Finish().ok());
  const Status s = Prepare(6);
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Prepare(5).ok());
  EXPECT_TRUE(Prepare(0).ok());
}

TEST_F(CloneDirectoryTest, ACurrentThatNamesNothingDoesNotFinishIt) {
  for (const char* current : {"MANIFEST-000005", "MANIFEST-000006\n",
                              "../MANIFEST-000005\n", "000007.sst\n", ""}) {
    fs::remove_all(Dir());
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(directory_->Begin(kList, 0).ok());
    ASSERT_TRUE(Append(kList.files[0], 0, "0123456789").ok());
    ASSERT_TRUE(Append(kList.files[2], 0, "manifest").ok());
    ASSERT_TRUE(Append(kList.files[1], 0, current).ok());
    EXPECT_TRUE(directory_->Finish().IsCorruption()) << current;
  }
}

TEST_F(CloneDirectoryTest, GoesOnWithWhatIsThere) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(directory_->Begin(kList, 0).ok());
  ASSERT_TRUE(Append(kList.files[0], 0, "01234").ok());
  ASSERT_TRUE(Prepare(0).ok());
  EXPECT_EQ(directory_->record().replica_id, 5u);
  EXPECT_EQ(directory_->record().ticket, 3u);
  Write("000001.sst", "of an older list");
  Write("000007.sst.x", "of somebody");
  ASSERT_TRUE(directory_->Begin(kList, 0).ok());
  EXPECT_FALSE(fs::exists(Dir() + "/000001.sst"));
  EXPECT_TRUE(fs::exists(Dir() + "/000007.sst.x"));
  uint64_t held = 0;
  ASSERT_TRUE(directory_->SizeHeld(kList.files[0], &held).ok());
  EXPECT_EQ(held, 5u);
  CloneCheck check;
  check.size = held;
  ASSERT_TRUE(directory_->HashHeld(kList.files[0], &check).ok());
  EXPECT_EQ(check.size, 5u);
  ASSERT_EQ(check.hashes.size(), 1u);
  EXPECT_EQ(check.hashes[0], ElementHasher::HashIssuedValue("01234"));
  ASSERT_TRUE(Append(kList.files[0], held, "56789").ok());
  ASSERT_TRUE(directory_->SizeHeld(kList.files[0], &held).ok());
  EXPECT_EQ(held, 10u);
}

TEST_F(CloneDirectoryTest, AFileThatIsTooLongBeginsAnew) {
  ASSERT_TRUE(Prepare().ok());
  Write("000007.sst", "0123456789a");
  uint64_t held = 1;
  ASSERT_TRUE(directory_->SizeHeld(kList.files[0], &held).ok());
  EXPECT_EQ(held, 0u);
  EXPECT_FALSE(fs::exists(Dir() + "/000007.sst"));
}

TEST_F(CloneDirectoryTest, WantsRoomFirst) {
  ASSERT_TRUE(Prepare().ok());
  CloneFiles large = kList;
  large.files[0].size = kMaxCloneFileBytes;
  const Status s = directory_->Begin(large, 0);
  EXPECT_TRUE(s.IsNoSpace()) << s.ToString();
}

TEST_F(CloneDirectoryTest, IsOneClonesAtATime) {
  ASSERT_TRUE(Prepare().ok());
  std::unique_ptr<CloneDirectory> second;
  for (const std::string& name : {Dir(), Dir() + "/", Dir() + "/."}) {
    const Status s = CloneDirectory::Prepare(Env::Default(), name, 6, &second);
    EXPECT_TRUE(s.IsBusy()) << name << ": " << s.ToString();
  }
}

// As in a file system that is read-only.
TEST_F(CloneDirectoryTest, ALockThatCannotBeMadeIsNotHeld) {
  fs::create_directories(Dir() + "/LOCK");
  const Status s = Prepare();
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_NE(s.ToString().find("cannot lock " + Dir()), std::string::npos)
      << s.ToString();
}

TEST_F(CloneDirectoryTest, AFileIsNoDirectory) {
  std::ofstream(Dir()) << "a file";
  const Status s = Prepare();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_NE(s.ToString().find(Dir() + " is not a directory"), std::string::npos)
      << s.ToString();
}

TEST_F(CloneDirectoryTest, OfADatabaseNothingIsTouched) {
  fs::create_directory(Dir());
  Write("CURRENT", "MANIFEST-000001\n");
  const Status s = Prepare();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_FALSE(fs::exists(Dir() + "/" + kCloneRecordFileName));
  EXPECT_FALSE(fs::exists(Dir() + "/LOCK"));
}

// A backup of that one by its files would have the clone in it.
TEST_F(CloneDirectoryTest, LiesInNoOtherDatabase) {
  const std::string around = root_ / "other";
  fs::create_directories(around + "/sub");
  std::ofstream(around + "/CURRENT") << "MANIFEST-000001\n";
  fs::create_directory_symlink(around + "/sub", root_ / "link");
  for (const std::string& name :
       {around + "/clone", around + "/sub/clone/", around + "/sub",
        root_ / "link/clone", root_ / "link/../clone", root_ / "link"}) {
    std::unique_ptr<CloneDirectory> directory;
    const Status s =
        CloneDirectory::Prepare(Env::Default(), name, 5, &directory);
    EXPECT_TRUE(s.IsInvalidArgument()) << name << s.ToString();
    EXPECT_NE(s.ToString().find(name +
                                " lies in the directory of another database, " +
                                around + ": give a directory outside of it"),
              std::string::npos)
        << name << s.ToString();
  }
  EXPECT_TRUE(fs::is_empty(around + "/sub"));
  EXPECT_FALSE(fs::exists(around + "/clone"));
  EXPECT_TRUE(Prepare().ok()) << "which lies beside it";
}

TEST_F(CloneDirectoryTest, LiesInNoDirectoryOfAnothersLog) {
  const std::string log = root_ / "log";
  fs::create_directory(log);
  PathOwner owner;
  owner.token = 1;
  owner.database = NameOf(root_ / "elsewhere");
  owner.path = NameOf(log);
  std::vector<FormerOwner> former;
  ASSERT_TRUE(WriteOwner(Env::Default(), kOwnerFileName, owner,
                         /*replaces=*/false, &former)
                  .ok());
  std::unique_ptr<CloneDirectory> directory;
  const Status s =
      CloneDirectory::Prepare(Env::Default(), log + "/clone", 5, &directory);
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_NE(s.ToString().find("log or the tables of the database in " +
                              (root_ / "elsewhere")),
            std::string::npos)
      << s.ToString();
  fs::rename(log, root_ / "copy");
  // What was moved, or copied, says nothing any more of where it is; a moved
  // one is known by its inode.
  fs::remove_all(root_ / "copy2");
  fs::copy(root_ / "copy", root_ / "copy2", fs::copy_options::recursive);
  EXPECT_TRUE(CloneDirectory::Prepare(Env::Default(), root_ / "copy2/clone", 5,
                                      &directory)
                  .ok());
}

TEST_F(CloneDirectoryTest, ADamagedRecordIsNoRecord) {
  CloneRecord record = {.replica_id = 1, .source_id = 2, .ticket = 3};
  const std::string bytes = Encode(record);
  ASSERT_TRUE(Decode(bytes, &record));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 1;
    EXPECT_FALSE(Decode(damaged, &record)) << i;
  }
  EXPECT_FALSE(Decode("", &record));
}

}  // namespace
}  // namespace rocksync
