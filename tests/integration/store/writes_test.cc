// What the application writes, and that the index follows.

#include <cctype>
#include <map>
#include <random>

#include "rocksdb/compaction_filter.h"
#include "rocksdb/comparator.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "rocksdb/wal_filter.h"
#include "tests/integration/store/read_log.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/append_operator.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class Timestamped final : public rocksdb::Comparator {
 public:
  Timestamped() : Comparator(8) {}
  const char* Name() const override { return "Timestamped"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// "A" and "a" are one key.
class IgnoringCase final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "IgnoringCase"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return Lower(a).compare(Lower(b));
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string Lower(const rocksdb::Slice& key) {
    std::string lower = key.ToString();
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    return lower;
  }
};

// The same promise is made in the comparator itself.
class TellingAllApart final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "TellingAllApart"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return -a.compare(b);
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override {
    return false;
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class KeepAll final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "KeepAll"; }
};

class KeepWal final : public rocksdb::WalFilter {
 public:
  const char* Name() const override { return "KeepWal"; }
};

class WritesTest : public StoreTest {};

TEST_F(WritesTest, PutDeleteAndReopen) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("a", "1"));
  ASSERT_ROCKS_OK(Put("b", "2"));
  ASSERT_ROCKS_OK(Put("a", "3"));
  ASSERT_ROCKS_OK(db_->Delete({}, "b"));
  ASSERT_ROCKS_OK(db_->SingleDelete({}, "never"));
  EXPECT_EQ(Get("a"), "3");
  EXPECT_EQ(Get("b"), "-");
  EXPECT_EQ(Total().count, 3u);
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.pairs, 1u);
  EXPECT_EQ(result.tombstones, 2u);
  EXPECT_EQ(result.pending, 0u) << "the flush completes hashes";
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("a"), "3");
  EXPECT_EQ(Total(), result.digest);
  // A clean close leaves digests that need no scan.
  EXPECT_EQ(db_->GetIndexStats().digest_rescans, 0u);
}

// As RocksDB does it. Of a merge that it cannot apply, once it is in a batch,
// it would take no writes any more.
TEST_F(WritesTest, AMergeWithoutAnOperatorIsRefusedAndHarmsNothing) {
  replication_.families = {"default"};
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* local = nullptr;
  rocksdb::ColumnFamilyHandle* merged = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "local", &local));
  rocksdb::ColumnFamilyOptions merging;
  merging.merge_operator = std::make_shared<AppendOperator>();
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(merging, "merged", &merged));
  EXPECT_FALSE(db_->Merge({}, local, "k", "v").ok());
  EXPECT_FALSE(db_->Merge({}, db_->DefaultColumnFamily(), "k", "v").ok());
  rocksdb::WriteBatch batch;
  batch.Put("half", "v");
  batch.Merge(local, "k", "v");
  EXPECT_TRUE(db_->Write({}, &batch).IsNotSupported());
  EXPECT_EQ(Get("half"), "-");
  batch.Clear();
  batch.Merge(merged, "k", "1");
  ASSERT_ROCKS_OK(db_->Write({}, &batch));
  ASSERT_ROCKS_OK(db_->Merge({}, merged, "k", "2"));
  std::string value;
  ASSERT_ROCKS_OK(db_->Get({}, merged, "k", &value));
  EXPECT_EQ(value, "12");
  // The check opens the database without merge operators.
  ASSERT_ROCKS_OK(db_->Flush({}, merged));
  ASSERT_ROCKS_OK(db_->Put({}, local, "k", "v"));
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(local));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(merged));
  CloseAndCheck();
}

