// Calls that change data, and that not every version of RocksDB has: refused by
// name on a replicated family, RocksDB's own on any other, and then not taken
// for somebody else's.

#include "rocksync/version_specific_db.h"

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;

class VersionSpecificDBTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    replication_.families = {"default"};
    ASSERT_ROCKS_OK(Open());
    ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "local", &local_));
    ASSERT_ROCKS_OK(Put("replicated", "value"));
  }
  void TearDown() override {
    if (db_ != nullptr && local_ != nullptr) {
      EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(local_));
    }
    StoreTest::TearDown();
  }
  ColumnFamilyHandle* Replicated() { return db_->DefaultColumnFamily(); }

  std::string SstFile(const std::string& key) {
    const std::string path = root_ / (key + ".sst");
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_ROCKS_OK(writer.Open(path));
    EXPECT_ROCKS_OK(writer.Put(key, "ingested"));
    EXPECT_ROCKS_OK(writer.Finish());
    return path;
  }
  std::string GetLocal(const std::string& key) {
    std::string value;
    const Status status = db_->Get({}, local_, key, &value);
    return status.ok() ? value : status.ToString();
  }

  // `call` on the replicated family is refused with its name and `remedy`.
  static void ExpectRefused(const Status& status, const std::string& call,
                            const std::string& remedy) {
    EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
    EXPECT_NE(status.ToString().find(call), std::string::npos)
        << status.ToString();
    EXPECT_NE(status.ToString().find(remedy), std::string::npos)
        << status.ToString();
  }
  // Nothing that was done so far looks like a foreign write, and
  // nothing has changed in the replicated family.
  void ExpectOurs() {
    EXPECT_TRUE(StoreAccess::NewView(db_.get())->TakeSnapshot({}).ok());
    EXPECT_EQ(db_->GetIndexStats().foreign_writes, 0u);
    EXPECT_EQ(Total().count, 1u);
    EXPECT_EQ(Get("replicated"), "value");
  }

  ColumnFamilyHandle* local_ = nullptr;
};

TEST_F(VersionSpecificDBTest, NoFileIsDeleted) {
  ExpectRefused(db_->DeleteFile("000001.sst"), "DeleteFile 000001.sst",
                "DeleteRange");
  ExpectRefused(db_->DEPRECATED_DeleteFile("000001.sst"),
                "DeleteFile 000001.sst", "DeleteRange");
}

TEST_F(VersionSpecificDBTest, ByTheBaseClass) {
  rocksdb::DB* const db = db_.get();
  ExpectRefused(db->Merge({}, Replicated(), "key", "12345678", "v"), "Merge",
                "without");
  ExpectRefused(db->DeleteRange({}, Replicated(), "a", "z", "12345678"),
                "DeleteRange", "without");
  ExpectOurs();
}

// Of what Open refuses, versions before 11 let nothing be changed by it.
// RocksDB parses options of a table into the table factory that it is given.
TEST_F(VersionSpecificDBTest, RefusedOptionsOfATableAreNotSet) {
  const auto* const table =
      db_->GetOptions(Replicated())
          .table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  const uint64_t block_size = table->block_size;
  for (const char* refused :
       {"{block_size=12345;data_block_index_type=kDataBlockBinaryAndHash;"
        "data_block_hash_table_util_ratio=0}",
        "{block_size=12345;nonsense=1}"}) {
    EXPECT_FALSE(
        db_->SetOptions(Replicated(), {{"block_based_table_factory", refused}})
            .ok());
    EXPECT_EQ(db_->GetOptions(Replicated())
                  .table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
                  ->block_size,
              block_size);
  }
  // By their names alone they go into the factory that is there.
  EXPECT_FALSE(
      db_->SetOptions(
             Replicated(),
             {{"block_based_table_factory.block_size", "12345"},
              {"block_based_table_factory.data_block_index_type",
               "kDataBlockBinaryAndHash"},
              {"block_based_table_factory.data_block_hash_table_util_ratio",
               "0"}})
          .ok());
  EXPECT_EQ(db_->GetOptions(Replicated())
                .table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
                ->block_size,
            block_size);
  ASSERT_ROCKS_OK(db_->SetOptions(
      Replicated(), {{"block_based_table_factory", "{block_size=12345}"}}));
  EXPECT_EQ(db_->GetOptions(Replicated())
                .table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()
                ->block_size,
            12345u);
}

