// The store on RocksDB keeps the contract of every StorageView.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "replication/store/store_access.h"
#include "rocksync/replicated_db.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/replication/session/storage_view_contract.h"

namespace rocksync {
namespace {

class RocksDBFixture {
 public:
  RocksDBFixture() { Open(); }
  ~RocksDBFixture() {
    view_.reset();
    db_.reset();
  }

  StorageView* view() { return view_.get(); }
  Version Put(const std::string& key, const std::string& value) {
    const rocksdb::Status status = db_->Put({}, key, value);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return VersionOf(key);
  }
  Version Delete(const std::string& key) {
    const rocksdb::Status status = db_->Delete({}, key);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return VersionOf(key);
  }
  std::optional<std::string> Get(const std::string& key) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok() ? std::make_optional(value) : std::nullopt;
  }

  // Goes on with what the files hold at this moment, as after kill -9.
  void CrashAndReopen() {
    const std::string before = Directory();
    ++incarnations_;
    std::filesystem::copy(before, Directory(),
                          std::filesystem::copy_options::recursive);
    view_.reset();
    db_.reset();
    Open();
  }

 private:
  std::string Directory() const {
    return root_ / std::to_string(incarnations_);
  }

  void Open() {
    rocksdb::Options options;
    options.create_if_missing = true;
    ReplicatedDBOptions replication;
    replication.cluster_secret.fill(7);
    replication.cluster_name = "test";
    ReplicatedDB* db = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication, Directory(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
    view_ = StoreAccess::NewView(db);
  }

  Version VersionOf(const std::string& key) {
    const auto snapshot = view_->TakeSnapshot(nullptr);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    const auto entry = (*snapshot)->FindKey(0, key);
    EXPECT_TRUE(entry.ok() && entry->has_value());
    return (*entry)->version;
  }

  const TemporaryDirectory root_;
  int incarnations_ = 0;
  std::unique_ptr<ReplicatedDB> db_;
  std::unique_ptr<StorageView> view_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(RocksDB, StorageViewContract, RocksDBFixture);

}  // namespace
}  // namespace rocksync