TEST_F(WritesTest, BatchesApplyInOrderAndStayUnaltered) {
  options_.merge_operator = std::make_shared<AppendOperator>();
  replication_.merge_families = {"default"};
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("r1", "x"));
  ASSERT_ROCKS_OK(Put("r2", "x"));
  rocksdb::WriteBatch batch;
  batch.Put("k", "1");
  batch.Delete("k");
  batch.Put("k", "2");
  batch.Merge("k", "3");
  batch.Merge("m", "new");
  batch.SingleDelete("r1");
  batch.Put("r1", "again");
  batch.Put("r3", "mine");
  batch.DeleteRange("r1", "r9");
  batch.Merge("r2", "after");
  const std::string before = batch.Data();
  ASSERT_ROCKS_OK(db_->Write({}, &batch));
  EXPECT_EQ(batch.Data(), before);
  EXPECT_EQ(Get("k"), "23");
  EXPECT_EQ(Get("m"), "new");
  EXPECT_EQ(Get("r1"), "-");
  EXPECT_EQ(Get("r2"), "after");
  EXPECT_EQ(Get("r3"), "-");
  ASSERT_ROCKS_OK(db_->Merge({}, "k", "4"));
  EXPECT_EQ(Get("k"), "234");
  CloseAndCheck();
}

// Of keys that are there, and of keys that its own batch puts.
// A batch of one operation is written without a copy of it, unless there is
// something else in it.
TEST_F(WritesTest, BatchesOfOneOperation) {
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* orders = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "orders", &orders));
  const uint64_t from = db_->GetLatestSequenceNumber() + 1;
  for (auto* family : {db_->DefaultColumnFamily(), orders}) {
    for (const size_t size : {0, 1, 127, 128, 16383, 16384}) {
      const std::string key = "key" + std::string(size, 'k');
      for (const bool comment : {false, true}) {
        rocksdb::WriteBatch put;
        if (comment) ASSERT_ROCKS_OK(put.PutLogData("before"));
        ASSERT_ROCKS_OK(put.Put(family, key, std::string(size, 'v')));
        if (comment) ASSERT_ROCKS_OK(put.PutLogData("after"));
        ASSERT_ROCKS_OK(db_->Write({}, &put));
        std::string value;
        ASSERT_ROCKS_OK(db_->Get({}, family, key, &value));
        EXPECT_EQ(value, std::string(size, 'v'));
      }
      if (size < 128) continue;
      rocksdb::WriteBatch removed;
      ASSERT_ROCKS_OK(removed.Delete(family, key));
      ASSERT_ROCKS_OK(db_->Write({}, &removed));
      std::string value;
      EXPECT_TRUE(db_->Get({}, family, key, &value).IsNotFound());
    }
  }
  struct Comments final : rocksdb::WriteBatch::Handler {
    using Handler::LogData;
    rocksdb::Status PutCF(uint32_t, const rocksdb::Slice&,
                          const rocksdb::Slice&) override {
      return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteCF(uint32_t, const rocksdb::Slice&) override {
      return rocksdb::Status::OK();
    }
    void LogData(const rocksdb::Slice& blob) override {
      ++seen[blob.ToString()];
    }
    std::map<std::string, int> seen;
  } comments;
  ASSERT_ROCKS_OK(ReadLog(db_.get(), from, &comments));
  EXPECT_EQ(comments.seen,
            (std::map<std::string, int>{{"after", 12}, {"before", 12}}));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(orders));
  CloseAndCheck();
}

// A TransactionDB's, as its log has them.
TEST_F(WritesTest, BatchesOfTwoPhaseCommitsAreRefused) {
  ASSERT_ROCKS_OK(Open());
  rocksdb::WriteBatch plain;
  ASSERT_ROCKS_OK(plain.Put("key", "value"));
  constexpr size_t kHeader = 12;
  std::string prepared = plain.Data();
  prepared.insert(kHeader, "\x09");  // kTypeBeginPrepareXID
  prepared += "\x0a\x01x";           // kTypeEndPrepareXID
  for (const std::string& bytes :
       {prepared, rocksdb::WriteBatch().Data() + "\x0b\x01x",
        plain.Data() + "\x0b\x01x",     // kTypeCommitXID
        plain.Data() + "\x0c\x01x"}) {  // kTypeRollbackXID
    rocksdb::WriteBatch marked(bytes);
    const rocksdb::Status status = db_->Write({}, &marked);
    EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  }
  EXPECT_EQ(Get("key"), "-");
  CloseAndCheck();
}

