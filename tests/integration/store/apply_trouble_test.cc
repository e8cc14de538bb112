// Pairs from peers when something is wrong here, and the rare turns of apply.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/upkeep/membership.h"
#include "rocksdb/table.h"
#include "tests/integration/store/trouble_fixture.h"

namespace rocksync {
namespace {

class ApplyTroubleTest : public TroubleTest {
 protected:
  // An unversioned pair whose entry holds the element's hash, not the value's.
  void OpenWithUnversioned(bool greater) {
    OpenWithView();
    // The one with the smaller hash first.
    const auto hash_of = [this](const std::string& value) {
      return view_->HashOf({0, "k", {}, false, value});
    };
    if (hash_of(lesser_) > hash_of(greater_)) lesser_.swap(greater_);
    const std::string& value = greater ? greater_ : lesser_;
    EXPECT_EQ(OutcomeOf({0, "k", {}, false, value}), ApplyOutcome::kApplied);
    OpenWithView();
    EXPECT_FALSE(EntryOf("k").pending);
  }

  std::string lesser_ = "a";
  std::string greater_ = "b";
};

TEST_F(ApplyTroubleTest, ABatchThatIsNotWrittenChangesNoDigest) {
  // RocksDB takes no such priority.
  replication_.apply_write_options.rate_limiter_priority =
      rocksdb::Env::IO_HIGH;
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "mine"));
  const Digest before = Total();
  std::vector<ApplyOutcome> outcomes;
  EXPECT_FALSE(
      view_
          ->Apply(std::vector<Pair>{{0, "k", {Now(), kPeer}, false, "v"}}, {},
                  &outcomes)
          .ok());
  EXPECT_EQ(Total(), before);
  EXPECT_EQ(Get("k"), "mine");
  CloseAndCheck();
}

TEST_F(ApplyTroubleTest, AnEntryThatDoesNotParseIsAsIfThereWereNone) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "mine"));
  DamageEntry("k");
  EXPECT_TRUE(EntryOf("k").damaged);
  EXPECT_EQ(OutcomeOf({0, "k", {Now(), kPeer}, false, "v"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "v");
  CloseAndCheck();
}

// But for one bit it is there, and wins.
TEST_F(ApplyTroubleTest, AnEntryWithAFlippedBitIsReadAllTheSame) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "mine"));
  std::string bytes;
  AppendEntry(&bytes, EntryOf("k"), db_->Identity().replica_id);
  PutIntoIndex("k", WithBitFlipped(bytes, 7));
  EXPECT_TRUE(EntryOf("k").damaged);
  EXPECT_EQ(OutcomeOf({0, "k", {1, kPeer}, false, "v"}),
            ApplyOutcome::kSuperseded);
  EXPECT_FALSE(EntryOf("k").quarantined);
  EXPECT_EQ(Get("k"), "mine");
  CloseAndCheck();
}

TEST_F(ApplyTroubleTest, CorruptionLosesAgainstAnyPairOfItsVersion) {
  OpenWithUnversioned(/*greater=*/true);
  for (const std::string& value : {lesser_, greater_}) {
    EXPECT_EQ(OutcomeOf({0, "k", {}, false, value}), ApplyOutcome::kSuperseded);
  }
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, "k", "corruption"));
  EXPECT_EQ(OutcomeOf({0, "k", {}, false, lesser_}), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), lesser_);
}

TEST_F(ApplyTroubleTest, SoDoesAPairThatIsLost) {
  OpenWithUnversioned(/*greater=*/true);
  ASSERT_ROCKS_OK(indexed()->db()->Delete({}, "k"));
  EXPECT_EQ(OutcomeOf({0, "k", {}, false, lesser_}), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), lesser_);
}

TEST_F(ApplyTroubleTest, AValueThatCannotBeReadIsKept) {
  OpenWithUnversioned(/*greater=*/true);
  PutIntoIndex("k", EntryOf("k"));  // so that it need not be read from disk
  for (const DiskState state :
       {DiskState::kUnreadable, DiskState::kShortReads}) {
    *disk_.state = state;
    EXPECT_EQ(OutcomeOf({0, "k", {}, false, lesser_}),
              ApplyOutcome::kSuperseded);
  }
  *disk_.state = DiskState::kGood;
  EXPECT_EQ(Get("k"), greater_);
}

