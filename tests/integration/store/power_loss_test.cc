// What the store has to have on disk before anything follows from it: the power
// goes, and what was not synced with it.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "replication/membership/incarnation.h"
#include "replication/store/store.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/peer_memory.h"
#include "rocksdb/env.h"
#include "tests/crash/lost_power.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

// A replica whose files say what is durable, and whose clock can be set.
class PowerLossTest : public StoreTest {
 protected:
  static constexpr uint64_t kPeer = 99;
  static constexpr uint64_t kSeconds = uint64_t{1000} << 16;

  void SetUp() override {
    StoreTest::SetUp();
    options_.env = &env_;
    ASSERT_ROCKS_OK(Open());
  }

  // The process dies and the disk forgets; then it comes back.
  void LosePower() {
    {
      const std::lock_guard lock(mutex_);
      files_.CopyDurable(Dir(), Dir("durable"));
    }
    db_.reset();
    std::filesystem::remove_all(Dir());
    std::filesystem::rename(Dir("durable"), Dir());
    {
      const std::lock_guard lock(mutex_);
      files_ = {};
    }
    ASSERT_ROCKS_OK(Open());
  }

  Store* store() { return StoreAccess::StoreOf(db_.get()); }
  IndexedDB* indexed() { return StoreAccess::IndexedOf(db_.get()); }
  Membership* membership() { return StoreAccess::MembershipOf(db_.get()); }
  uint64_t Me() { return db_->Identity().replica_id; }
  uint64_t Now() { return env_.NowMicros() / 1000 << 16; }

  Version VersionOf(const std::string& key) {
    const auto view = StoreAccess::NewView(db_.get());
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    const auto entry = (*snapshot)->FindKey(0, key);
    EXPECT_TRUE(entry.ok() && entry->has_value()) << key;
    return (*entry)->version;
  }
  void Apply(const std::string& key, uint64_t time) {
    Apply(key, time, StoreAccess::NewView(db_.get()).get());
  }
  static void Apply(const std::string& key, uint64_t time, ReplicaView* view) {
    std::vector<ApplyOutcome> outcomes;
    const Pair pair = {0, key, {time, kPeer}, false, "a peer's"};
    const absl::Status status = view->Apply({&pair, 1}, {}, &outcomes);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(outcomes[0], ApplyOutcome::kApplied);
  }

  // What a member that lists both of us says.
  Announcement PeerSays(uint64_t reading) {
    Announcement said = {reading, membership()->Now()};
    GcState* const gc = &said.gc;
    for (Member& member : gc->members) member.summary = reading;
    Member* const they = gc->Find(kPeer);
    they->acknowledged = reading;
    they->incarnation = {
        kIncarnation, 1, reading, {.since = 1, .incarnations = {}}};
    return said;
  }
  // Meets a peer and is proven equal to it.
  void Meet(const Announcement& peer) {
    const Announcement mine = membership()->Announce();
    Terms agreed;
    ASSERT_ROCKS_OK(
        membership()->Agree(mine.gc, kPeer, kIncarnation, peer, &agreed));
    ASSERT_ROCKS_OK(membership()->Proved(mine, kPeer, peer));
  }
  uint64_t Acknowledged() {
    return membership()->Now().Find(Me())->acknowledged;
  }

  static constexpr IncarnationId kIncarnation{.counter = 1, .random = 5};

  std::mutex mutex_;
  crash::DurableFiles files_;
  std::unique_ptr<rocksdb::Env> telling_ =
      crash::NewTellingEnv([this](const std::string& line) {
        const std::lock_guard lock(mutex_);
        files_.Note(line);
      });
  WrongClock env_{telling_.get()};
};

TEST_F(PowerLossTest, WhatIsNotSyncedIsLostAndWhatIsSyncedIsNot) {
  ASSERT_ROCKS_OK(Put("first", "1"));
  const auto view = StoreAccess::NewView(db_.get());
  ASSERT_TRUE(view->Sync().ok());
  // Unless something else syncs the log just then, as the lease does.
  int lost = 0;
  for (int tries = 0; lost == 0 && tries < 50; ++tries) {
    const std::string key = "key" + std::to_string(tries);
    ASSERT_ROCKS_OK(Put(key, "2"));
    LosePower();
    EXPECT_EQ(Get("first"), "1");
    lost += Get(key) == "-" ? 1 : 0;
  }
  EXPECT_GT(lost, 0);
  CloseAndCheck();
}

TEST_F(PowerLossTest, NoVersionIsIssuedTwice) {
  ASSERT_ROCKS_OK(Put("before", "1"));
  env_.ahead_ms = 60'000;
  ASSERT_ROCKS_OK(Put("key", "lost"));
  const Version lost = VersionOf("key");
  env_.ahead_ms = 0;
  LosePower();
  ASSERT_ROCKS_OK(Put("key", "later"));
  EXPECT_GT(VersionOf("key"), lost);
}