TEST_F(WritesTest, ARangeEndsBeforeItsEnd) {
  ASSERT_ROCKS_OK(Open());
  for (const char* key : {"a", "b", "c"}) ASSERT_ROCKS_OK(Put(key, "before"));
  rocksdb::WriteBatch batch;
  for (const char* key : {"a2", "b2", "c2"}) batch.Put(key, "batch");
  batch.DeleteRange("a", "c");
  batch.DeleteRange("b2", "c2");
  ASSERT_ROCKS_OK(db_->Write({}, &batch));
  for (const char* key : {"a", "a2", "b", "b2", "c"}) {
    EXPECT_EQ(Get(key), "-") << key;
  }
  EXPECT_EQ(Get("c2"), "batch");
  CloseAndCheck();
}

TEST_F(WritesTest, RangesAreLimitedAndChunked) {
  replication_.max_delete_range_keys = 10;
  ASSERT_ROCKS_OK(Open());
  for (int i = 10; i < 45; ++i) ASSERT_ROCKS_OK(Put(std::to_string(i), "v"));
  const auto family = db_->DefaultColumnFamily();
  const rocksdb::Status refused = db_->DeleteRange({}, family, "10", "30");
  EXPECT_TRUE(refused.IsInvalidArgument()) << refused.ToString();
  EXPECT_NE(refused.ToString().find("DeleteRangeInChunks"), std::string::npos);
  ASSERT_ROCKS_OK(db_->DeleteRange({}, family, "10", "20"));
  EXPECT_EQ(Get("10"), "-");
  EXPECT_EQ(Get("20"), "v");
  uint64_t deleted = 0;
  ASSERT_ROCKS_OK(db_->DeleteRangeInChunks({}, family, "20", "44", &deleted));
  EXPECT_EQ(deleted, 24u);
  EXPECT_EQ(Get("44"), "v");
  ScanResult result;
  CloseAndCheck(&result);
  EXPECT_EQ(result.pairs, 1u);
  EXPECT_EQ(result.tombstones, 34u);
}

TEST_F(WritesTest, NoRangeOfADroppedFamilyIsDeleted) {
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(other));
  uint64_t deleted = 0;
  EXPECT_TRUE(db_->DeleteRangeInChunks({}, other, "a", "z", &deleted)
                  .IsInvalidArgument());
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
}

// Random writes, snapshots in between: what is added up from differences must
// be what a scan of everything gives.
TEST_F(WritesTest, DigestsFollowRandomWrites) {
  options_.write_buffer_size = 64 << 10;
  replication_.index_write_buffer_bytes = 64 << 10;
  ASSERT_ROCKS_OK(Open());
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) {
      const std::string key = "key" + std::to_string(random() % 3000);
      if (random() % 4 == 0) {
        ASSERT_ROCKS_OK(db_->Delete({}, key));
      } else if (random() % 8 == 0) {
        rocksdb::WriteBatch batch;
        batch.Put(key, "batch");
        batch.Put(key + "'", std::to_string(random()));
        ASSERT_ROCKS_OK(db_->Write({}, &batch));
      } else {
        ASSERT_ROCKS_OK(Put(key, std::to_string(random())));
      }
    }
    const auto view = StoreAccess::NewView(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    std::vector<Digest> scanned(kLeafCount);
    for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
      if (round % 10 != 9 && (*snapshot)->LeafDigests()[leaf].count == 0) {
        continue;
      }
      ASSERT_TRUE((*snapshot)
                      ->ScanLeaf(leaf,
                                 [&](uint64_t position, const ElementHash& h) {
                                   EXPECT_EQ(LeafOf(position), leaf);
                                   scanned[leaf].Add(h);
                                 })
                      .ok());
      ASSERT_EQ(scanned[leaf], (*snapshot)->LeafDigests()[leaf]) << leaf;
    }
  }
  EXPECT_EQ(db_->GetIndexStats().digest_rescans, 0u);
  CloseAndCheck();
}