TEST_F(ApplyTroubleTest, OfEqualVersionsTheTombstoneWins) {
  OpenWithView();
  const Version version = {Now(), kPeer};
  EXPECT_EQ(OutcomeOf({0, "k", version, false, "v"}), ApplyOutcome::kApplied);
  EXPECT_EQ(OutcomeOf({0, "k", version, true, ""}), ApplyOutcome::kApplied);
  EXPECT_EQ(OutcomeOf({0, "k", version, true, ""}), ApplyOutcome::kSuperseded);
  EXPECT_EQ(OutcomeOf({0, "k", version, false, "v"}),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(Get("k"), "-");
  EXPECT_EQ(OutcomeOf({0, "k", {version.time + 1, kPeer}, false, "later"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "later");
  CloseAndCheck();
}

TEST_F(ApplyTroubleTest, ACollectedTombstoneKillsAndLeavesNoEntry) {
  OpenWithView();
  EXPECT_EQ(OutcomeOf({0, "k", {}, false, "old"}), ApplyOutcome::kApplied);
  const Version version = {Now(), kPeer};
  Forget(version.time);
  EXPECT_EQ(OutcomeOf({0, "unknown", version, true, ""}),
            ApplyOutcome::kSuperseded);
  EXPECT_FALSE(HasEntry("unknown"));
  EXPECT_EQ(OutcomeOf({0, "k", version, true, ""}), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "-");
  EXPECT_FALSE(HasEntry("k"));
  CloseAndCheck();
}

TEST_F(ApplyTroubleTest, WhatWasAgreedUponBeforeTheStableTimeMovedIsRefused) {
  OpenWithView();
  Forget(1);  // in the same list
  const auto before = StoreAccess::NewView(db_.get());
  Forget(Now());
  std::vector<ApplyOutcome> outcomes;
  const std::vector<Pair> pairs = {{0, "k", {Now(), kPeer}, false, "v"}};
  EXPECT_TRUE(absl::IsUnavailable(before->Apply(pairs, {}, &outcomes)));
  EXPECT_EQ(Get("k"), "-");
}

TEST_F(ApplyTroubleTest, WaitsForTheEndOfAStall) {
  OpenWithView();
  Stall();
  EXPECT_EQ(OutcomeAfterStall({0, "k", {Now(), kPeer}, false, "v"}),
            ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "v");
}

// What is known of the sender's incarnation is written before its pairs, and
// that write waits as patiently as theirs, and no longer.
TEST_F(ApplyTroubleTest, WhatIsKnownOfTheSenderComesFirst) {
  OpenWithView();
  ASSERT_ROCKS_OK(db_->SetMembers(1, {db_->Identity().replica_id, kPeer}));
  Membership* const members = StoreAccess::MembershipOf(db_.get());
  Terms agreed;
  const auto met = [&](const Incarnation& incarnation) {
    Announcement peer = members->Announce();
    for (Member& member : peer.gc.members) member.incarnation = {};
    peer.gc.Find(kPeer)->incarnation = incarnation;
    return members->Agree(members->Now(), kPeer, incarnation.incarnation, peer,
                          &agreed);
  };
  const Incarnation incarnation = {.incarnation = {1, 7}, .past = {.since = 0}};
  ASSERT_ROCKS_OK(met(incarnation));
  view_->AgreeOn(agreed, kPeer, incarnation.incarnation);
  const Pair pair = {
      0, "k", {Now() + (uint64_t{1000} << 16), kPeer}, false, "v"};
  Stall();
  EXPECT_TRUE(absl::IsUnavailable(Apply(pair, [] { return true; })));
  EXPECT_EQ(members->Now().Find(kPeer)->incarnation.clock, pair.version.time);
  EXPECT_EQ(OutcomeAfterStall(pair), ApplyOutcome::kApplied);
  // Another incarnation by now, heard of somewhere else.
  Incarnation later = {.incarnation = {2, 8}, .first_clock = pair.version.time};
  later.past = {.since = 0,
                .incarnations = {{incarnation.incarnation, later.first_clock}}};
  ASSERT_ROCKS_OK(met(later));
  EXPECT_TRUE(absl::IsUnavailable(Apply(pair)));
  // Of another list nothing is known; that pairs go by none is said by others.
  ASSERT_ROCKS_OK(db_->SetMembers(2, {db_->Identity().replica_id, kPeer}));
  const absl::Status status = Apply(pair);
  EXPECT_NE(status.message().find("member list"), std::string::npos) << status;
}

// Whoever sets a list holds all locks until it is written.
TEST_F(ApplyTroubleTest, StatisticsDoNotWaitForAStalledWriter) {
  OpenWithView();
  Stall();
  std::thread setter([this] {
    rocksdb::Status status;
    // Busy if the stall lasts, as it does on a slow machine.
    EXPECT_TRUE(Eventually([&] {
      status = db_->SetMembers(1, {db_->Identity().replica_id, kPeer});
      return !status.IsBusy();
    }));
    EXPECT_ROCKS_OK(status);
  });
  EXPECT_TRUE(Eventually([this] { return AllStripesAreHeld(); }));
  std::atomic<bool> done{false};
  std::thread reader([this, &done] {
    EXPECT_EQ(db_->GetTombstoneGcStats().epoch, 0u);
    db_->GetIndexStats();
    EXPECT_TRUE(db_->GetIndexBuildProgress().done);
    done = true;
  });
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(done);
  EndStall();
  setter.join();
  reader.join();
  EXPECT_EQ(db_->GetTombstoneGcStats().epoch, 1u);
}

TEST_F(ApplyTroubleTest, ABrokenDiskIsAnError) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("before", "v"));
  *disk_.state = DiskState::kBroken;
  EXPECT_TRUE(absl::IsInternal(Apply({0, "k", {Now(), kPeer}, false, "v"})));
  // This one needs the lease first.
  const Version ahead = {Now() + (uint64_t{30'000} << 16), kPeer};
  EXPECT_FALSE(Apply({0, "l", ahead, false, "v"}).ok());
  EXPECT_EQ(Get("k"), "-");
  EXPECT_EQ(Get("l"), "-");
  EXPECT_EQ(Get("before"), "v");
}

TEST_F(ApplyTroubleTest, QuarantinedPairsAreMarkedOnceAndLoseAgainstAnything) {
  OpenWithView();
  store()->Reexamine(IndexKeyOf("absent"));
  EXPECT_FALSE(HasEntry("absent"));
  ASSERT_ROCKS_OK(Put("k", "v"));
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_FALSE(EntryOf("k").quarantined) << "it matches";
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, "k", "corruption"));
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_TRUE(EntryOf("k").quarantined);
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 1u);
  EXPECT_EQ(OutcomeOf({0, "k", {1, kPeer}, false, "of a peer"}),
            ApplyOutcome::kApplied);
  EXPECT_FALSE(EntryOf("k").quarantined);
  EXPECT_EQ(Get("k"), "of a peer");
}

TEST_F(ApplyTroubleTest, AQuarantinedPairThatMatchesAgainIsReleased) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, "k", "corruption"));
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_TRUE(EntryOf("k").quarantined);
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, "k", "v"));
  EXPECT_EQ(OutcomeOf({0, "k", {1, kPeer}, false, "older"}),
            ApplyOutcome::kSuperseded);
  EXPECT_FALSE(EntryOf("k").quarantined);
  EXPECT_EQ(Get("k"), "v");
  EXPECT_EQ(db_->GetIndexStats().pairs_released, 1u);
  CloseAndCheck();
}

