// Writes that would bypass rocksync are refused; those that do are noticed and
// re-checked.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/store.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksdb/convenience.h"
#include "rocksdb/metadata.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/table.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/utilities/replayer.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Slice;
using rocksdb::Status;

class ForeignWritesTest : public StoreTest {
 protected:
  static std::string Key(int i) {
    std::string digits = std::to_string(i);
    return "key" + std::string(5 - digits.size(), '0') + digits;
  }
  // 1000 pairs and a tombstone (of "gone"), compacted into files of the last
  // level.
  void OpenAndFill() {
    options_.target_file_size_base = 1024;
    options_.compression = rocksdb::kNoCompression;
    rocksdb::BlockBasedTableOptions table;
    table.block_size = 256;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options_.disable_auto_compactions = true;
    ASSERT_ROCKS_OK(Open());
    // Two files that overlap, or the compaction would only move one.
    for (int i = 0; i < 1000; i += 2) ASSERT_ROCKS_OK(Put(Key(i), "ours"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    for (int i = 1; i < 1000; i += 2) ASSERT_ROCKS_OK(Put(Key(i), "ours"));
    ASSERT_ROCKS_OK(Put("gone", "ours"));
    ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
    ASSERT_ROCKS_OK(db_->Flush({}));
    Compact(db_.get());
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(db_->DefaultColumnFamily(), &metadata);
    ASSERT_GT(metadata.levels[3].files.size(), 10u);
  }
  static void Compact(rocksdb::DB* db) {
    rocksdb::CompactRangeOptions compact;
    compact.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    compact.change_level = true;
    compact.target_level = 3;
    ASSERT_ROCKS_OK(db->CompactRange(compact, nullptr, nullptr));
  }
  rocksdb::DB* Root() { return db_->GetRootDB(); }

  std::string SstFile(const std::vector<std::string>& keys,
                      const std::string& value) {
    const std::string path = root_ / std::to_string(++files_) + ".sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    EXPECT_ROCKS_OK(writer.Open(path));
    for (const std::string& key : keys) EXPECT_ROCKS_OK(writer.Put(key, value));
    EXPECT_ROCKS_OK(writer.Finish());
    return path;
  }
  // Keys from `begin` to `end` of the default family go with their files.
  void DeleteFiles(const std::string& begin, const std::string& end) {
    const Slice from(begin);
    const Slice to(end);
    ASSERT_ROCKS_OK(rocksdb::DeleteFilesInRange(
        db_.get(), db_->DefaultColumnFamily(), &from, &to));
  }

  // No session gets a snapshot until all is compared; then the index agrees
  // with the data, and nothing is quarantined.
  void ExpectNoticed() {
    const auto view = StoreAccess::NewView(db_.get());
    // While others write, it may take some looks to tell whose a change is;
    // until then nobody gets a snapshot.
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (db_->GetIndexStats().foreign_writes == 0 &&
           std::chrono::steady_clock::now() < deadline) {
      const auto snapshot = view->TakeSnapshot({});
      if (snapshot.ok()) break;  // the re-check began and ended meanwhile
      EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kUnavailable);
    }
    EXPECT_GT(db_->GetIndexStats().foreign_writes, 0u);
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  }
  std::optional<IndexEntry> EntryOf(const std::string& key) {
    const auto view = StoreAccess::NewView(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    if (!snapshot.ok()) return std::nullopt;
    const auto entry = (*snapshot)->FindKey(0, key);
    EXPECT_TRUE(entry.ok());
    return *entry;
  }
  void ExpectLaterThan(uint64_t clock, const std::string& key, bool deleted) {
    const std::optional<IndexEntry> entry = EntryOf(key);
    ASSERT_TRUE(entry.has_value()) << key;
    EXPECT_GE(entry->version.time, clock) << key;
    EXPECT_EQ(entry->tombstone, deleted) << key;
  }
  uint64_t VersionOf(const std::string& key) {
    return EntryOf(key)->version.time;
  }

  std::string PlaceOf(const std::string& key) {
    const ElementHasher& hasher = StoreAccess::IndexedOf(db_.get())->hasher();
    std::string place;
    AppendIndexKey(&place, {hasher.Position("default", key), 0, key});
    return place;
  }
  // Has a plain program work on the closed database, and on its index.
  void CloseAndWriteIndex(
      const std::function<void(rocksdb::DB*, ColumnFamilyHandle*)>& work) {
    db_.reset();
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> plain;
    ASSERT_ROCKS_OK(OpenAllPlain({}, Dir("db"), &handles, &plain));
    ASSERT_EQ(handles.back()->GetName(), kIndexFamilyName);
    work(plain.get(), handles.back());
    for (ColumnFamilyHandle* handle : handles) {
      ASSERT_ROCKS_OK(plain->DestroyColumnFamilyHandle(handle));
    }
  }

  void ExpectCleanClose() {
    ScanResult result;
    CloseAndCheck(&result);
    EXPECT_EQ(result.quarantined, 0u);
    ASSERT_ROCKS_OK(Open());
    EXPECT_TRUE(db_->GetIndexBuildProgress().done);
  }

  int files_ = 0;
};

// What can be refused.

TEST_F(ForeignWritesTest, AReplayerIsRefused) {
  ASSERT_ROCKS_OK(Open());
  std::unique_ptr<rocksdb::Replayer> replayer;
  std::unique_ptr<rocksdb::TraceReader> reader;
  const Status status = db_->NewDefaultReplayer({db_->DefaultColumnFamily()},
                                                std::move(reader), &replayer);
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  EXPECT_EQ(replayer, nullptr);
}

TEST_F(ForeignWritesTest, AFamilyThatTheLibraryDoesNotKnowIsRefused) {
  ASSERT_ROCKS_OK(Open());
  ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKS_OK(Root()->CreateColumnFamily({}, "unknown", &family));
  rocksdb::WriteBatch batch;
  ASSERT_ROCKS_OK(batch.Put(family, "key", "value"));
  ASSERT_ROCKS_OK(batch.Put("known", "value"));
  for (const Status& status :
       {db_->Put({}, family, "key", "value"), db_->Delete({}, family, "key"),
        db_->SingleDelete({}, family, "key"),
        db_->Merge({}, family, "key", "value"),
        db_->DeleteRange({}, family, "a", "z"), db_->Write({}, &batch),
        db_->PutEntity({}, family, "key", {}),
        db_->IngestExternalFile(family, {SstFile({"a"}, "value")}, {})}) {
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find("CreateColumnFamily"), std::string::npos);
  }
  EXPECT_EQ(Get("known"), "-");
  // Left out, as RocksDB leaves out what is on families that are missing.
  rocksdb::WriteOptions ignore;
  ignore.ignore_missing_column_families = true;
  ASSERT_ROCKS_OK(db_->Write(ignore, &batch));
  EXPECT_EQ(Get("known"), "value");
  std::string value;
  EXPECT_TRUE(db_->Get({}, family, "key", &value).IsNotFound());
  ASSERT_ROCKS_OK(Root()->DropColumnFamily(family));
  ASSERT_ROCKS_OK(Root()->DestroyColumnFamilyHandle(family));
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, AFamilyThatIsNotRecordedIsDroppedAgain) {
  const FailingDisk disk = MakeFailingDisk();
  options_.env = disk.env.get();
  ASSERT_ROCKS_OK(Open());
  *disk.state = DiskState::kNoLog;
  ColumnFamilyHandle* family = nullptr;
  const Status status = db_->CreateColumnFamily({}, "second", &family);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(family, nullptr);
  std::vector<ColumnFamilyHandle*> families;
  EXPECT_FALSE(db_->CreateColumnFamilies({}, {"third"}, &families).ok());
  EXPECT_TRUE(families.empty());
  *disk.state = DiskState::kGood;
  EXPECT_EQ(db_->ReplicatedFamilies(), std::vector<std::string>{"default"});
  db_.reset();
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies(options_, Dir(), &names));
  EXPECT_EQ(names, (std::vector<std::string>{"default", kIndexFamilyName}));
}