TEST_F(PowerLossTest, LocalWritesBeatWhatWasAppliedAndLost) {
  Apply("key", Now() + 30 * kSeconds);
  const Version lost = VersionOf("key");
  LosePower();
  ASSERT_ROCKS_OK(Put("key", "later"));
  EXPECT_GT(VersionOf("key"), lost);
}

TEST_F(PowerLossTest, AnOpeningThatPeersMayHaveMetIsRemembered) {
  LosePower();
  const Incarnation met = StoreAccess::IncarnationOf(db_.get());
  LosePower();
  const Incarnation now = StoreAccess::IncarnationOf(db_.get());
  EXPECT_EQ(now.incarnation.counter, met.incarnation.counter + 1);
  EXPECT_EQ(Compare(met, now), Succession::kFollows)
      << Describe(Compare(met, now), met, now);
}

TEST_F(PowerLossTest, TheMemberListIsRemembered) {
  ASSERT_ROCKS_OK(db_->SetMembers(7, {Me(), kPeer}));
  LosePower();
  EXPECT_EQ(db_->GetTombstoneGcStats().epoch, 7u);
  EXPECT_EQ(db_->GetTombstoneGcStats().members.size(), 2u);
}

TEST_F(PowerLossTest,
       AListThatIsLearnedIsRememberedAndItsMembersClockFollowed) {
  GcState theirs;
  ASSERT_TRUE(theirs.SetMembers(3, {Me(), kPeer}, kPeer).ok());
  const uint64_t reading = Now() + 30 * kSeconds;
  ASSERT_ROCKS_OK(membership()->Learn({reading, theirs}));
  LosePower();
  EXPECT_EQ(db_->GetTombstoneGcStats().epoch, 3u);
  ASSERT_ROCKS_OK(Put("key", "a new member's"));
  EXPECT_GT(VersionOf("key").time, reading);
}

TEST_F(PowerLossTest, WhatIsAcknowledgedIsRemembered) {
  ASSERT_ROCKS_OK(db_->SetMembers(1, {Me(), kPeer}));
  ASSERT_ROCKS_OK(Put("key", "value"));
  const uint64_t reading = Now() - kSeconds;
  Meet(PeerSays(reading));
  const uint64_t acknowledged = Acknowledged();
  ASSERT_GT(acknowledged, 0u);
  LosePower();
  EXPECT_EQ(Acknowledged(), acknowledged);
}

TEST_F(PowerLossTest, TheStableTimeIsRemembered) {
  ASSERT_ROCKS_OK(db_->SetMembers(1, {Me(), kPeer}));
  ASSERT_ROCKS_OK(db_->Delete({}, "key"));
  Meet(PeerSays(Now()));
  ASSERT_ROCKS_OK(db_->CollectTombstones());
  const uint64_t stable_time = indexed()->reader().stable_time();
  ASSERT_GT(stable_time, 0u);
  LosePower();
  EXPECT_EQ(indexed()->reader().stable_time(), stable_time);
}

// Whoever has a peer's pairs knows from which of its lives they came.
TEST_F(PowerLossTest, TheSenderOfAPairThatIsThereIsRemembered) {
  ASSERT_ROCKS_OK(db_->SetMembers(1, {Me(), kPeer}));
  Meet(PeerSays(Now()));
  const auto view = StoreAccess::NewView(db_.get());
  view->AgreeOn(store()->applier()->terms(), kPeer, kIncarnation);
  const uint64_t later = Now() + 20 * kSeconds;
  Apply("key", later, view.get());
  ASSERT_TRUE(view->Sync().ok());
  LosePower();
  EXPECT_EQ(Get("key"), "a peer's");
  EXPECT_GE(membership()->Now().Find(kPeer)->incarnation.clock, later);
}

TEST_F(PowerLossTest, APeerIsRemembered) {
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->Remember(
      kPeer, {kIncarnation, 1, Now(), {.since = 1, .incarnations = {}}}));
  LosePower();
  const auto known = StoreAccess::PeersOf(db_.get())->Recall(kPeer);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->incarnation, kIncarnation);
}

TEST_F(PowerLossTest, ThatAnIncarnationIsOverIsRemembered) {
  const uint64_t before = Me();
  ASSERT_ROCKS_OK(StoreAccess::PeersOf(db_.get())->NoteSuperseded());
  replication_.open_copy_as_new_replica = true;
  LosePower();
  EXPECT_NE(Me(), before);
}

}  // namespace
}  // namespace rocksync
