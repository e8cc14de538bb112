// A family that stops being replicated, or is not there any more: what the
// index knows of it is not thrown away by omission.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class FamiliesLeftOutTest : public StoreTest {
 protected:
  using Names = std::vector<std::string>;

  void TearDown() override {
    Close();
    StoreTest::TearDown();
  }

  rocksdb::Status OpenFamilies(const Names& there, const Names& replicated) {
    Close();
    replication_.families = replicated;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : there) {
      families.push_back({name, rocksdb::ColumnFamilyOptions(options_)});
    }
    ReplicatedDB* raw = nullptr;
    rocksdb::DBOptions options(options_);
    options.create_missing_column_families = true;
    const rocksdb::Status status = ReplicatedDB::Open(
        options, replication_, Dir(), families, &handles_, &raw);
    db_.reset(raw);
    if (db_ != nullptr) db_->WaitForIndexBuild(60000).PermitUncheckedError();
    return status;
  }
  void Close() {
    for (auto* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    handles_.clear();
    db_.reset();
  }
  // The version of a key in the second family.
  std::optional<IndexEntry> Find(const std::string& key) {
    const auto view = StoreAccess::NewView(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    if (!snapshot.ok()) return std::nullopt;
    const auto found = (*snapshot)->FindKey(1, key);
    EXPECT_TRUE(found.ok());
    return found.ok() ? *found : std::nullopt;
  }
  using Handles = std::vector<rocksdb::ColumnFamilyHandle*>;
  // Without rocksync; the index is the last.
  void WithIndex(
      const std::function<void(rocksdb::DB*, const Handles&)>& work) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    std::vector<std::string> names;
    ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir(), &names));
    for (const std::string& name : names) {
      if (name != kIndexFamilyName) families.push_back({name, {}});
    }
    families.push_back({kIndexFamilyName, {}});
    Handles handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_ROCKS_OK(OpenPlain({}, Dir(), families, &handles, &raw));
    work(raw, handles);
    for (auto* handle : handles) {
      ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
    }
    delete raw;
  }
  // As DropColumnFamily leaves the records before RocksDB's own drop, and, if
  // `dropped`, that done.
  void SetDropping(uint32_t id, bool dropped) {
    WithIndex([&](rocksdb::DB* db, const Handles& handles) {
      std::string bytes;
      const std::string key = MetaKey(kFamiliesRecord);
      ASSERT_ROCKS_OK(db->Get({}, handles.back(), key, &bytes));
      std::vector<FamilyRecord> records;
      ASSERT_TRUE(Decode(bytes, &records));
      for (FamilyRecord& record : records)
        record.may_be_absent = record.id == id;
      ASSERT_ROCKS_OK(db->Put({}, handles.back(), key, Encode(records)));
      if (dropped) {
        ASSERT_ROCKS_OK(db->DropColumnFamily(handles[1]));
      }
    });
  }
  void ExpectRefused(const rocksdb::Status& status, const std::string& family) {
    ASSERT_FALSE(status.ok());
    for (const std::string& part :
         {family, std::string("discard_history_of")}) {
      EXPECT_NE(status.ToString().find(part), std::string::npos)
          << status.ToString();
    }
  }

  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

TEST_F(FamiliesLeftOutTest, LeftOutOfTheList) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {"default", "orders"}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  ASSERT_ROCKS_OK(db_->Delete({}, handles_[1], "gone"));
  const auto before = Find("k");
  ExpectRefused(OpenFamilies({"default", "orders"}, {"default"}), "orders");
  // Nothing was lost by the attempt.
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {"default", "orders"}));
  const auto after = Find("k");
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ(after->version, before->version);
  ASSERT_TRUE(Find("gone").has_value());
  EXPECT_TRUE(Find("gone")->tombstone);
}

TEST_F(FamiliesLeftOutTest, DroppedByARocksDBProgram) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  Close();
  rocksdb::DB* raw = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(
      {}, Dir(), {{"default", {}}, {"orders", {}}, {kIndexFamilyName, {}}},
      &handles_, &raw));
  ASSERT_ROCKS_OK(raw->DropColumnFamily(handles_[1]));
  for (auto* handle : handles_) {
    ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
  }
  handles_.clear();
  delete raw;
  ExpectRefused(OpenFamilies({"default"}, {}), "orders");
  // Made anew under the same name, it is another family.
  ExpectRefused(OpenFamilies({"default", "orders"}, {}), "orders");
  replication_.discard_history_of = {"orders"};
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  replication_.discard_history_of.clear();
  EXPECT_FALSE(Find("k").has_value());
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
}

