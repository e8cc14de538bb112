// Collected tombstones leave the index: all of them, nothing else, and whatever
// comes in between.

#include "replication/store/upkeep/tombstone_sweep.h"

#include <string>
#include <thread>

#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "tests/integration/store/trouble_fixture.h"

namespace rocksync {
namespace {

class TombstoneSweepTest : public TroubleTest {
 protected:
  bool Swept() { return !db_->GetTombstoneGcStats().sweeping; }
  uint64_t Removed() { return db_->GetTombstoneGcStats().removed; }

  // A tombstone that was collected, put there behind its back.
  void PutCollected(const std::string& key) {
    StoredEntry entry;
    entry.version = {1, kPeer};
    entry.tombstone = true;
    PutIntoIndex(key, entry);
  }
  // From now on the sweep cannot read the index, whatever it holds.
  void MakeUnreadable() {
    ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
    *disk_.state = DiskState::kUnreadable;
  }
  // Of an entry to be removed the sweep reads once more what is there, then
  // writes. If it reads that again, the write before was refused.
  bool AwaitRefusedWrite() {
    const auto reads = [this] {
      return options_.statistics->getTickerCount(rocksdb::NUMBER_KEYS_READ);
    };
    const uint64_t before = reads();
    return Eventually([&] { return reads() >= before + 2; });
  }
  rocksdb::Status Remove(const std::string& key) {
    return RemoveCollected(indexed(), {IndexKeyOf(key)}, &removed_);
  }

  uint64_t removed_ = 0;
};

TEST_F(TombstoneSweepTest, MoreThanItReadsAtOnce) {
  OpenWithView();
  for (int i = 0; i < 4500; ++i) {
    ASSERT_ROCKS_OK(db_->Delete({}, "gone" + std::to_string(i)));
    if (i % 10 == 0) ASSERT_ROCKS_OK(Put("kept" + std::to_string(i), "v"));
  }
  Forget(Clock());
  ASSERT_ROCKS_OK(db_->Delete({}, "later"));
  EXPECT_TRUE(Eventually([this] { return Swept(); }));
  EXPECT_EQ(Removed(), 4500u);
  EXPECT_FALSE(HasEntry("gone0"));
  EXPECT_TRUE(HasEntry("kept0"));
  EXPECT_TRUE(HasEntry("later"));
  CloseAndCheck();
}

// Its deletions stay in the memtable until that is flushed. Of leaves that are
// read anew, each next one begins where the last one ended.
TEST_F(TombstoneSweepTest, DigestsStepOnceOverWhatItRemoved) {
  constexpr uint64_t kGone = 3000;
  OpenWithView();
  for (uint64_t i = 0; i < kGone; ++i) {
    ASSERT_ROCKS_OK(db_->Delete({}, "gone" + std::to_string(i)));
  }
  EXPECT_EQ(Total().count, kGone);
  Forget(Clock());
  ASSERT_TRUE(Eventually([this] { return Swept(); }));
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  EXPECT_EQ(Total().count, 0u);
  const uint64_t stepped =
      rocksdb::get_perf_context()->internal_delete_skipped_count;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  EXPECT_GE(stepped, kGone);
  EXPECT_LE(stepped, 3 * kGone);
}

// Its pairs are in tables without an entry, and their deletions in the log
// alone: the next opening replays that before it calls the entries lost.
TEST_F(TombstoneSweepTest, OfADrainedFamilyWhoseDeletionsAreNotFlushed) {
  OpenWithView();
  for (int i = 0; i < 100; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), "v"));
  }
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
  for (int i = 0; i < 100; ++i) {
    ASSERT_ROCKS_OK(db_->Delete({}, "key" + std::to_string(i)));
  }
  Forget(Clock());
  ASSERT_TRUE(Eventually([this] { return Removed() == 100 && Swept(); }));
  ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
  view_.reset();
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_ROCKS_OK(Open());
  EXPECT_TRUE(db_->GetIndexBuildProgress().done);
  EXPECT_EQ(Total().count, 0u);
}

// What it wrote behind the seal would look like another program's.
TEST_F(TombstoneSweepTest, EndsBeforeTheSeal) {
  OpenWithView();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 60; ++i) {
      rocksdb::WriteBatch batch;
      for (int j = 0; j < 1000; ++j) {
        batch.Delete("gone" + std::to_string(1000 * i + j));
      }
      ASSERT_ROCKS_OK(db_->Write({}, &batch));
    }
    Forget(Clock());
    ASSERT_TRUE(Eventually([this] { return Removed() > 0; }));
    view_.reset();
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    ASSERT_ROCKS_OK(Open());
    EXPECT_TRUE(db_->GetIndexBuildProgress().done)
        << db_->GetIndexBuildProgress().activity;
  }
}

TEST_F(TombstoneSweepTest, TriesAgainAfterAnErrorInReading) {
  OpenWithView();
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  MakeUnreadable();
  uint64_t before = *disk_.reads;
  Forget(Clock());
  ASSERT_TRUE(Eventually([&] { return *disk_.reads > before; }));
  EXPECT_FALSE(Swept());
  *disk_.state = DiskState::kGood;
  EXPECT_TRUE(Eventually([this] { return Swept(); }));
  EXPECT_EQ(Removed(), 1u);
  // It can also be stopped between two tries.
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  MakeUnreadable();
  before = *disk_.reads;
  Forget(Clock());
  ASSERT_TRUE(Eventually([&] { return *disk_.reads > before; }));
  *disk_.state = DiskState::kGood;
  ASSERT_ROCKS_OK(db_->Close());
}

