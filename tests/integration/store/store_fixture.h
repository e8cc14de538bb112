// A replicated database in a temporary directory.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_STORE_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_STORE_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/peer_memory.h"
#include "rocksync/replicated_db.h"
#include "tests/integration/store/index_equals_data.h"
#include "tests/support/file_content.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {

#define ASSERT_ROCKS_OK(expression)                            \
  do {                                                         \
    const rocksdb::Status rocks_status = (expression);         \
    ASSERT_TRUE(rocks_status.ok()) << rocks_status.ToString(); \
  } while (false)
#define EXPECT_ROCKS_OK(expression)                            \
  do {                                                         \
    const rocksdb::Status rocks_status = (expression);         \
    EXPECT_TRUE(rocks_status.ok()) << rocks_status.ToString(); \
  } while (false)

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    replication_.cluster_secret.fill(7);
    replication_.cluster_name = "test";
    options_.create_if_missing = true;
  }
  void TearDown() override { db_.reset(); }

  std::string Dir(const std::string& name = "db") const { return root_ / name; }

  // What a kill would leave of the open database `name` at this moment, as
  // `image`. RocksDB still takes away files that its opening has replaced; such
  // a one may be gone before it is copied.
  void CopyAsKilled(const std::string& name, const std::string& image) {
    namespace fs = std::filesystem;
    // A kill leaves the files of one moment, and they are copied one by one: a
    // flush or a compaction meanwhile would leave a table out.
    if (db_ != nullptr) EXPECT_ROCKS_OK(db_->PauseBackgroundWork());
    fs::create_directory(Dir(image));
    for (const auto& file : fs::directory_iterator(Dir(name))) {
      const fs::path base = file.path().filename();
      if (base == "LOCK") continue;
      std::error_code error;
      fs::copy_file(file, fs::path(Dir(image)) / base, error);
      EXPECT_TRUE(!error || error == std::errc::no_such_file_or_directory)
          << base << ": " << error.message();
    }
    if (db_ != nullptr) EXPECT_ROCKS_OK(db_->ContinueBackgroundWork());
  }

  rocksdb::Status Open(const std::string& name = "db") {
    db_.reset();
    return OpenOther(name, &db_);
  }
  rocksdb::Status OpenOther(const std::string& name,
                            std::unique_ptr<ReplicatedDB>* db) {
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options_, replication_, Dir(name), &raw);
    db->reset(raw);
    return status;
  }
  // Foreign writes to the database.
  void Plain(const std::string& name,
             const std::function<void(rocksdb::DB*)>& work) {
    rocksdb::Options options;
    options.create_if_missing = true;
    std::vector<std::string> names;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    rocksdb::DB::ListColumnFamilies(options, Dir(name), &names)
        .PermitUncheckedError();
    if (names.empty()) names.push_back("default");
    rocksdb::ColumnFamilyOptions family_options;
    family_options.disable_auto_compactions = options_.disable_auto_compactions;
    for (const std::string& family : names) {
      families.push_back({family, family_options});
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_ROCKS_OK(OpenPlain(options, Dir(name), families, &handles, &raw));
    work(raw);
    for (auto* handle : handles) raw->DestroyColumnFamilyHandle(handle);
    delete raw;
  }

  // What RocksDB and the library noted of the latest opening.
  std::string InfoLog(const std::string& name = "db") const {
    return FileContent(Dir(name) + "/LOG");
  }

  rocksdb::Status Put(const std::string& key, const std::string& value) {
    return db_->Put({}, key, value);
  }
  std::string Get(const std::string& key) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : "error";
  }

  // The digest of everything, as a session would see it.
  Digest Total(ReplicatedDB* db) {
    const auto view = StoreAccess::NewView(db);
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    Digest total;
    if (!snapshot.ok()) return total;
    for (const Digest& leaf : (*snapshot)->LeafDigests()) total += leaf;
    return total;
  }
  Digest Total() { return Total(db_.get()); }

  // Closes, and compares index, data and the digest that was claimed.
  void CloseAndCheck(ScanResult* result = nullptr,
                     const std::string& name = "db") {
    ScanResult scratch;
    if (result == nullptr) result = &scratch;
    const Digest claimed = Total();
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    ASSERT_TRUE(
        IndexEqualsData(Dir(name), replication_.cluster_secret, result));
    EXPECT_EQ(result->digest, claimed);
  }

  // `at` meets `met`, and remembers it.
  static rocksdb::Status Remember(const std::unique_ptr<ReplicatedDB>& at,
                                  const std::unique_ptr<ReplicatedDB>& met) {
    return StoreAccess::PeersOf(at.get())->Remember(
        met->Identity().replica_id, StoreAccess::IncarnationOf(met.get()));
  }
  // The latest reading of the clock that is durable.
  uint64_t Clock() { return StoreAccess::IncarnationOf(db_.get()).clock; }

  const TemporaryDirectory root_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  std::unique_ptr<ReplicatedDB> db_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_STORE_FIXTURE_H_
