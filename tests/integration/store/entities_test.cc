// Wide-column entities, of foreign writes: never equal to their
// default column, never shipped as it, and not lost to a peer that has only it.

#include <string>

#include "replication/base/hex.h"
#include "replication/store/upkeep/pair_check.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksdb/wide_columns.h"
#include "tests/integration/store/trouble_fixture.h"

namespace rocksync {
namespace {

class EntitiesTest : public TroubleTest {
 protected:
  static rocksdb::Status PutEntity(rocksdb::DB* db, const std::string& key,
                                   const rocksdb::WideColumns& columns) {
    return db->PutEntity({}, db->DefaultColumnFamily(), key, columns);
  }
  // Until the database is read, or that has failed.
  rocksdb::Status ReadToTheEnd() {
    Eventually([&] {
      return db_->GetIndexBuildProgress().done ||
             !db_->GetIndexBuildProgress().status.ok();
    });
    return db_->GetIndexBuildProgress().status;
  }
  // Of a key under which an earlier version of the library took the default
  // column for the value.
  void AdoptDefaultColumn(const std::string& key) {
    ASSERT_ROCKS_OK(Put(key, "default"));
    ASSERT_ROCKS_OK(
        PutEntity(indexed()->db(), key, {{"", "default"}, {"city", "Jena"}}));
  }
  size_t Columns(const std::string& key) {
    rocksdb::PinnableWideColumns read;
    EXPECT_ROCKS_OK(db_->GetEntity({}, db_->DefaultColumnFamily(), key, &read));
    return read.columns().size();
  }
};

void ExpectNamed(const rocksdb::Status& status, const std::string& key) {
  EXPECT_TRUE(status.IsNotSupported()) << status.ToString();
  for (const std::string& part :
       {HexOf(key), std::string("family default"), std::string("with Put"),
        std::string("families")}) {
    EXPECT_NE(status.ToString().find(part), std::string::npos)
        << status.ToString();
  }
}

TEST_F(EntitiesTest, AreNotAdopted) {
  Plain("db", [](rocksdb::DB* db) {
    ASSERT_ROCKS_OK(db->Put({}, "before", "plain"));
    ASSERT_ROCKS_OK(PutEntity(db, "entity", {{"", "v"}, {"city", "Jena"}}));
    ASSERT_ROCKS_OK(PutEntity(db, "of one column", {{"", "plain"}}));
    ASSERT_ROCKS_OK(PutEntity(db, "without a default", {{"city", "Jena"}}));
    ASSERT_ROCKS_OK(PutEntity(db, "without columns", {}));
  });
  OpenWithView();
  ExpectNamed(ReadToTheEnd(), "entity");
  const auto refused = view_->TakeSnapshot({});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("wide-column"), std::string::npos)
      << refused.status();

  ASSERT_ROCKS_OK(Put("entity", "v"));
  Eventually([&] {
    return db_->GetIndexBuildProgress().done ||
           db_->GetIndexBuildProgress().status.ToString().find(
               HexOf("without a default")) != std::string::npos;
  });
  ExpectNamed(db_->GetIndexBuildProgress().status, "without a default");
  ASSERT_ROCKS_OK(Put("without a default", "v"));
  ASSERT_ROCKS_OK(db_->Delete({}, "without columns"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 5u) << "with a tombstone";
}

TEST_F(EntitiesTest, ByAnotherDoorAreFoundBeforeASession) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "default"));
  ASSERT_ROCKS_OK(
      PutEntity(db_->GetRootDB(), "k", {{"", "default"}, {"city", "Jena"}}));
  bool held = false;
  // The first refusal has it re-checked, which does not end.
  Eventually([&] {
    held = view_->TakeSnapshot({}).ok();
    return held || !db_->GetIndexBuildProgress().status.ok();
  });
  EXPECT_FALSE(held);
  ExpectNamed(db_->GetIndexBuildProgress().status, "k");
  EXPECT_EQ(Columns("k"), 2u);
  ASSERT_ROCKS_OK(db_->Delete({}, "k"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 1u);
}

TEST_F(EntitiesTest, AdoptedOnceAreFoundByTheScrubAndNotReplacedByTheirColumn) {
  OpenWithView();
  AdoptDefaultColumn("k");
  const StoredEntry entry = EntryOf("k");
  {
    const auto snapshot = view_->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    const auto found = (*snapshot)->FindKey(0, "k");
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_FALSE((*snapshot)->ReadValue(**found).ok());  // which is a doubt
  }
  EXPECT_TRUE(EntryOf("k").quarantined);
  EXPECT_EQ(EntryOf("k").version, entry.version);

  // The peer took the same column for the value.
  EXPECT_EQ(OutcomeOf({0, "k", entry.version, false, "default"}),
            ApplyOutcome::kDeferred);
  EXPECT_EQ(OutcomeOf({0, "k", {entry.version.time - 1, kPeer}, false, "old"}),
            ApplyOutcome::kDeferred);
  bool resolved = false;
  ASSERT_ROCKS_OK(NewCheck().Resolve(family(), "k", &resolved));
  EXPECT_FALSE(resolved);
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_EQ(Columns("k"), 2u);
  EXPECT_TRUE(EntryOf("k").quarantined);
  // What was written later counts.
  EXPECT_EQ(OutcomeOf({0, "k", {entry.version.time + 1, kPeer}, false, "new"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "new");
  EXPECT_FALSE(EntryOf("k").quarantined);
}

TEST_F(EntitiesTest, AScrubMeetsThemInTheDataAndByTheIndex) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("fine", "v"));
  AdoptDefaultColumn("k");
  // Without an entry.
  ASSERT_ROCKS_OK(PutEntity(indexed()->db(), "unknown", {{"city", "Jena"}}));
  const auto scrub = StoreAccess::NewScrub(db_.get());
  ASSERT_ROCKS_OK(scrub->Load());
  uint64_t bytes = 0;
  bool finished = false;
  while (!finished) ASSERT_ROCKS_OK(scrub->Step(&bytes, &finished));
  EXPECT_EQ(scrub->progress().corruption_found, 2u);
  EXPECT_TRUE(EntryOf("k").quarantined);
  EXPECT_TRUE(EntryOf("unknown").quarantined);
  EXPECT_FALSE(EntryOf("fine").quarantined);
  EXPECT_NE(Log().find("wide-column"), std::string::npos);
}

}  // namespace
}  // namespace rocksync