TEST_F(ForeignWritesTest, FlushesAreAtomicWithTheIndex) {
  options_.atomic_flush = true;
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("a", "1"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(Put("b", "1"));
  const std::vector<rocksdb::ColumnFamilyHandle*> families = {
      db_->DefaultColumnFamily()};
  ASSERT_ROCKS_OK(db_->Flush({}, families));
  ExpectCleanClose();
}

// What is noticed while the database is open.

TEST_F(ForeignWritesTest, TransactionsThatWrapTheDatabase) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  rocksdb::TransactionDB* wrapped = nullptr;
  ColumnFamilyHandle* const family = db_->DefaultColumnFamily();
  ASSERT_ROCKS_OK(rocksdb::TransactionDB::WrapStackableDB(
      new rocksdb::StackableDB(
          std::shared_ptr<rocksdb::DB>(db_.get(), [](rocksdb::DB*) {})),
      {}, {}, {family}, &wrapped));
  std::unique_ptr<rocksdb::TransactionDB> transactions(wrapped);
  std::unique_ptr<rocksdb::Transaction> transaction(
      transactions->BeginTransaction({}));
  ASSERT_ROCKS_OK(transaction->Put(Key(7), "theirs"));
  ASSERT_ROCKS_OK(transaction->Put("new", "theirs"));
  ASSERT_ROCKS_OK(transaction->Delete(Key(8)));
  ASSERT_ROCKS_OK(transaction->Commit());
  transaction.reset();
  transactions.reset();
  ExpectNoticed();
  EXPECT_EQ(Get(Key(7)), "theirs");
  ExpectLaterThan(clock + 1, Key(7), false);
  ExpectLaterThan(clock + 1, "new", false);
  ExpectLaterThan(clock + 1, Key(8), true);
  EXPECT_EQ(EntryOf(Key(0))->version.time, clock);
  ExpectCleanClose();
}

