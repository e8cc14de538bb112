// How many quarantined entries a store holds: exact at every snapshot, whatever
// makes an entry quarantined or not any more, and over restarts and crashes.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "replication/base/hex.h"
#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/pair_check.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksdb/comparator.h"
#include "tests/integration/store/trouble_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class QuarantineTest : public TroubleTest {
 protected:
  // Pairs that a disk damages behind the index's back, and that are then looked
  // at.
  void Quarantine(const std::vector<std::string>& keys) {
    for (const std::string& key : keys) {
      ASSERT_ROCKS_OK(Put(key, "value"));
      Corrupt(key, "valuf");
      store()->Reexamine(IndexKeyOf(key));
      ASSERT_TRUE(EntryOf(key).quarantined) << key;
    }
  }
  void Corrupt(const std::string& key, const std::string& value) {
    ASSERT_ROCKS_OK(indexed()->db()->Put({}, key, value));
  }

  // What a snapshot says, after it was compared with the entries.
  uint64_t LeftOut() {
    const auto snapshot = view_->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    if (!snapshot.ok()) return UINT64_MAX;
    uint64_t counted = 0;
    IndexCursor cursor(indexed()->reader(), nullptr,
                       indexed()->reader().stable_time(),
                       IndexCursor::Order::kTotal);
    for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
      if (cursor.IsHeld() && !cursor.Counts()) ++counted;
    }
    EXPECT_EQ((*snapshot)->LeftOut(), counted);
    EXPECT_EQ(db_->GetIndexStats().quarantined_now, counted);
    return (*snapshot)->LeftOut();
  }
  // The same, of an index that is not read as a whole for it.
  uint64_t LeftOutByDifferences() {
    const uint64_t before = db_->GetIndexStats().digest_rescans;
    const uint64_t left_out = LeftOut();
    EXPECT_EQ(db_->GetIndexStats().digest_rescans, before);
    return left_out;
  }
};

// A stream reads what it was asked for by the key.
TEST_F(QuarantineTest, WhatIsReadByItsKeyIsWhatTheIndexSays) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("fine", "value"));
  ASSERT_ROCKS_OK(Put("damaged", "value"));
  Corrupt("damaged", "valuf");
  Pair pair;
  EXPECT_TRUE(view_->ReadPair(0, "fine", &pair).ok());
  EXPECT_EQ(pair.value, "value");
  EXPECT_TRUE(absl::IsNotFound(view_->ReadPair(0, "damaged", &pair)));
  EXPECT_TRUE(EntryOf("damaged").quarantined);
  ASSERT_ROCKS_OK(Put("damaged", "written"));
  EXPECT_TRUE(view_->ReadPair(0, "damaged", &pair).ok());
  EXPECT_EQ(pair.value, "written");
}

TEST_F(QuarantineTest, AreCountedAsTheyComeAndGo) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("fine", "value"));
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  EXPECT_EQ(LeftOut(), 0u);
  Quarantine({"a", "b", "c", "d", "e", "f", "g"});
  EXPECT_EQ(LeftOut(), 7u);
  const auto held = view_->TakeSnapshot({});
  ASSERT_TRUE(held.ok());

  ASSERT_ROCKS_OK(Put("a", "written"));
  EXPECT_EQ(LeftOutByDifferences(), 6u);
  ASSERT_ROCKS_OK(db_->Delete({}, "b"));
  EXPECT_EQ(LeftOutByDifferences(), 5u);
  rocksdb::WriteBatch batch;
  ASSERT_ROCKS_OK(batch.DeleteRange("c", "d"));
  ASSERT_ROCKS_OK(db_->Write({}, &batch));
  EXPECT_EQ(LeftOutByDifferences(), 4u);
  EXPECT_EQ(OutcomeOf({0, "d", {Now(), kPeer}, false, "of a peer"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(LeftOutByDifferences(), 3u);
  Corrupt("e", "value");  // it reads as before again
  store()->Reexamine(IndexKeyOf("e"));
  EXPECT_EQ(LeftOutByDifferences(), 2u);
  bool resolved = false;
  ASSERT_ROCKS_OK(NewCheck().Resolve(family(), "f", &resolved));
  EXPECT_TRUE(resolved);
  EXPECT_EQ(LeftOutByDifferences(), 1u);

  EXPECT_EQ((*held)->LeftOut(), 7u) << "of the moment it was taken";
  EXPECT_TRUE((*held)->LeavesOut(0, "a").value());
  EXPECT_FALSE((*held)->LeavesOut(0, "fine").value());
  EXPECT_FALSE((*held)->LeavesOut(0, "gone").value());
  EXPECT_FALSE((*held)->LeavesOut(0, "never written").value());
  EXPECT_FALSE((*held)->LeavesOut(7, "a").ok()) << "no such family";
}

TEST_F(QuarantineTest, EntriesThatDoNotParseAreCounted) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("a", "value"));
  ASSERT_ROCKS_OK(Put("b", "value"));
  DamageEntry("a");
  store()->DistrustDigests();
  EXPECT_EQ(LeftOut(), 1u);
  DamageEntry("b");
  store()->Reexamine(IndexKeyOf("b"));
  EXPECT_EQ(LeftOut(), 2u);
}

