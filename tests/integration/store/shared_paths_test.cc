// Paths outside of a database's directory that another database uses: RocksDB
// would replay the other one's log, and delete its files.

#include "replication/store/open/shared_paths.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class SharedPathsTest : public StoreTest {
 protected:
  void MakeCheckpoint(const std::string& name) {
    rocksdb::Checkpoint* raw = nullptr;
    ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_.get(), &raw));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    ASSERT_ROCKS_OK(checkpoint->CreateCheckpoint(Dir(name)));
  }
  ptrdiff_t Files(const std::string& name, const std::string& extension) {
    return std::count_if(
        fs::directory_iterator(Dir(name)), fs::directory_iterator(),
        [&](const auto& file) { return file.path().extension() == extension; });
  }
  void ExpectRefused(const std::string& name, const std::string& path) {
    std::unique_ptr<ReplicatedDB> other;
    const rocksdb::Status status = OpenOther(name, &other);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find(Dir(path)), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.ToString().find(Dir(name)), std::string::npos)
        << status.ToString();
  }
};

TEST_F(SharedPathsTest, ACopyDoesNotTakeTheLogOfItsOriginal) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  MakeCheckpoint("copy");
  rocksdb::WriteOptions synced;
  synced.sync = true;
  ASSERT_ROCKS_OK(db_->Put(synced, "later", "value"));
  const ptrdiff_t logs = Files("wal", ".log");
  replication_.open_copy_as_new_replica = true;
  ExpectRefused("copy", "wal");
  EXPECT_EQ(Files("wal", ".log"), logs);

  options_.wal_dir = Dir("wal of the copy");
  std::unique_ptr<ReplicatedDB> copy;
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  std::string value;
  EXPECT_ROCKS_OK(copy->Get({}, "key", &value));
  EXPECT_TRUE(copy->Get({}, "later", &value).IsNotFound());
  copy.reset();
  // It has opened there now, and is nobody's copy any more.
  ASSERT_ROCKS_OK(OpenOther("copy", &copy));
  copy.reset();

  replication_.open_copy_as_new_replica = false;
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("later"), "value");
}

TEST_F(SharedPathsTest, ByAnotherNameItIsNoCopy) {
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::create_directory_symlink(Dir(), Dir("link"));
  ASSERT_ROCKS_OK(Open("link"));
  EXPECT_EQ(Get("key"), "value");
}

TEST_F(SharedPathsTest, ACopyDoesNotTakeTheTablesOfItsOriginal) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  fs::copy(Dir(), Dir("copy"), fs::copy_options::recursive);
  const ptrdiff_t tables = Files("tables", ".sst");
  ExpectRefused("copy", "tables");
  EXPECT_EQ(Files("tables", ".sst"), tables);
  // Nor one that is new, and whose family has the path.
  const rocksdb::Options options = options_;
  options_.cf_paths = options_.db_paths;
  options_.db_paths.clear();
  ExpectRefused("new", "tables");
  EXPECT_EQ(Files("tables", ".sst"), tables);
  options_ = options;
  // Once the original is gone the copy is the database, which was moved.
  fs::rename(Dir(), Dir("away"));
  ASSERT_ROCKS_OK(Open("copy"));
  EXPECT_EQ(Get("key"), "value");
}

}  // namespace
}  // namespace rocksync