// Compactions would take away by which the writes are told.
TEST_F(ForeignWritesTest, WritesToTheRootThatAreCompactedAtOnce) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  ASSERT_ROCKS_OK(Root()->Put({}, Key(7), "theirs"));
  ASSERT_ROCKS_OK(Root()->Delete({}, Key(8)));
  ASSERT_ROCKS_OK(
      Root()->DeleteRange({}, db_->DefaultColumnFamily(), Key(20), Key(30)));
  ASSERT_ROCKS_OK(Root()->Flush({}));
  Compact(db_.get());
  ExpectNoticed();
  EXPECT_EQ(Get(Key(7)), "theirs");
  ExpectLaterThan(clock + 1, Key(7), false);
  ExpectLaterThan(clock + 1, Key(8), true);
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, TheScrubRevertsNothing) {
  OpenAndFill();
  const auto scrub = StoreAccess::NewScrub(db_.get());
  ASSERT_ROCKS_OK(scrub->Load());
  ASSERT_ROCKS_OK(Root()->Put({}, Key(7), "theirs"));
  ASSERT_ROCKS_OK(Root()->Delete({}, Key(8)));
  bool finished = false;
  while (!finished) {
    uint64_t bytes = 0;
    const Status status = scrub->Step(&bytes, &finished);
    if (status.IsTryAgain()) {
      ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
      continue;
    }
    ASSERT_ROCKS_OK(status);
  }
  EXPECT_EQ(scrub->progress().corruption_found, 0u);
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  EXPECT_EQ(Get(Key(7)), "theirs");
  EXPECT_TRUE(EntryOf(Key(8))->tombstone);
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, PairsOfPeersDoNotBuryThem) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  const auto view = StoreAccess::NewView(db_.get());
  ASSERT_ROCKS_OK(Root()->Put({}, Key(7), "theirs"));
  Pair pair;
  pair.key = Key(7);
  pair.value = "a peer's";
  pair.version = {clock + (uint64_t{1} << 20), 5};
  std::vector<ApplyOutcome> outcomes;
  const absl::Status status = view->Apply({&pair, 1}, {}, &outcomes);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(Get(Key(7)), "theirs");
  ExpectNoticed();
}

TEST_F(ForeignWritesTest, DeletedFilesAreDeletedKeys) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  DeleteFiles(Key(100), Key(900));
  ASSERT_EQ(Get(Key(500)), "-");
  ExpectNoticed();
  ExpectLaterThan(clock + 1, Key(500), true);
  EXPECT_EQ(EntryOf(Key(0))->version.time, clock);
  EXPECT_EQ(Get(Key(0)), "ours");
  ExpectCleanClose();
}

