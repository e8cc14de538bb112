// Digests that are not those of the entries: noticed by the first session that
// reads these, and right from the next one on.

#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "replication/session/leaf_batch.h"
#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/pair_check.h"
#include "replication/store/upkeep/scrub.h"
#include "tests/integration/store/trouble_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class WrongDigestsTest : public TroubleTest {
 protected:
  uint64_t Noticed() { return db_->GetIndexStats().wrong_digests; }

  // As a session does that compares everything.
  void ReadAll() {
    const auto snapshot = view_->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    std::vector<uint32_t> leaves((*snapshot)->LeafDigests().size());
    std::iota(leaves.begin(), leaves.end(), 0);
    const auto batch = LeafBatch::Load(**snapshot, leaves, {}, {});
    ASSERT_TRUE(batch.ok()) << batch.status();
  }
};

TEST_F(WrongDigestsTest, AreNoticedAndReadAnew) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  EXPECT_EQ(Total().count, 2u);
  ReadAll();
  EXPECT_EQ(Noticed(), 0u);
  ASSERT_ROCKS_OK(indexed()->db()->Delete({}, indexed()->reader().index(),
                                          IndexKeyOf("gone")));
  EXPECT_EQ(Total().count, 2u);
  ReadAll();
  EXPECT_EQ(Noticed(), 1u);
  EXPECT_EQ(Total().count, 1u);
  ReadAll();
  EXPECT_EQ(Noticed(), 1u);
  CloseAndCheck();
}

// A snapshot is read no more: what it counts and what is left would disagree.
TEST_F(WrongDigestsTest, DoNotComeOfAFamilyThatIsDroppedMeanwhile) {
  OpenWithView();
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "a", &family));
  view_ = StoreAccess::NewView(db_.get());
  ASSERT_ROCKS_OK(db_->Put({}, family, "key", "value"));
  const auto snapshot = view_->TakeSnapshot({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  const uint32_t leaf =
      LeafOf(indexed()->reader().hasher().Position("a", "key"));
  const auto batch = LeafBatch::Load(**snapshot, {leaf}, {}, {});
  EXPECT_TRUE(absl::IsUnavailable(batch.status())) << batch.status();
  EXPECT_EQ(Noticed(), 0u);
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
}

// Seen to die, and to count wrong digests, in most runs.
TEST_F(WrongDigestsTest, DoNotComeOfFamiliesThatComeAndGo) {
  OpenWithView();
  std::atomic<bool> done{false};
  std::thread families([&] {
    for (int round = 0; round < 40; ++round) {
      rocksdb::ColumnFamilyHandle* family = nullptr;
      EXPECT_ROCKS_OK(db_->CreateColumnFamily({}, "a", &family));
      for (int i = 0; i < 50; ++i) {
        EXPECT_ROCKS_OK(db_->Put({}, family, std::to_string(i), "v"));
      }
      EXPECT_ROCKS_OK(db_->DropColumnFamily(family));
      EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
    }
    done = true;
  });
  std::thread scrubs([&] {
    const auto scrub = StoreAccess::NewScrub(db_.get());
    EXPECT_ROCKS_OK(scrub->Load());
    while (!done) {
      uint64_t bytes = 0;
      bool finished = false;
      scrub->Step(&bytes, &finished).PermitUncheckedError();
    }
    EXPECT_EQ(scrub->progress().corruption_found, 0u) << Log();
  });
  while (!done) {
    view_ = StoreAccess::NewView(db_.get());
    const auto snapshot = view_->TakeSnapshot({});
    if (!snapshot.ok()) continue;
    std::vector<uint32_t> leaves((*snapshot)->LeafDigests().size());
    std::iota(leaves.begin(), leaves.end(), 0);
    const auto batch = LeafBatch::Load(**snapshot, leaves, {}, {});
    EXPECT_TRUE(batch.ok() || absl::IsUnavailable(batch.status()))
        << batch.status();
  }
  families.join();
  scrubs.join();
  EXPECT_EQ(Noticed(), 0u);
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));
  CloseAndCheck();
}

// A scrub that began before its family was there takes it for a stray.
TEST_F(WrongDigestsTest, AnEntryThatIsInItsPlaceIsNoStray) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("key", "value"));
  PairCheck::Finding finding = PairCheck::Finding::kMarked;
  ASSERT_ROCKS_OK(NewCheck().CheckStray(IndexKeyOf("key"), &finding));
  EXPECT_EQ(finding, PairCheck::Finding::kFine);
  EXPECT_TRUE(HasEntry("key"));
  CloseAndCheck();
}

// What was noted of writes is lost with a reading that broke off.
TEST_F(WrongDigestsTest, DoNotComeOfAReadingThatBrokeOff) {
  OpenWithView();
  for (int i = 0; i < 100; ++i) ASSERT_ROCKS_OK(Put(std::to_string(i), "v"));
  ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
  EXPECT_EQ(Total().count, 100u);
  for (const bool whole : {false, true}) {
    SCOPED_TRACE(whole ? "the whole index" : "differences");
    ASSERT_ROCKS_OK(Open());
    view_ = StoreAccess::NewView(db_.get());
    if (!whole) {
      EXPECT_EQ(Total().count, 100u);
    }
    for (int i = 0; i < 100; ++i) ASSERT_ROCKS_OK(Put(std::to_string(i), "w"));
    ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
    // One that RocksDB begins by itself would meet the unreadable disk, and
    // Close return its error.
    ASSERT_ROCKS_OK(indexed()->db()->CompactRange(
        {}, indexed()->reader().index(), nullptr, nullptr));
    if (whole) store()->DistrustDigests();
    *disk_.state = DiskState::kUnreadable;
    EXPECT_FALSE(view_->TakeSnapshot({}).ok());
    *disk_.state = DiskState::kGood;
    EXPECT_EQ(Total().count, 100u);
    ReadAll();
    EXPECT_EQ(Noticed(), whole ? 1u : 0u);
    CloseAndCheck();
  }
}

// By a foreign write; what the seal says of digests is void then.
TEST_F(WrongDigestsTest, DoNotComeOfAForeignHandInTheIndex) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("a", "value"));
  ASSERT_ROCKS_OK(Put("b", "value"));
  const std::string entry = IndexKeyOf("a");
  EXPECT_EQ(Total().count, 2u);
  view_.reset();
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  rocksdb::DB* raw = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ASSERT_ROCKS_OK(OpenPlain(
      {}, Dir(), {{"default", {}}, {kIndexFamilyName, {}}}, &handles, &raw));
  EXPECT_ROCKS_OK(raw->Delete({}, handles[1], entry));
  for (auto* handle : handles) {
    EXPECT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
  }
  delete raw;
  OpenWithView();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  // The pair that lacks an entry is quarantined and does not count.
  EXPECT_EQ(Total().count, 1u);
  ReadAll();
  EXPECT_EQ(Noticed(), 0u);
  CloseAndCheck();
}

}  // namespace
}  // namespace rocksync