// As if an entry had been damaged after it was counted for what it was.
TEST_F(QuarantineTest, ACountThatCannotBeIsReadAnew) {
  OpenWithView();
  Quarantine({"a", "b"});
  LeafDigests::DigestSnapshot readied;
  LeafDigests* const digests = indexed()->digests();
  ASSERT_TRUE(digests->Ready({}, &readied).ok());
  EXPECT_EQ(readied.quarantined, 2u);
  digests->Trust(*readied.leaves, digests->LeafTombstonesNow(), {});
  ASSERT_ROCKS_OK(Put("a", "written"));
  ASSERT_TRUE(view_->TakeSnapshot({}).ok());
  EXPECT_EQ(LeftOut(), 1u);
}

TEST_F(QuarantineTest, AreKnownAfterACleanCloseWithoutReadingTheIndex) {
  OpenWithView();
  for (int i = 0; i < 100; ++i) ASSERT_ROCKS_OK(Put(std::to_string(i), "v"));
  Quarantine({"a", "b", "c"});
  EXPECT_EQ(LeftOut(), 3u);
  ASSERT_ROCKS_OK(Put("a", "written"));
  for (int i = 0; i < 2; ++i) {
    CloseAndCheck();
    OpenWithView();
    EXPECT_EQ(db_->GetIndexStats().quarantined_now, 2u) << "at once";
    EXPECT_EQ(LeftOutByDifferences(), 2u);
  }
  EXPECT_EQ(db_->GetIndexStats().digest_rescans, 0u);
  EXPECT_NE(store()->quarantine()->last_ms(), 0u)
      << "so that they are resolved";
}

TEST_F(QuarantineTest, AreCountedAnewAfterACrash) {
  OpenWithView();
  for (int i = 0; i < 100; ++i) ASSERT_ROCKS_OK(Put(std::to_string(i), "v"));
  Quarantine({"a", "b", "c"});
  EXPECT_EQ(LeftOut(), 3u);
  CloseAndCheck();
  OpenWithView();
  ASSERT_ROCKS_OK(Put("a", "written"));
  Quarantine({"d", "e"});
  ASSERT_ROCKS_OK(db_->FlushWAL(/*sync=*/true));
  CopyAsKilled("db", "image");
  view_.reset();
  db_.reset();
  std::filesystem::remove_all(Dir());
  std::filesystem::rename(Dir("image"), Dir());
  OpenWithView();
  EXPECT_EQ(LeftOut(), 4u);
  EXPECT_NE(store()->quarantine()->last_ms(), 0u);
}

TEST_F(QuarantineTest, GoWithTheirFamily) {
  OpenWithView();
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  view_ = StoreAccess::NewView(db_.get());
  Quarantine({"a"});
  ASSERT_ROCKS_OK(db_->Put({}, other, "b", "value"));
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, other, "b", "valuf"));
  {
    const FamiliesInUse now = indexed()->families();
    const Family* const family = now->Find(other->GetID());
    ASSERT_NE(family, nullptr);
    PairCheck::Finding finding = PairCheck::Finding::kFine;
    ASSERT_ROCKS_OK(NewCheck().Check(*family, "b", &finding));
    EXPECT_EQ(finding, PairCheck::Finding::kMarked);
  }
  EXPECT_EQ(LeftOut(), 2u);
  ASSERT_ROCKS_OK(db_->DropColumnFamily(other));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  view_ = StoreAccess::NewView(db_.get());
  EXPECT_EQ(LeftOut(), 1u);
}