// Reads that end short look like corruption. While they may pass, nothing older
// replaces what does not read; once they have lasted, it does.
TEST_F(ApplyTroubleTest, CorruptionIsAFactOnceItHasLasted) {
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "v"));
  const Version version = EntryOf("k").version;
  ASSERT_ROCKS_OK(db_->Flush({}));
  PutIntoIndex("k", EntryOf("k"));  // so that it need not be read from disk
  *disk_.state = DiskState::kShortReads;
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_TRUE(EntryOf("k").quarantined);
  EXPECT_EQ(EntryOf("k").version, version);
  const Pair older = {0, "k", {1, kPeer}, false, "older"};
  EXPECT_EQ(OutcomeOf(older), ApplyOutcome::kDeferred);
  *disk_.state = DiskState::kGood;
  EXPECT_EQ(Get("k"), "v");

  *disk_.state = DiskState::kShortReads;
  EXPECT_EQ(OutcomeOf(older), ApplyOutcome::kDeferred);
  env_.ahead_ms = UnreadableKeys::kLastsMs;
  EXPECT_EQ(OutcomeOf(older), ApplyOutcome::kApplied);
  *disk_.state = DiskState::kGood;
  EXPECT_EQ(Get("k"), "older");
}

TEST_F(ApplyTroubleTest, AQuarantinedPairThatCannotBeMarkedIsNotCounted) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, "k", "corruption"));
  *disk_.state = DiskState::kBroken;
  store()->Reexamine(IndexKeyOf("k"));
  EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
}