// Readying digests after w writes costs O(w) reads, not O(n).
TEST_F(WritesTest, ScatteredOverwritesDoNotReadTheWholeIndex) {
  constexpr uint64_t kPairs = 100000;
  constexpr uint64_t kOverwrites = 1000;
  ASSERT_ROCKS_OK(Open());
  rocksdb::WriteBatch batch;
  for (uint64_t i = 0; i < kPairs; ++i) {
    batch.Put("key" + std::to_string(i), "value");
    if (i % 1000 == 999) {
      ASSERT_ROCKS_OK(db_->Write({}, &batch));
      batch.Clear();
    }
  }
  EXPECT_EQ(Total().count, kPairs);
  ASSERT_ROCKS_OK(db_->Flush({}));
  const IndexStats before = db_->GetIndexStats();
  for (uint64_t i = 0; i < kOverwrites; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i * 97), "other"));
  }
  EXPECT_EQ(Total().count, kPairs);
  const IndexStats after = db_->GetIndexStats();
  EXPECT_EQ(after.digest_rescans, before.digest_rescans);
  EXPECT_LE(after.digest_entries_read - before.digest_entries_read,
            4 * kOverwrites);
  CloseAndCheck();
}

TEST_F(WritesTest, SnapshotAnswersByElementAndByKey) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("live", "value"));
  ASSERT_ROCKS_OK(db_->Delete({}, "dead"));
  const auto view = StoreAccess::NewView(db_.get());
  EXPECT_EQ(view->FamilyCount(), 1u);
  const auto snapshot = view->TakeSnapshot({});
  ASSERT_TRUE(snapshot.ok());
  ASSERT_ROCKS_OK(Put("live", "later"));
  const auto live = (*snapshot)->FindKey(0, "live");
  ASSERT_TRUE(live.ok() && live->has_value());
  EXPECT_FALSE((*live)->tombstone);
  EXPECT_EQ((*snapshot)->ReadValue(**live).value(), "value");
  const auto found =
      (*snapshot)->FindElement(view->PositionOf(0, "live"), (*live)->hash);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->key, "live");
  EXPECT_EQ(found->version, (*live)->version);
  EXPECT_EQ(view->HashOf({0, "live", (*live)->version, false, "value"}),
            (*live)->hash);
  const auto dead = (*snapshot)->FindKey(0, "dead");
  ASSERT_TRUE(dead.ok() && dead->has_value());
  EXPECT_TRUE((*dead)->tombstone);
  EXPECT_FALSE((*snapshot)->FindKey(0, "none")->has_value());
  EXPECT_TRUE(absl::IsNotFound(
      (*snapshot)->FindElement(view->PositionOf(0, "live"), {1, 2}).status()));
}

TEST_F(WritesTest, FamiliesComeAndGo) {
  replication_.families = {"default", "second"};
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* second = nullptr;
  rocksdb::ColumnFamilyHandle* local = nullptr;
  const auto old_view = StoreAccess::NewView(db_.get());
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "local", &local));
  EXPECT_FALSE(old_view->stale()) << "it is not replicated";
  EXPECT_TRUE(old_view->TakeSnapshot({}).ok());
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "second", &second));
  EXPECT_TRUE(old_view->stale());
  EXPECT_EQ(db_->ReplicatedFamilies(),
            (std::vector<std::string>{"default", "second"}));
  EXPECT_TRUE(absl::IsUnavailable(old_view->TakeSnapshot({}).status()));
  rocksdb::WriteOptions no_wal;
  no_wal.disableWAL = true;
  EXPECT_TRUE(db_->Put(no_wal, second, "k", "v").IsNotSupported());
  ASSERT_ROCKS_OK(db_->Put(no_wal, local, "k", "v"));
  rocksdb::WriteBatch batch;
  batch.Put("k", "default");
  batch.Put(second, "k", "second");
  batch.SingleDelete(second, "other");
  batch.Put(local, "k2", "local");
  ASSERT_ROCKS_OK(db_->Write({}, &batch));
  EXPECT_EQ(Total().count, 3u);
  ASSERT_ROCKS_OK(db_->DropColumnFamily(second));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(second));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(local));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(10000));
  EXPECT_EQ(db_->ReplicatedFamilies(), (std::vector<std::string>{"default"}));
  EXPECT_EQ(Total().count, 1u);
  CloseAndCheck();
}