// The tombstone of RocksDB goes with the file, and what it covered is there
// again.
TEST_F(ForeignWritesTest, DeletedFilesBringNoDeletedKeyBack) {
  options_.num_levels = 4;
  OpenAndFill();
  ASSERT_ROCKS_OK(db_->Delete({}, Key(500)));
  ASSERT_ROCKS_OK(db_->Put({}, Key(501), "later"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(db_->DefaultColumnFamily(), &metadata);
  ASSERT_EQ(metadata.levels[0].files.size(), 1u);
  // Up, above what it covers.
  ASSERT_ROCKS_OK(db_->CompactFiles({}, {metadata.levels[0].files[0].name}, 1));
  EXPECT_EQ(db_->GetIndexStats().foreign_writes, 0u);
  DeleteFiles(Key(500), Key(501));
  ExpectNoticed();
  EXPECT_EQ(Get(Key(500)), "-");
  EXPECT_TRUE(EntryOf(Key(500))->tombstone);
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, IngestedFiles) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  // No sequence number: the file overlaps nothing.
  ASSERT_ROCKS_OK(
      Root()->IngestExternalFile({SstFile({"gone", "goto"}, "theirs")}, {}));
  ExpectNoticed();
  ExpectLaterThan(clock + 1, "gone", false);
  ExpectLaterThan(clock + 1, "goto", false);
  EXPECT_EQ(Get("gone"), "theirs");
  // With one.
  const uint64_t before = db_->GetIndexStats().foreign_writes;
  ASSERT_ROCKS_OK(
      Root()->IngestExternalFile({SstFile({Key(7)}, "theirs")}, {}));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_GT(db_->GetIndexStats().foreign_writes, before);
  EXPECT_EQ(Get(Key(7)), "theirs");
  ExpectNoticed();
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, WhatIsNotComparedAtTheCloseIsComparedAfterIt) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  DeleteFiles(Key(100), Key(900));
  ASSERT_ROCKS_OK(Root()->Put({}, Key(7), "theirs"));
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  ExpectLaterThan(clock + 1, Key(7), false);
  ExpectLaterThan(clock + 1, Key(500), true);
  ExpectCleanClose();
}

TEST_F(ForeignWritesTest, WritesDuringTheRecheckAreComparedToo) {
  OpenAndFill();
  ASSERT_ROCKS_OK(Root()->Put({}, Key(7), "theirs"));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop || i < 1000; ++i) {
      ASSERT_ROCKS_OK(Put(Key(i % 500), "ours" + std::to_string(i)));
    }
  });
  ExpectNoticed();
  for (int i = 0; i < 20; ++i) {
    ASSERT_ROCKS_OK(Root()->Put({}, Key(900 + i), "theirs"));
    ASSERT_ROCKS_OK(Root()->Delete({}, Key(930 + i)));
  }
  stop = true;
  writer.join();
  // However many of them each look has found.
  for (bool quiet = false; !quiet;) {
    quiet = StoreAccess::NewView(db_.get())->TakeSnapshot({}).ok();
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  }
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Get(Key(900 + i)), "theirs");
    EXPECT_TRUE(EntryOf(Key(930 + i))->tombstone);
  }
  ExpectCleanClose();
}