TEST_F(FamiliesLeftOutTest, LeftOutWhenToldTo) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  replication_.discard_history_of = {"orders"};
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {"default"}));
  EXPECT_EQ(db_->ReplicatedFamilies(), Names{"default"});
  replication_.discard_history_of.clear();
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {"default"}));
  std::string value;
  ASSERT_ROCKS_OK(db_->Get({}, handles_[1], "k", &value));
  EXPECT_EQ(value, "v");
  // Listed again it is adopted, as any family that was not replicated.
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_TRUE(Find("k").has_value());
  EXPECT_EQ(Find("k")->version, Version{});
}

TEST_F(FamiliesLeftOutTest, DroppedByTheLibraryAtWhateverMomentItWasKilled) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(handles_[1]));
  ASSERT_ROCKS_OK(OpenFamilies({"default"}, {}));
  // Made anew, it is new.
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  // Killed after RocksDB's drop: the library noted before that it comes.
  const uint32_t id = handles_[1]->GetID();
  Close();
  SetDropping(id, true);
  ASSERT_ROCKS_OK(OpenFamilies({"default"}, {}));
  // Killed before it.
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "k", "v"));
  const uint32_t again = handles_[1]->GetID();
  Close();
  SetDropping(again, false);
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_TRUE(Find("k").has_value());
  EXPECT_NE(Find("k")->version, Version{});
  // And once it is open that is over.
  Close();
  WithIndex([](rocksdb::DB* db, const Handles& handles) {
    ASSERT_ROCKS_OK(db->DropColumnFamily(handles[1]));
  });
  ExpectRefused(OpenFamilies({"default"}, {}), "orders");
}

// All that the index knew of a family is gone: not to be taken for corruption.
TEST_F(FamiliesLeftOutTest, OpenButWithoutEntries) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  for (int i = 0; i < 20; ++i) {
    ASSERT_ROCKS_OK(db_->Put({}, handles_[0], "a" + std::to_string(i), "v"));
    ASSERT_ROCKS_OK(db_->Put({}, handles_[1], "b" + std::to_string(i), "v"));
  }
  const uint32_t id = handles_[1]->GetID();
  Close();
  // In one batch with a new seal, as if nobody else had written.
  WithIndex([&](rocksdb::DB* db, const Handles& handles) {
    rocksdb::WriteBatch batch;
    const std::unique_ptr<rocksdb::Iterator> it(
        db->NewIterator({}, handles.back()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      IndexKey key;
      if (ParseIndexKey(it->key().ToStringView(), &key) &&
          key.family_id == id) {
        ASSERT_ROCKS_OK(batch.Delete(handles.back(), it->key()));
      }
    }
    ASSERT_EQ(batch.Count(), 20u);
    const uint64_t sealed = db->GetLatestSequenceNumber() + 21;
    std::string bytes;
    SealRecord seal;
    ASSERT_ROCKS_OK(db->Get({}, handles.back(), MetaKey(kSealRecord), &bytes));
    ASSERT_TRUE(Decode(bytes, &seal));
    seal.sequence = sealed;
    seal.has_digests = false;
    ASSERT_ROCKS_OK(
        batch.Put(handles.back(), MetaKey(kSealRecord), Encode(seal)));
    ASSERT_ROCKS_OK(db->Write({}, &batch));
  });
  ExpectRefused(OpenFamilies({"default", "orders"}, {}), "orders");
  replication_.discard_history_of = {"orders"};
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {}));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  ASSERT_TRUE(Find("b3").has_value());
  EXPECT_EQ(Find("b3")->version, Version{});
}

TEST_F(FamiliesLeftOutTest, ANameThatNoFamilyHasIsWarnedOf) {
  ASSERT_ROCKS_OK(OpenFamilies({"default", "orders"}, {"order", "default"}));
  const std::string log = InfoLog();
  EXPECT_NE(log.find("[WARN] rocksync: ReplicatedDBOptions::families names "
                     "'order'"),
            std::string::npos);
  EXPECT_EQ(log.find("names 'default'"), std::string::npos);
  EXPECT_EQ(db_->ReplicatedFamilies(), Names{"default"});
}

TEST_F(FamiliesLeftOutTest, NoneIsMadeWithoutAName) {
  ASSERT_ROCKS_OK(OpenFamilies({"default"}, {}));
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  const rocksdb::Status status = db_->CreateColumnFamily({}, "", &handle);
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_EQ(handle, nullptr);
}

}  // namespace
}  // namespace rocksync