TEST_F(WritesTest, DisabledWalIsRefusedByEveryCall) {
  ASSERT_ROCKS_OK(Open());
  rocksdb::WriteOptions no_wal;
  no_wal.disableWAL = true;
  rocksdb::WriteBatch batch;
  batch.Put("k", "v");
  const auto family = db_->DefaultColumnFamily();
  EXPECT_TRUE(db_->Put(no_wal, "k", "v").IsNotSupported());
  EXPECT_TRUE(db_->Delete(no_wal, "k").IsNotSupported());
  EXPECT_TRUE(db_->SingleDelete(no_wal, "k").IsNotSupported());
  EXPECT_TRUE(db_->Write(no_wal, &batch).IsNotSupported());
  EXPECT_TRUE(db_->DeleteRange(no_wal, family, "a", "z").IsNotSupported());
  EXPECT_TRUE(db_->PutEntity({}, family, "k", {{"a", "b"}}).IsNotSupported());
  EXPECT_TRUE(db_->IngestExternalFile(family, {"x.sst"}, {}).IsNotSupported());
  rocksdb::IngestExternalFileArg file;
  file.column_family = family;
  file.external_files = {"x.sst"};
  EXPECT_TRUE(db_->IngestExternalFiles({file}).IsNotSupported());
  EXPECT_TRUE(db_->DeleteFile("000001.sst").IsNotSupported());
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  EXPECT_TRUE(
      db_->CreateColumnFamilyWithImport(
             {}, "new", {}, rocksdb::ExportImportFilesMetaData(), &handle)
          .IsNotSupported());
  EXPECT_TRUE(db_->Merge({}, "k", "v").IsNotSupported());
  rocksdb::WriteBatch entity;
  entity.PutEntity(family, "k", {{"a", "b"}});
  EXPECT_TRUE(db_->Write({}, &entity).IsNotSupported());
  EXPECT_EQ(Total().count, 0u);
}

class NoCompactor final : public rocksdb::CompactionService {
 public:
  const char* Name() const override { return "test.NoCompactor"; }
};