// In a newer list two replicas agree on the smaller of their stable times. What
// was swept up to the larger one is gone all the same.
TEST_F(TombstoneSweepTest, DigestsFollowAStableTimeThatFallsBack) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("kept", "v"));
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  EXPECT_EQ(Total().count, 2u);
  Forget(Clock());
  ASSERT_TRUE(Eventually([this] { return Swept(); }));
  EXPECT_EQ(Removed(), 1u);
  ASSERT_ROCKS_OK(db_->SetMembers(2, {db_->Identity().replica_id, kPeer}));
  Membership* const members = StoreAccess::MembershipOf(db_.get());
  Announcement peer = members->Announce();
  peer.gc.stable_time = 0;
  peer.gc.stable_epoch = 0;
  Terms agreed;
  ASSERT_ROCKS_OK(members->Agree(members->Now(), kPeer, {}, peer, &agreed));
  ASSERT_EQ(members->Now().stable_time, 0u);
  EXPECT_EQ(Total().count, 1u);
  CloseAndCheck();
}

// Nothing is known of it; the scrub finds out.
TEST_F(TombstoneSweepTest, GoesOnPastAnEntryThatDoesNotParse) {
  OpenWithView();
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  ASSERT_ROCKS_OK(db_->Delete({}, "damaged"));
  ASSERT_ROCKS_OK(indexed()->db()->Flush({}, indexed()->reader().index()));
  std::string bytes;
  AppendEntry(&bytes, EntryOf("damaged"), db_->Identity().replica_id);
  PutIntoIndex("damaged", WithBitFlipped(bytes, 7));
  Forget(Clock());
  EXPECT_TRUE(Eventually([this] { return Swept(); }));
  EXPECT_EQ(Removed(), 1u);
  EXPECT_TRUE(HasEntry("damaged"));
  store()->Reexamine(IndexKeyOf("damaged"));
  EXPECT_FALSE(HasEntry("damaged")) << "it was a collected tombstone";
  CloseAndCheck();
}

TEST_F(TombstoneSweepTest, IsNotDoneBeforeThatIsWrittenDown) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("kept", "v"));
  Forget(Clock());
  ASSERT_TRUE(Eventually([this] { return Swept(); }));
  // A second sweep, which starts over.
  TombstoneSweep sweep(indexed(), /*swept=*/0);
  *disk_.state = DiskState::kBroken;
  EXPECT_FALSE(sweep.SweepHere().ok());
  EXPECT_FALSE(sweep.done());
}

TEST_F(TombstoneSweepTest, WaitsForTheEndOfAStallAndCanBeStoppedInIt) {
  options_.statistics = rocksdb::CreateDBStatistics();
  OpenWithView();
  ASSERT_ROCKS_OK(db_->Delete({}, "gone"));
  const StoredEntry entry = EntryOf("gone");
  for (const bool stop : {false, true}) {
    // Held up by the disk while writes are not stalled yet.
    PutIntoIndex("gone", entry);
    MakeUnreadable();
    uint64_t before = *disk_.reads;
    Forget(Clock() + stop);
    ASSERT_TRUE(Eventually([&] { return *disk_.reads > before; }));
    Stall();
    before = *disk_.reads;
    *disk_.state = DiskState::kGood;
    // The next try gets as far as the stall.
    ASSERT_TRUE(Eventually([&] { return *disk_.reads > before; }));
    ASSERT_TRUE(AwaitRefusedWrite());
    EXPECT_FALSE(Swept());
    EXPECT_TRUE(HasEntry("gone"));
    if (stop) {
      // The close stops the sweep, then takes all locks, and waits to write.
      std::thread other([this] {
        EXPECT_TRUE(Eventually([this] { return AllStripesAreHeld(); }));
        EndStall();
      });
      ASSERT_ROCKS_OK(db_->Close());
      other.join();
    } else {
      EndStall();
      EXPECT_TRUE(Eventually([this] { return Swept(); }));
      EXPECT_FALSE(HasEntry("gone"));
    }
  }
}

TEST_F(TombstoneSweepTest, LooksAgainUnderTheLock) {
  OpenWithView();
  Forget(Now());
  ASSERT_TRUE(Eventually([this] { return Swept(); }));
  ASSERT_ROCKS_OK(RemoveCollected(indexed(), {}, &removed_));
  ASSERT_ROCKS_OK(Remove("absent"));
  EXPECT_EQ(removed_, 0u);
  PutCollected("k");
  ASSERT_ROCKS_OK(Put("k", "written again"));
  ASSERT_ROCKS_OK(Remove("k"));
  EXPECT_EQ(removed_, 0u);
  EXPECT_TRUE(HasEntry("k"));
  PutCollected("gone");
  ASSERT_ROCKS_OK(Remove("gone"));
  EXPECT_EQ(removed_, 1u);
  EXPECT_FALSE(HasEntry("gone"));
  DamageEntry("damaged");
  ASSERT_ROCKS_OK(Remove("damaged"));
  EXPECT_TRUE(HasEntry("damaged"));
}

TEST_F(TombstoneSweepTest, RemovesNothingWhileWritesStallOrFail) {
  OpenWithView();
  Forget(Now());
  ASSERT_TRUE(Eventually([this] { return Swept(); }));
  PutCollected("gone");
  Stall();
  EXPECT_TRUE(Remove("gone").IsBusy());
  EXPECT_EQ(removed_, 0u);
  EndStall();
  ASSERT_TRUE(Eventually([this] { return Remove("gone").ok(); }));
  PutCollected("gone");
  *disk_.state = DiskState::kBroken;
  EXPECT_TRUE(Remove("gone").IsIOError());
  EXPECT_EQ(removed_, 0u);
}

}  // namespace
}  // namespace rocksync