// A tombstone may be damaged, too, and be collected all the same.
TEST_F(QuarantineTest, TombstonesGoWhenTheyAreCollected) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("fine", "value"));
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  StoredEntry entry = EntryOf("gone");
  entry.quarantined = true;
  PutIntoIndex("gone", entry);
  indexed()->digests()->Note(view_->PositionOf(0, "gone"));
  EXPECT_EQ(LeftOut(), 1u);
  Forget(Clock());
  EXPECT_EQ(LeftOutByDifferences(), 0u);
  ASSERT_TRUE(
      Eventually([this] { return !db_->GetTombstoneGcStats().sweeping; }));
  EXPECT_FALSE(HasEntry("gone"));
  EXPECT_EQ(LeftOutByDifferences(), 0u);
}

// RocksDB opens a database that lost one.
TEST_F(QuarantineTest, APairWhoseBlobFileIsLostComesBackFromAPeer) {
  options_.enable_blob_files = true;
  options_.min_blob_size = 100;
  const std::string value(200, 'v');
  OpenWithView();
  ASSERT_ROCKS_OK(Put("small", "v"));
  ASSERT_ROCKS_OK(Put("lost", value));
  ASSERT_ROCKS_OK(Put("nobody has it", value));
  const Version version = EntryOf("lost").version;
  const auto scrub = [&](uint64_t* found) {
    const auto pass = StoreAccess::NewScrub(db_.get());
    EXPECT_ROCKS_OK(pass->Load());
    bool finished = false;
    for (int steps = 0; !finished && steps < 100; ++steps) {
      uint64_t bytes = 0;
      pass->Step(&bytes, &finished).PermitUncheckedError();
    }
    EXPECT_TRUE(finished);
    *found = pass->progress().corruption_found;
    return pass->pass_status();
  };
  uint64_t found = 0;
  ASSERT_ROCKS_OK(db_->Flush({}));
  EXPECT_ROCKS_OK(scrub(&found));
  EXPECT_EQ(found, 0u);

  view_.reset();
  db_.reset();
  for (const auto& file : std::filesystem::directory_iterator(Dir())) {
    if (file.path().extension() == ".blob") {
      std::filesystem::remove(file.path());
    }
  }
  OpenWithView();
  ASSERT_EQ(Get("lost"), "error");
  scrub(&found).PermitUncheckedError();  // what lies in order does not read
  EXPECT_EQ(found, 2u);
  EXPECT_FALSE(EntryOf("small").quarantined);
  EXPECT_TRUE(EntryOf("lost").quarantined);
  EXPECT_EQ(EntryOf("lost").version, version);

  EXPECT_EQ(OutcomeOf({0, "lost", version, false, value}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("lost"), value);
  EXPECT_FALSE(EntryOf("lost").quarantined);
  // It may be a disk that is not mounted: nothing is given up.
  bool resolved = false;
  ASSERT_ROCKS_OK(NewCheck().Resolve(family(), "nobody has it", &resolved));
  EXPECT_FALSE(resolved);
  EXPECT_TRUE(EntryOf("nobody has it").quarantined);
  ASSERT_ROCKS_OK(db_->Delete({}, "nobody has it"));
  EXPECT_ROCKS_OK(scrub(&found));
  EXPECT_EQ(found, 0u);
}

// A session that needs the value finds it out too.
TEST_F(QuarantineTest, AValueInALostBlobFileIsNotShipped) {
  options_.enable_blob_files = true;
  OpenWithView();
  ASSERT_ROCKS_OK(Put("lost", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  view_.reset();
  db_.reset();
  for (const auto& file : std::filesystem::directory_iterator(Dir())) {
    if (file.path().extension() == ".blob") {
      std::filesystem::remove(file.path());
    }
  }
  OpenWithView();
  const auto snapshot = view_->TakeSnapshot({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  const auto entry = (*snapshot)->FindKey(0, "lost");
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_FALSE((*snapshot)->ReadValue(**entry).ok());
  EXPECT_TRUE(EntryOf("lost").quarantined);
}

class AdoptedBlobsTest : public QuarantineTest {
 protected:
  void SetUp() override {
    QuarantineTest::SetUp();
    options_.enable_blob_files = true;
  }
  // A plain database with one blob file a flush; `work` writes.
  void PlainWithBlobs(const std::function<void(rocksdb::DB*)>& work) {
    rocksdb::DB* db = nullptr;
    ASSERT_ROCKS_OK(OpenPlain(options_, Dir(), &db));
    work(db);
    delete db;
  }
  std::vector<std::filesystem::path> Blobs() {
    std::vector<std::filesystem::path> blobs;
    for (const auto& file : std::filesystem::directory_iterator(Dir())) {
      if (file.path().extension() == ".blob") blobs.push_back(file.path());
    }
    std::sort(blobs.begin(), blobs.end());
    return blobs;
  }
  // "lost" and "lost too" are in the first of two blob files.
  void PutInTwoFiles(rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "lost", "value"));
    ASSERT_ROCKS_OK(db->Put({}, "lost too", "value"));
    ASSERT_ROCKS_OK(db->Flush({}));
    ASSERT_ROCKS_OK(db->Put({}, "a", "value"));
    ASSERT_ROCKS_OK(db->Put({}, "z", "value"));
    ASSERT_ROCKS_OK(db->Flush({}));
  }
};

TEST_F(AdoptedBlobsTest, ALostFileEndsNoAdoption) {
  PlainWithBlobs([this](rocksdb::DB* db) { PutInTwoFiles(db); });
  ASSERT_EQ(Blobs().size(), 2u);
  std::filesystem::remove(Blobs().front());
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_FALSE(EntryOf("a").quarantined);
  EXPECT_FALSE(EntryOf("z").quarantined);
  EXPECT_TRUE(EntryOf("lost").quarantined);
  EXPECT_TRUE(EntryOf("lost too").quarantined);
  EXPECT_EQ(LeftOut(), 2u);
  const std::string log = InfoLog();
  EXPECT_NE(log.find(HexOf("lost") + " of family default does not read"),
            std::string::npos);

  // A peer's pair replaces one, a delete the other.
  EXPECT_EQ(OutcomeOf({0, "lost", Version{}, false, "value"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("lost"), "value");
  ASSERT_ROCKS_OK(db_->Delete({}, "lost too"));
  EXPECT_EQ(LeftOut(), 0u);
  CloseAndCheck();
}

class AllBlobsLostTest
    : public AdoptedBlobsTest,
      public testing::WithParamInterface<const rocksdb::Comparator*> {};

INSTANTIATE_TEST_SUITE_P(Orders, AllBlobsLostTest,
                         testing::Values(rocksdb::BytewiseComparator(),
                                         rocksdb::ReverseBytewiseComparator()));

TEST_P(AllBlobsLostTest, EndsNoAdoption) {
  options_.comparator = GetParam();
  PlainWithBlobs([](rocksdb::DB* db) {
    for (int i = 0; i < 300; ++i) {
      ASSERT_ROCKS_OK(db->Put({}, "key" + std::to_string(i), "value"));
    }
    for (int i = 0; i < 300; i += 2) {  // a chunk may hold deleted keys alone
      ASSERT_ROCKS_OK(db->Delete({}, "key" + std::to_string(i)));
    }
    // One key has more records than a chunk, which a snapshot keeps.
    std::vector<const rocksdb::Snapshot*> snapshots;
    for (int i = 0; i < 300; ++i) {
      snapshots.push_back(db->GetSnapshot());
      ASSERT_ROCKS_OK(db->Put({}, "key151", "value"));
    }
    ASSERT_ROCKS_OK(db->Flush({}));
    for (const rocksdb::Snapshot* snapshot : snapshots) {
      db->ReleaseSnapshot(snapshot);
    }
  });
  std::filesystem::remove(Blobs().front());
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(LeftOut(), 150u);
}

TEST_F(AdoptedBlobsTest, AFileThatIsBackEndsTheSuspicion) {
  PlainWithBlobs([this](rocksdb::DB* db) { PutInTwoFiles(db); });
  const std::filesystem::path blob = Blobs().front();
  const std::filesystem::path aside = root_ / "aside";
  std::filesystem::rename(blob, aside);
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  ASSERT_EQ(LeftOut(), 2u);
  view_.reset();
  db_.reset();
  std::filesystem::rename(aside, blob);
  OpenWithView();
  for (const std::string key : {"lost", "lost too"}) {
    bool resolved = false;
    ASSERT_ROCKS_OK(NewCheck().Resolve(family(), key, &resolved));
    EXPECT_TRUE(resolved) << key;
    EXPECT_EQ(Get(key), "value");
  }
  EXPECT_EQ(LeftOut(), 0u);
  CloseAndCheck();
}

// After a foreign write, so that all is compared.
TEST_F(AdoptedBlobsTest, ALostFileEndsNoCheck) {
  OpenWithView();
  PutInTwoFiles(db_.get());
  const Version version = EntryOf("lost").version;
  view_.reset();
  db_.reset();
  std::filesystem::remove(Blobs().front());
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "foreign", "value"));
  });
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_TRUE(EntryOf("lost").quarantined);
  EXPECT_EQ(EntryOf("lost").version, version);
  EXPECT_FALSE(EntryOf("foreign").quarantined);
  EXPECT_EQ(LeftOut(), 2u);
}

}  // namespace
}  // namespace rocksync