// A program that knows nothing of the library, after a clean close.
TEST_F(ForeignWritesTest, AForeignProgramIngestsAFile) {
  OpenAndFill();
  const uint64_t clock = VersionOf(Key(0));
  const std::string file = SstFile({"gone", "goto"}, "theirs");
  db_.reset();
  Plain("db", [&](rocksdb::DB* db) {
    const uint64_t sequence = db->GetLatestSequenceNumber();
    ASSERT_ROCKS_OK(db->IngestExternalFile({file}, {}));
    ASSERT_EQ(db->GetLatestSequenceNumber(), sequence);
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
  EXPECT_EQ(Get("gone"), "theirs");
  ExpectLaterThan(clock + 1, "gone", false);
  ExpectLaterThan(clock + 1, "goto", false);
  ExpectCleanClose();
}

// Else a session would delete the pair of that key everywhere.
TEST_F(ForeignWritesTest, AnEntryThatSomebodyWroteDeletesNoPair) {
  OpenAndFill();
  ASSERT_ROCKS_OK(db_->Flush({}));
  const std::string place = PlaceOf("never");
  CloseAndWriteIndex([&](rocksdb::DB* db, ColumnFamilyHandle* index) {
    const std::unique_ptr<rocksdb::Iterator> other(db->NewIterator({}, index));
    other->SeekToFirst();
    while (other->Valid() && (other->value()[0] & 1) != 0) other->Next();
    ASSERT_TRUE(other->Valid()) << "a live entry";
    ASSERT_ROCKS_OK(db->Put({}, index, place, other->value()));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 1u);
  EXPECT_FALSE(EntryOf("never").has_value());
}

// Its compaction takes sequence numbers away, by which an older pair would be
// taken for a new one.
TEST_F(ForeignWritesTest, AFlippedBitIsNoWriteOfAnotherProgram) {
  OpenAndFill();
  const std::string place = PlaceOf(Key(5));
  const uint64_t version = VersionOf(Key(5));
  CloseAndWriteIndex([&](rocksdb::DB* db, ColumnFamilyHandle* index) {
    std::string bytes;
    ASSERT_ROCKS_OK(db->Get({}, index, place, &bytes));
    size_t bit = 8;  // of the time, which comes behind the tag
    while (WithBitFlipped(bytes, bit) > bytes) ++bit;
    ASSERT_ROCKS_OK(db->Put({}, index, place, WithBitFlipped(bytes, bit)));
    ASSERT_ROCKS_OK(db->Put({}, Key(6), "theirs"));
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_ROCKS_OK(db->CompactRange(all, index, nullptr, nullptr));
    ASSERT_ROCKS_OK(db->CompactRange(all, nullptr, nullptr));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(VersionOf(Key(5)), version);
  EXPECT_EQ(db_->GetIndexStats().entries_repaired, 1u);
  ExpectLaterThan(version + 1, Key(6), false);
}

// A file that is not there at an opening was not deleted by a call.
TEST_F(ForeignWritesTest, LossBeforeAnOpeningDeletesNothing) {
  OpenAndFill();
  db_.reset();
  Plain("db", [&](rocksdb::DB* db) {
    const std::string begin = Key(100);
    const std::string end = Key(900);
    const Slice from(begin);
    const Slice to(end);
    ASSERT_ROCKS_OK(
        rocksdb::DeleteFilesInRange(db, db->DefaultColumnFamily(), &from, &to));
  });
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_GT(db_->GetIndexStats().pairs_quarantined, 0u);
}

// What is ours, and what changes no data, is not taken for somebody else's.
TEST_F(ForeignWritesTest, NoFalseAlarm) {
  replication_.families = {"default"};
  options_.write_buffer_size = 64 << 10;
  options_.level0_file_num_compaction_trigger = 2;
  ASSERT_ROCKS_OK(Open());
  ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop || i < 3000; ++i) {
        rocksdb::WriteBatch batch;
        ASSERT_ROCKS_OK(batch.Put(other, Key(i % 777), std::string(50, 'o')));
        if (i % 2 == t) {
          ASSERT_ROCKS_OK(batch.Put(Key(i % 999), std::string(50, 'v')));
        }
        if (i % 5 == 0) batch.Clear();
        ASSERT_ROCKS_OK(db_->Write({}, &batch));
        ASSERT_ROCKS_OK(db_->DeleteRange({}, other, Key(5), Key(7)));
        ASSERT_ROCKS_OK(db_->SingleDelete({}, other, "once"));
      }
    });
  }
  const auto view = StoreAccess::NewView(db_.get());
  for (int i = 0; i < 20; ++i) {
    ASSERT_ROCKS_OK(db_->IngestExternalFile(
        other, {SstFile({Key(1), Key(900)}, "file")}, {}));
    ASSERT_ROCKS_OK(db_->Flush({}));
    rocksdb::WriteOptions no_slowdown;
    no_slowdown.no_slowdown = true;
    db_->Put(no_slowdown, "key", "value").PermitUncheckedError();
    rocksdb::ColumnFamilyMetaData metadata;
    db_->GetColumnFamilyMetaData(db_->DefaultColumnFamily(), &metadata);
    if (metadata.levels[0].files.size() > 1) {
      db_->CompactFiles({}, {metadata.levels[0].files[0].name}, 3)
          .PermitUncheckedError();
    }
    if (i % 5 == 4) Compact(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(db_->GetIndexStats().foreign_writes, 0u);
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
}

}  // namespace
}  // namespace rocksync