TEST_F(ApplyTroubleTest, WhoseClockIsAheadIsLoggedOnceAMinute) {
  OpenWithView();
  const Version far = {Now() + (uint64_t{3'600'000} << 16), kPeer};
  const auto lines = [this] {
    const std::string log = Log();
    int count = 0;
    for (size_t at = log.find("holding back"); at != std::string::npos;
         at = log.find("holding back", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_FALSE(view_->RejectIfTooFarAhead({Now(), kPeer}));
  EXPECT_EQ(OutcomeOf({0, "k", far, false, "v"}), ApplyOutcome::kHeldBack);
  EXPECT_TRUE(view_->RejectIfTooFarAhead(far));
  EXPECT_EQ(lines(), 1);
  EXPECT_EQ(db_->GetIndexStats().held_back_replica, kPeer);
  env_.ahead_ms = 61'000;
  EXPECT_EQ(db_->GetIndexStats().held_back_replica, 0u) << "not lately";
  EXPECT_TRUE(view_->RejectIfTooFarAhead(far));
  EXPECT_EQ(lines(), 2);
  EXPECT_EQ(db_->GetIndexStats().held_back_replica, kPeer);
}

// RocksDB would refuse such writes as long as there is anything to compact.
TEST_F(ApplyTroubleTest, LowPriorityDoesNotWaitForCompactions) {
  options_.disable_auto_compactions = true;
  options_.level0_file_num_compaction_trigger = 1;
  replication_.apply_write_options.low_pri = true;
  OpenWithView();
  for (int i = 0; i < 8; ++i) {
    ASSERT_ROCKS_OK(Put("other", "value"));
    ASSERT_ROCKS_OK(db_->Flush({}));
  }
  int looks = 0;
  const absl::Status status =
      Apply({0, "k", {Now(), kPeer}, false, "v"}, [&] { return ++looks > 99; });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Get("k"), "v");
}

// A batch with a pair of a family that RocksDB has dropped stops all writes.
TEST_F(ApplyTroubleTest, AFamilyIsDroppedBeforeApplyHasItsLocks) {
  OpenWithView();
  rocksdb::ColumnFamilyHandle* dropped = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "a", &dropped));
  view_ = StoreAccess::NewView(db_.get());
  const uint32_t ordinal = view_->OrdinalOf(dropped->GetID()).value();
  const StripeSet busy = [&] {
    StripeSet set;
    set.Add(StripeOf(view_->PositionOf(ordinal, "k")));
    return set;
  }();
  indexed()->locks()->Lock(busy);
  bool waits = true;
  const absl::Status status =
      Apply({ordinal, "k", {Now(), kPeer}, false, "v"}, [&] {
        // Apply has found its family, and waits for the lock of the key.
        if (waits) {
          waits = false;
          indexed()->locks()->Unlock(busy);
          EXPECT_ROCKS_OK(db_->DropColumnFamily(dropped));
        }
        return false;
      });
  EXPECT_FALSE(waits);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("family"), std::string::npos) << status;
  ASSERT_ROCKS_OK(Put("k", "writes go on"));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(dropped));
}

TEST_F(ApplyTroubleTest, AFamilyIsNotDroppedWhileItsPairsAreApplied) {
  // Drops a family in the middle of a batch that is applied.
  class Dropper final : public ApplyHook {
   public:
    void BeforeApply(const std::vector<AppliedChange>&) override {
      thread = std::thread([this] {
        status = db->DropColumnFamily(family);
        done = true;
      });
      // Drops that waited for nobody would be done by then, all but surely.
      for (int i = 0; i < 300 && !done; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    ReplicatedDB* db = nullptr;
    rocksdb::ColumnFamilyHandle* family = nullptr;
    std::thread thread;
    std::atomic<bool> done{false};
    rocksdb::Status status;
  };
  const auto dropper = std::make_shared<Dropper>();
  replication_.hook = dropper;
  OpenWithView();
  dropper->db = db_.get();
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "a", &dropper->family));
  view_ = StoreAccess::NewView(db_.get());
  const uint32_t ordinal = view_->OrdinalOf(dropper->family->GetID()).value();
  EXPECT_EQ(OutcomeOf({ordinal, "k", {Now(), kPeer}, false, "v"}),
            ApplyOutcome::kApplied);
  dropper->thread.join();
  ASSERT_ROCKS_OK(dropper->status);
  ASSERT_ROCKS_OK(Put("k", "writes go on"));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(dropper->family));
}

}  // namespace
}  // namespace rocksync