TEST_F(VersionSpecificDBTest, SetOptions) {
  using Options = std::unordered_map<std::string, std::string>;
  const Options harmless = {{"write_buffer_size", "1000000"}};
  ASSERT_ROCKS_OK(db_->SetOptions(Replicated(), harmless));
  ASSERT_ROCKS_OK(
      db_->SetOptions({{Replicated(), harmless}, {local_, harmless}}));
  EXPECT_EQ(db_->GetOptions(Replicated()).write_buffer_size, 1'000'000u);
  EXPECT_EQ(db_->GetOptions(local_).write_buffer_size, 1'000'000u);
  const Options plain = {{"table_factory", "PlainTable"}};
  const Status one = db_->SetOptions(Replicated(), plain);
  EXPECT_NE(one.ToString().find("table_factory PlainTable"), std::string::npos)
      << one.ToString();
  EXPECT_FALSE(
      db_->SetOptions({{local_, harmless}, {Replicated(), plain}}).ok());
  EXPECT_FALSE(db_->SetOptions(Replicated(), {{"nonsense", "1"}}).ok());
  // Options of a table that Open would refuse.
  const Status no_ratio = db_->SetOptions(
      Replicated(), {{"block_based_table_factory",
                      "{data_block_index_type=kDataBlockBinaryAndHash;"
                      "data_block_hash_table_util_ratio=0}"}});
  EXPECT_NE(no_ratio.ToString().find("should be greater than 0"),
            std::string::npos)
      << no_ratio.ToString();
  EXPECT_TRUE(db_->SetOptions(nullptr, harmless).IsInvalidArgument());
  ASSERT_ROCKS_OK(Put("after", "value"));
}

// Of a family that is not replicated: with all versions the reads are RocksDB's
// own.
TEST_F(VersionSpecificDBTest, ReadsWithTimestamps) {
  rocksdb::ColumnFamilyOptions stamped;
  ASSERT_ROCKS_OK(rocksdb::Comparator::CreateFromString(
      {}, "leveldb.BytewiseComparator.u64ts", &stamped.comparator));
  ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(stamped, "stamped", &family));
  const std::string stamp(8, 's');
  ASSERT_ROCKS_OK(db_->Put({}, family, "a", stamp, "1"));
  ASSERT_ROCKS_OK(db_->Put({}, family, "b", stamp, "2"));
  rocksdb::DB* const db = db_.get();
  rocksdb::ReadOptions options;
  const std::string latest(8, '\xff');
  const Slice until(latest);
  options.timestamp = &until;

  std::string value;
  std::string timestamp;
  ASSERT_ROCKS_OK(db->Get(options, family, "a", &value, &timestamp));
  EXPECT_EQ(value, "1");
  EXPECT_EQ(timestamp, stamp);
  bool found = false;
  EXPECT_TRUE(
      db->KeyMayExist(options, family, "a", &value, &timestamp, &found));
  EXPECT_TRUE(found);

  std::vector<std::string> values;
  std::vector<std::string> timestamps;
  for (const Status& status : db->MultiGet(options, {family, family},
                                           {"a", "b"}, &values, &timestamps)) {
    EXPECT_ROCKS_OK(status);
  }
  EXPECT_EQ(values, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(timestamps, (std::vector<std::string>{stamp, stamp}));

  const Slice keys[] = {"a", "b"};
  ColumnFamilyHandle* families[] = {family, family};
  for (const bool by_families : {false, true}) {
    rocksdb::PinnableSlice pinned[2];
    std::string stamps[2];
    Status statuses[2];
    if (by_families) {
      db->MultiGet(options, 2, families, keys, pinned, stamps, statuses);
    } else {
      db->MultiGet(options, family, 2, keys, pinned, stamps, statuses);
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_ROCKS_OK(statuses[i]);
      EXPECT_EQ(pinned[i], std::to_string(i + 1));
      EXPECT_EQ(stamps[i], stamp);
    }
  }
  rocksdb::PinnableSlice pinned[2];
  Status statuses[2];
  db->MultiGet(options, 2, families, keys, pinned, statuses);
  EXPECT_EQ(pinned[1], "2");
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  ExpectOurs();
}

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 3)
TEST_F(VersionSpecificDBTest, ClipColumnFamily) {
  ExpectRefused(db_->ClipColumnFamily(Replicated(), "a", "b"),
                "ClipColumnFamily", "DeleteRangeInChunks");
  for (const char* key : {"a", "k", "z"}) {
    ASSERT_ROCKS_OK(db_->Put({}, local_, key, "v"));
  }
  ASSERT_ROCKS_OK(db_->ClipColumnFamily(local_, "b", "m"));
  EXPECT_EQ(GetLocal("a"), "NotFound: ");
  EXPECT_EQ(GetLocal("k"), "v");
  EXPECT_EQ(GetLocal("z"), "NotFound: ");
  ExpectOurs();
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 4)
TEST_F(VersionSpecificDBTest, CreateColumnFamilyWithImport) {
  // Two exports without a key in common.
  std::vector<rocksdb::ExportImportFilesMetaData*> exports;
  rocksdb::Checkpoint* raw = nullptr;
  ASSERT_ROCKS_OK(rocksdb::Checkpoint::Create(db_->GetRootDB(), &raw));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  for (const char* name : {"first", "second"}) {
    ColumnFamilyHandle* family = nullptr;
    ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, name, &family));
    ASSERT_ROCKS_OK(db_->Put({}, family, name, "exported"));
    rocksdb::ExportImportFilesMetaData* metadata = nullptr;
    ASSERT_ROCKS_OK(checkpoint->ExportColumnFamily(
        family, root_ / (std::string("of ") + name), &metadata));
    exports.push_back(metadata);
    ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  }
  const std::vector<const rocksdb::ExportImportFilesMetaData*> both(
      exports.begin(), exports.end());
  ColumnFamilyHandle* handle = Replicated();
  ColumnFamilyHandle* imported = nullptr;
  EXPECT_ROCKS_OK(
      db_->CreateColumnFamilyWithImport({}, "imported", {}, both, &imported));
  ASSERT_NE(imported, nullptr);
  std::string value;
  for (const char* key : {"first", "second"}) {
    EXPECT_ROCKS_OK(db_->Get({}, imported, key, &value));
  }
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(imported));
  ExpectOurs();

  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(local_));
  local_ = nullptr;
  replication_.families = {};  // all
  ASSERT_ROCKS_OK(Open("other"));
  ExpectRefused(db_->CreateColumnFamilyWithImport({}, "new", {}, both, &handle),
                "CreateColumnFamilyWithImport", "Put its pairs");
  EXPECT_EQ(handle, nullptr);
  for (rocksdb::ExportImportFilesMetaData* metadata : exports) delete metadata;
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(8, 9)
TEST_F(VersionSpecificDBTest, PutEntityWithAttributeGroups) {
  const rocksdb::WideColumns columns = {{"", "default"}, {"city", "Jena"}};
  ExpectRefused(
      db_->PutEntity({}, "key",
                     {rocksdb::AttributeGroup(local_, columns),
                      rocksdb::AttributeGroup(Replicated(), columns)}),
      "PutEntity", "use Put");
  EXPECT_EQ(GetLocal("key"), "NotFound: ");
  ASSERT_ROCKS_OK(db_->PutEntity(
      {}, "key",
      rocksdb::AttributeGroups{rocksdb::AttributeGroup(local_, columns)}));
  EXPECT_EQ(GetLocal("key"), "default");
  ExpectOurs();
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 1)
TEST_F(VersionSpecificDBTest, TimedPut) {
  rocksdb::WriteBatch refused;
  ASSERT_ROCKS_OK(refused.Put("another", "value"));
  ASSERT_ROCKS_OK(refused.TimedPut(Replicated(), "key", "value", 1));
  ExpectRefused(db_->Write({}, &refused), "TimedPut", "use Put");
  rocksdb::WriteBatch passes;
  ASSERT_ROCKS_OK(passes.TimedPut(local_, "key", "timed", 1));
  ASSERT_ROCKS_OK(db_->Write({}, &passes));
  EXPECT_EQ(GetLocal("key"), "timed");
  ExpectOurs();
}
#endif