// Each case is an option that would break a promise; its refusal names it.
TEST_F(WritesTest, OptionsThatCannotWorkAreRefusedAtOpen) {
  struct Case {
    const char* named;
    std::function<void(rocksdb::Options*, ReplicatedDBOptions*)> set;
  };
  static const KeepAll keep_all;
  static const Timestamped timestamped;
  static const IgnoringCase ignoring_case;
  static KeepWal wal_filter;
  const std::vector<Case> cases = {
    {"allow_2pc", [](auto* o, auto*) { o->allow_2pc = true; }},
    {"persist_stats_to_disk",
     [](auto* o, auto*) { o->persist_stats_to_disk = true; }},
    {"apply_write_options.protection_bytes_per_key",
     [](auto*, auto* r) {
       r->apply_write_options.protection_bytes_per_key = 4;
     }},
    {"unordered_write", [](auto* o, auto*) { o->unordered_write = true; }},
#if ROCKSYNC_ROCKSDB_AT_LEAST(11, 9)
    {"enable_blob_direct_write",
     [](auto* o, auto*) { o->enable_blob_direct_write = true; }},
#endif
    {"enable_blob_files with DBOptions::compaction_service",
     [](auto* o, auto*) {
       o->enable_blob_files = true;
       o->compaction_service = std::make_shared<NoCompactor>();
     }},
    {"inplace_update_support",
     [](auto* o, auto*) { o->inplace_update_support = true; }},
    {"FIFO",
     [](auto* o, auto*) {
       o->compaction_style = rocksdb::kCompactionStyleFIFO;
     }},
    {"compaction filter",
     [](auto* o, auto*) { o->compaction_filter = &keep_all; }},
    {"merge operator",
     [](auto* o, auto*) {
       o->merge_operator = std::make_shared<AppendOperator>();
     }},
    {"kSkipAnyCorruptedRecords",
     [](auto* o, auto*) {
       o->wal_recovery_mode =
           rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
     }},
    {"best_efforts_recovery",
     [](auto* o, auto*) { o->best_efforts_recovery = true; }},
    {"paranoid_checks", [](auto* o, auto*) { o->paranoid_checks = false; }},
    {"PlainTable",
     [](auto* o, auto*) {
       o->table_factory.reset(rocksdb::NewPlainTableFactory());
     }},
    {"CuckooTable",
     [](auto* o, auto*) {
       o->table_factory.reset(rocksdb::NewCuckooTableFactory());
     }},
    {"AdaptiveTableFactory",
     [](auto* o, auto*) {
       o->table_factory.reset(rocksdb::NewAdaptiveTableFactory());
     }},
    {"wal_filter", [](auto* o, auto*) { o->wal_filter = &wal_filter; }},
    {"timestamps", [](auto* o, auto*) { o->comparator = &timestamped; }},
    {"comparators_tell_all_bytes_apart",
     [](auto* o, auto*) { o->comparator = &ignoring_case; }},
    {"cluster_secret", [](auto*, auto* r) { r->cluster_secret.fill(0); }},
    {"cluster_name", [](auto*, auto* r) { r->cluster_name.clear(); }},
    {"disableWAL",
     [](auto*, auto* r) { r->apply_write_options.disableWAL = true; }},
    {"max_delete_range_keys",
     [](auto*, auto* r) { r->max_delete_range_keys = 0; }},
  };
  for (const Case& refused : cases) {
    rocksdb::Options options = options_;
    ReplicatedDBOptions replication = replication_;
    refused.set(&options, &replication);
    ReplicatedDB* db = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication, Dir(), &db);
    EXPECT_TRUE(status.IsInvalidArgument()) << refused.named;
    EXPECT_NE(status.ToString().find(refused.named), std::string::npos)
        << status.ToString();
    EXPECT_EQ(db, nullptr);
    EXPECT_FALSE(std::filesystem::exists(Dir())) << "nothing was touched";
  }
}

TEST_F(WritesTest, AComparatorThatTellsAllBytesApartNeedsNoGuarantee) {
  static const TellingAllApart telling;
  options_.comparator = &telling;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("a", "1"));
  ASSERT_ROCKS_OK(Put("A", "2"));
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Total().count, 2u);
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  // The application's word is enough.
  static const IgnoringCase ignoring_case;
  options_.comparator = &ignoring_case;
  replication_.comparators_tell_all_bytes_apart = true;
  ASSERT_ROCKS_OK(Open("other"));
}

TEST_F(WritesTest, WrongClusterSecretAndFormatAreRefused) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  db_.reset();
  replication_.cluster_secret.fill(8);
  const rocksdb::Status secret = Open();
  EXPECT_NE(secret.ToString().find("cluster_secret"), std::string::npos);
  replication_.cluster_secret.fill(7);
  replication_.cluster_name = "other";
  const rocksdb::Status cluster = Open();
  EXPECT_NE(cluster.ToString().find("belongs to cluster 'test'"),
            std::string::npos);
  replication_.cluster_name = "test";
  ASSERT_ROCKS_OK(Open());
  std::unique_ptr<ReplicatedDB> second;
  EXPECT_TRUE(OpenOther("db", &second).IsIOError()) << "in use";
  db_.reset();
  // As a newer version would leave it.
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* plain = nullptr;
  ASSERT_ROCKS_OK(OpenPlain(options_, Dir(),
                            {{"default", {}}, {kIndexFamilyName, {}}}, &handles,
                            &plain));
  ASSERT_ROCKS_OK(plain->Put({}, handles[1], std::string(8, '\0') + "format",
                             "\x02 whatever comes"));
  for (auto* handle : handles) plain->DestroyColumnFamilyHandle(handle);
  delete plain;
  const rocksdb::Status newer = Open();
  EXPECT_TRUE(newer.IsNotSupported()) << newer.ToString();
  EXPECT_NE(newer.ToString().find("format 2"), std::string::npos);
}

}  // namespace
}  // namespace rocksync
