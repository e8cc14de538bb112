// Pairs from peers when something is wrong here, and the rare turns of apply.

#include <chrono>
#include <string>
#include <thread>

#include "replication/store/membership.h"
#include "tests/integration/store/trouble_fixture.h"

namespace rocksync {
namespace {

class ApplyTroubleTest : public TroubleTest {
 protected:
  // Two values, the one with the smaller hash first.
  ApplyTroubleTest() {
    if (HashValue(lesser_) > HashValue(greater_)) lesser_.swap(greater_);
  }

  // An adopted pair whose entry holds the element's hash, not the value's.
  void OpenWithAdopted(const std::string& value) {
    OpenWithView();
    EXPECT_EQ(OutcomeOf({0, "k", {}, false, value}), ApplyOutcome::kApplied);
    OpenWithView();
    EXPECT_FALSE(EntryOf("k").pending);
  }

  std::string lesser_ = "a";
  std::string greater_ = "b";
};

TEST_F(ApplyTroubleTest, AnEntryThatDoesNotRead) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "mine"));
  DamageEntry("k");
  EXPECT_TRUE(absl::IsDataLoss(Apply({0, "k", {Now(), kPeer}, false, "v"})));
  EXPECT_EQ(Get("k"), "mine");
}

TEST_F(ApplyTroubleTest, RotLosesAgainstAnyPairOfItsVersion) {
  OpenWithAdopted(greater_);
  for (const std::string& value : {lesser_, greater_}) {
    EXPECT_EQ(OutcomeOf({0, "k", {}, false, value}), ApplyOutcome::kSuperseded);
  }
  ASSERT_ROCKS_OK(store()->db()->Put({}, "k", "rot"));
  EXPECT_EQ(OutcomeOf({0, "k", {}, false, lesser_}), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), lesser_);
}

TEST_F(ApplyTroubleTest, SoDoesAPairThatIsLost) {
  OpenWithAdopted(greater_);
  ASSERT_ROCKS_OK(store()->db()->Delete({}, "k"));
  EXPECT_EQ(OutcomeOf({0, "k", {}, false, lesser_}), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), lesser_);
}

TEST_F(ApplyTroubleTest, AValueThatCannotBeReadIsKept) {
  OpenWithAdopted(lesser_);
  PutIntoIndex("k", EntryOf("k"));  // so that it need not be read from disk
  *disk_.state = DiskState::kUnreadable;
  EXPECT_FALSE(Apply({0, "k", {}, false, greater_}).ok());
  *disk_.state = DiskState::kGood;
  EXPECT_EQ(Get("k"), lesser_);
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

TEST_F(ApplyTroubleTest, AForgottenTombstoneKillsAndLeavesNoEntry) {
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

TEST_F(ApplyTroubleTest, WhatWasAgreedUponBeforeTheHorizonMovedIsRefused) {
  OpenWithView();
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
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EndStall();
  });
  EXPECT_EQ(OutcomeOf({0, "k", {Now(), kPeer}, false, "v"}),
            ApplyOutcome::kApplied);
  other.join();
  EXPECT_EQ(Get("k"), "v");
}

// What is known of the sender's life is written before its pairs, and that
// write waits as patiently as theirs, and no longer.
TEST_F(ApplyTroubleTest, WhatIsKnownOfTheSenderComesFirst) {
  OpenWithView();
  ASSERT_ROCKS_OK(db_->SetMembers(1, {db_->Identity().replica_id, kPeer}));
  Membership* const members = StoreAccess::MembershipOf(db_.get());
  const size_t they = *members->Now().list.Find(kPeer);
  const auto met = [&](const Life& life) {
    Announcement peer = members->Announce();
    peer.forgetting.lives.assign(2, {});
    peer.forgetting.lives[they] = life;
    Horizon agreed;
    return members->Agree(members->Now(), kPeer, life.incarnation, peer,
                          &agreed);
  };
  const Life life = {.incarnation = {1, 7}, .past = {.since = 0}};
  ASSERT_ROCKS_OK(met(life));
  view_->AgreeOn({1, 0}, kPeer, life.incarnation);
  const Pair pair = {
      0, "k", {Now() + (uint64_t{1000} << 16), kPeer}, false, "v"};
  Stall();
  EXPECT_TRUE(absl::IsUnavailable(Apply(pair, [] { return true; })));
  EXPECT_EQ(members->Now().lives[they].clock, pair.version.time);
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EndStall();
  });
  EXPECT_EQ(OutcomeOf(pair), ApplyOutcome::kApplied);
  other.join();
  // Another life by now, heard of somewhere else.
  Life later = {.incarnation = {2, 8}, .first_clock = pair.version.time};
  later.past = {.since = 0, .lives = {{life.incarnation, later.first_clock}}};
  ASSERT_ROCKS_OK(met(later));
  EXPECT_TRUE(absl::IsUnavailable(Apply(pair)));
  // Of another list nothing is known; that pairs go by none is said by others.
  ASSERT_ROCKS_OK(db_->SetMembers(2, {db_->Identity().replica_id, kPeer}));
  const absl::Status status = Apply(pair);
  EXPECT_NE(status.message().find("member list"), std::string::npos) << status;
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

TEST_F(ApplyTroubleTest, SuspectsAreMarkedOnceAndLoseAgainstAnything) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "v"));
  const Version version = EntryOf("k").version;
  store()->MarkSuspect(family(), "absent", version);
  EXPECT_FALSE(HasEntry("absent"));
  store()->MarkSuspect(family(), "k", {version.time + 1, version.replica});
  EXPECT_FALSE(EntryOf("k").suspect) << "it has been written since";
  store()->MarkSuspect(family(), "k", version);
  EXPECT_TRUE(EntryOf("k").suspect);
  store()->MarkSuspect(family(), "k", version);
  EXPECT_EQ(db_->GetIndexStats().suspect_pairs, 1u);
  EXPECT_EQ(OutcomeOf({0, "k", {1, kPeer}, false, "of a peer"}),
            ApplyOutcome::kApplied);
  EXPECT_FALSE(EntryOf("k").suspect);
  EXPECT_EQ(Get("k"), "of a peer");
}

TEST_F(ApplyTroubleTest, ASuspectThatCannotBeMarkedIsNotCounted) {
  OpenWithView();
  ASSERT_ROCKS_OK(Put("k", "v"));
  *disk_.state = DiskState::kBroken;
  store()->MarkSuspect(family(), "k", EntryOf("k").version);
  EXPECT_EQ(db_->GetIndexStats().suspect_pairs, 0u);
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
  EXPECT_FALSE(view_->HoldsBack({Now(), kPeer}));
  EXPECT_EQ(OutcomeOf({0, "k", far, false, "v"}), ApplyOutcome::kHeldBack);
  EXPECT_TRUE(view_->HoldsBack(far));
  EXPECT_EQ(lines(), 1);
  env_.ahead_micros = 61'000'000;
  EXPECT_TRUE(view_->HoldsBack(far));
  EXPECT_EQ(lines(), 2);
}

}  // namespace
}  // namespace rocksync