TEST_F(VersionSpecificDBTest, WritesPastWrite) {
  rocksdb::WriteBatch batch;
  ASSERT_ROCKS_OK(batch.Put("another", "value"));
  ExpectRefused(db_->WriteWithCallback({}, &batch, nullptr),
                "WriteWithCallback", "Update");
  ExpectRefused(db_->IngestWriteBatchWithIndex({}, nullptr),
                "IngestWriteBatchWithIndex", "GetWriteBatch");
  ExpectOurs();
}

#if ROCKSYNC_ROCKSDB_AT_LEAST(10, 8)
TEST_F(VersionSpecificDBTest, FlushWALWithOptions) {
  rocksdb::FlushWALOptions options;
  options.sync = true;
  ASSERT_ROCKS_OK(db_->FlushWAL(options));
  ExpectOurs();
}
#endif

#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 5)
TEST_F(VersionSpecificDBTest, PreparedIngestion) {
  std::unique_ptr<rocksdb::FileIngestionHandle> handle;
  ExpectRefused(
      db_->PrepareFileIngestion(Replicated(), {SstFile("a")}, {}, &handle),
      "PrepareFileIngestion", "SstFileReader");
  EXPECT_EQ(handle, nullptr);
  ASSERT_ROCKS_OK(
      db_->PrepareFileIngestion(local_, {SstFile("b")}, {}, &handle));
  ASSERT_ROCKS_OK(db_->CommitFileIngestionHandle(std::move(handle)));
  EXPECT_EQ(GetLocal("b"), "ingested");
  ExpectOurs();
}
#endif

}  // namespace
}  // namespace rocksync
