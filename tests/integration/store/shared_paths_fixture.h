// Databases whose logs and tables are outside of their directories.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_SHARED_PATHS_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_SHARED_PATHS_FIXTURE_H_

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {

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
        std::filesystem::directory_iterator(Dir(name)),
        std::filesystem::directory_iterator(),
        [&](const auto& file) { return file.path().extension() == extension; });
  }
  // With a table.
  void MakeOfflineReplica() {
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(Put("key", "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
  }
  // The directory is the database's since, and holds nothing.
  void MakeAndDropFamilyIn(const std::string& path) {
    rocksdb::ColumnFamilyOptions family;
    family.cf_paths = {{Dir(path), 1 << 30}};
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    ASSERT_ROCKS_OK(db_->CreateColumnFamily(family, "family", &handle));
    ASSERT_ROCKS_OK(db_->DropColumnFamily(handle));
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handle));
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

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_SHARED_PATHS_FIXTURE_H_
