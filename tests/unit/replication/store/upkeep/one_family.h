// A plain RocksDB database with one family and its index, as the parts of
// upkeep/ see it: no thread of the library's, and no call of the application's.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_UPKEEP_ONE_FAMILY_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_UPKEEP_ONE_FAMILY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/bucket_memtable.h"
#include "replication/store/index/family_table.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "sketch/element/element.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {

class OneFamily {
 public:
  static constexpr uint64_t kReplica = 7;

  // `log` null: RocksDB's own.
  explicit OneFamily(std::shared_ptr<rocksdb::Logger> log = nullptr) {
    rocksdb::Options plain;
    plain.create_if_missing = true;
    plain.create_missing_column_families = true;
    plain.env = &clock_;
    plain.info_log = std::move(log);
    auto watch = std::make_shared<LogWatch>();
    plain.listeners = {watch};
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = OpenPlain(
        plain, directory_.path(),
        {{"default", plain}, {"index", rocksdb::Options()}}, &handles, &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
    IndexedDB::Parts parts;
    parts.db = db;
    parts.index = index_ = handles[1];
    parts.identity.replica_id = parts.identity.home_id = kReplica;
    parts.log = std::move(watch);
    parts.directories = {directory_.path()};
    parts.memtable = std::make_shared<BucketMemtableFactory>(6, 1 << 20);
    parts.hasher = std::make_unique<ElementHasher>(ClusterSecret{});
    indexed_ = std::make_unique<IndexedDB>(
        ReplicatedDBOptions(), std::move(parts),
        [](const auto& /*cancelled*/) { return absl::OkStatus(); });
    Family family;
    family.name = "default";
    family.shared = std::make_shared<SharedHandle>(db, handles[0]);
    family.shared->given_back = true;  // so the table, its last user, frees it
    std::vector<Family> families;
    families.push_back(std::move(family));
    indexed_->shown_families()->Show(std::make_unique<const FamilyTable>(
        std::move(families), std::vector<Family>()));
    families_ = indexed_->families();
  }
  ~OneFamily() {
    indexed_->lease()->Stop();
    families_ = {};
    indexed_.reset();
    db_->DestroyColumnFamilyHandle(index_).PermitUncheckedError();
  }
  OneFamily(const OneFamily&) = delete;
  OneFamily& operator=(const OneFamily&) = delete;

  IndexedDB* indexed() const { return indexed_.get(); }
  // Sets the machine's clock ahead, in all from where it began.
  void SetAhead(uint64_t ms) { clock_.ahead_ms = ms; }
  rocksdb::DB* db() { return db_.get(); }
  const Family& family() const { return families_->families().front(); }

  IndexKey KeyOf(std::string_view key) const {
    return {indexed_->hasher().Position("default", key), 0, key};
  }

  // Data and index as two writes, which the library never does.
  void PutPair(std::string_view key, std::string_view value) {
    EXPECT_TRUE(db_->Put({}, family().handle(), key, value).ok());
  }
  void PutEntry(std::string_view key, const StoredEntry& entry) {
    rocksdb::WriteBatch batch;
    indexed_->PutEntry(&batch, KeyOf(key), entry);
    EXPECT_TRUE(db_->Write({}, &batch).ok());
  }

  // What they say; nullopt: nothing.
  std::optional<std::string> Pair(std::string_view key) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, family().handle(), key, &value);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    if (!status.ok()) return std::nullopt;
    return value;
  }
  std::optional<StoredEntry> Entry(std::string_view key) {
    StoredEntry entry;
    const rocksdb::Status status = indexed_->reader().Get(KeyOf(key), &entry);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    if (!status.ok()) return std::nullopt;
    return entry;
  }

 private:
  const TemporaryDirectory directory_;
  WrongClock clock_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  std::unique_ptr<IndexedDB> indexed_;
  FamiliesInUse families_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_STORE_UPKEEP_ONE_FAMILY_H_
