// Quarantined pairs are in no replica's set: while there are any, equal digests
// are no proof, and nobody says so; once they are resolved, they are one.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

class QuarantineTest : public ReplicationTest {
 protected:
  void SetUp() override {
    a_ = NewReplica("a");
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(b_->Start()));
    ReplicatorOptions options = TestReplica::OnDemand();
    options.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(options)));
    for (int i = 0; i < 100; ++i) a_->Put(Numbered("k", i), "value");
    a_->Delete("k99");
    ASSERT_TRUE(IsOk(Sync()));
  }

  rocksdb::Status Sync() { return a_->replicator()->SyncNow(b_->address()); }
  rocksdb::Status Verify(VerifyResult* result) {
    VerifyOptions options;
    options.in_flight_wait = milliseconds(0);
    return a_->replicator()->Verify(b_->address(), options, nullptr, result);
  }
  // Nothing is resolved meanwhile.
  static void PauseResolving(TestReplica* replica, bool paused) {
    ReplicatorLimits limits = replica->replicator()->limits();
    limits.scrub_paused = paused;
    ASSERT_TRUE(IsOk(replica->replicator()->SetLimits(limits)));
  }
  // Bypasses rocksync as a disk would; found by a scrub.
  static void Quarantine(TestReplica* replica, const std::string& key,
                         const std::string& value) {
    IndexedDB* const store = StoreAccess::IndexedOf(replica->db());
    ASSERT_TRUE(IsOk(store->db()->Put({}, key, value)));
    const uint64_t before = PairsQuarantined(replica);
    ASSERT_TRUE(IsOk(replica->replicator()->ScrubNow()));
    ASSERT_EQ(PairsQuarantined(replica), before + 1) << "it was found";
  }
  static uint64_t PairsQuarantined(TestReplica* replica) {
    return replica->db()->GetIndexStats().pairs_quarantined;
  }
  static PeerStats PeerOf(TestReplica* replica) {
    return replica->replicator()->stats().peers.at(0);
  }
  // So that the one who only listens knows whom to ask.
  void MakeMembers() {
    ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a_->id(), b_->id()})));
  }
  // What `of` knows that the other one holds of its own.
  static uint64_t Held(TestReplica* of, TestReplica* other) {
    for (const MemberStats& member : of->db()->GetTombstoneGcStats().members) {
      if (member.replica_id == other->id()) return member.held_ms;
    }
    return 0;
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
};

TEST_F(QuarantineTest, OfOneKeyOnBothSidesAreNotCalledEqual) {
  MakeMembers();
  Quarantine(a_.get(), "k5", "of a");
  Quarantine(b_.get(), "k5", "of b");
  for (TestReplica* replica : {a_.get(), b_.get()}) {
    PauseResolving(replica, true);
  }
  const uint64_t proven_ms = PeerOf(a_.get()).last_proven_equal_ms;
  EXPECT_GT(proven_ms, 0u);
  rocksdb::Status status = Sync();
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "1 here, 1 at the peer"));
  EXPECT_TRUE(Mentions(status, "resolved"));
  for (TestReplica* replica : {a_.get(), b_.get()}) {
    const PeerStats peer = PeerOf(replica);
    EXPECT_FALSE(peer.last.proven_equal);
    EXPECT_EQ(peer.last.quarantined_here, 1u);
    EXPECT_EQ(peer.last.quarantined_there, 1u);
    EXPECT_EQ(replica->db()->GetIndexStats().quarantined_now, 1u);
  }
  EXPECT_EQ(PeerOf(a_.get()).last_proven_equal_ms, proven_ms);
  EXPECT_GT(PeerOf(a_.get()).digests_equal_as_of_ms,
            PeerOf(a_.get()).equal_as_of_ms);
  EXPECT_EQ(Held(a_.get(), b_.get()), 0u) << "no proof, nothing is known";
  EXPECT_EQ(Held(b_.get(), a_.get()), 0u);
  VerifyResult result;
  status = Verify(&result);
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "1 here, 1 at the peer"));
  EXPECT_FALSE(result.equal);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.quarantined_here, 1u);
  EXPECT_EQ(result.quarantined_there, 1u);

  // Nobody knows better: both become unversioned, and one of them wins.
  for (TestReplica* replica : {a_.get(), b_.get()}) {
    PauseResolving(replica, false);
  }
  ASSERT_TRUE(Eventually([&] { return Sync().ok(); }));
  // What is resolved in the middle of a session is a write like any other.
  ASSERT_TRUE(IsOk(Sync()));
  EXPECT_EQ(a_->Scan(), b_->Scan());
  EXPECT_GE(PeerOf(a_.get()).last_proven_equal_ms, proven_ms);
  EXPECT_GT(Held(a_.get(), b_.get()), 0u);
  EXPECT_GT(Held(b_.get(), a_.get()), 0u);
  EXPECT_TRUE(IsOk(Verify(&result)));
  EXPECT_TRUE(result.equal);
  for (TestReplica* replica : {a_.get(), b_.get()}) {
    EXPECT_EQ(replica->db()->GetIndexStats().quarantined_now, 0u);
  }
}

TEST_F(QuarantineTest, OfAKeyThatTheOtherLacksAreNotCalledEqual) {
  for (TestReplica* holder : {a_.get(), b_.get()}) {
    if (holder == b_.get()) MakeMembers();
    const std::string key = holder == a_.get() ? "of a" : "of b";
    holder->Put(key, "value");
    Quarantine(holder, key, "valuf");
    const rocksdb::Status status = Sync();
    EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
    EXPECT_TRUE(Mentions(status, holder == a_.get() ? "1 here, 0 at the peer"
                                                    : "0 here, 1 at the peer"));
    ASSERT_TRUE(Eventually([&] { return Sync().ok(); }));
    EXPECT_EQ(a_->Scan(), b_->Scan());
    EXPECT_EQ(b_->Scan()[key], "valuf") << "not lost";
  }
}

// What was quarantined when the replica was closed is resolved without waiting
// for the next scrub.
TEST_F(QuarantineTest, FromBeforeARestartAreResolved) {
  a_->Put("mine alone", "value");
  Quarantine(a_.get(), "mine alone", "valuf");
  PauseResolving(a_.get(), true);
  EXPECT_TRUE(Sync().IsIncomplete());
  a_->Stop();
  a_->Close();
  ASSERT_TRUE(a_->Open());
  ReplicatorOptions options = TestReplica::OnDemand();
  options.peers = {b_->address()};
  ASSERT_TRUE(IsOk(a_->Start(options)));
  EXPECT_TRUE(Sync().IsIncomplete());
  ASSERT_TRUE(Eventually([&] { return Sync().ok(); }));
  EXPECT_EQ(a_->Scan(), b_->Scan());
  EXPECT_EQ(b_->Scan()["mine alone"], "valuf");
}

// A write, or a peer's pair, ends the suspicion: nothing is left out then.
TEST_F(QuarantineTest, ThatAreWrittenOrRepairedAreNoObstacle) {
  Quarantine(a_.get(), "k5", "of a");
  EXPECT_TRUE(IsOk(Sync())) << "the peer's replaced it in this very session";
  a_->Put("mine alone", "value");
  Quarantine(a_.get(), "mine alone", "valuf");
  a_->Delete("mine alone");
  EXPECT_TRUE(IsOk(Sync()));
  EXPECT_EQ(a_->Scan(), b_->Scan());
}

}  // namespace
}  // namespace rocksync
