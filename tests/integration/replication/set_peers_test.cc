// Peers that come and go while a replicator runs, over TLS and real RocksDB.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

// Sessions an hour apart: what arrives came by a stream, or by a session at
// once.
ReplicatorOptions Hourly() {
  ReplicatorOptions options;
  options.interval = std::chrono::hours(1);
  return options;
}

class SetPeers : public ReplicationTest {
 protected:
  // `a` goes to nobody; the others only listen.
  void SetUp() override {
    for (auto [replica, name] :
         {std::pair(&a_, "a"), std::pair(&b_, "b"), std::pair(&c_, "c")}) {
      *replica = NewReplica(name);
      ASSERT_TRUE(IsOk((*replica)->Start(Hourly())));
    }
  }

  rocksdb::Status Set(const std::vector<std::string>& peers) {
    return a_->replicator()->SetPeers(peers);
  }

  // Has a stream and was proven equal.
  bool Joined(const TestReplica& peer) {
    const ReplicationStats stats = a_->replicator()->stats();
    return std::any_of(
        stats.peers.begin(), stats.peers.end(), [&](const PeerStats& found) {
          return found.address == peer.address() && found.configured &&
                 found.stream.open == 1 && found.last_proven_equal_ms > 0;
        });
  }

  static uint64_t OpenStreams(TestReplica* replica) {
    return replica->replicator()->stats().stream.open;
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  std::unique_ptr<TestReplica> c_;
};

TEST_F(SetPeers, ANewPeerIsMetAtOnceAndStreamedTo) {
  a_->Put("before", "1");
  ASSERT_TRUE(IsOk(Set({b_->address()})));
  ASSERT_TRUE(Eventually([&] { return Joined(*b_); }));
  EXPECT_EQ(b_->Scan(), a_->Scan());
  ASSERT_TRUE(IsOk(Set({b_->address(), c_->address()})));
  ASSERT_TRUE(Eventually([&] { return Joined(*b_) && Joined(*c_); }));
  EXPECT_EQ(a_->replicator()->stats().stream.opened, 2u)
      << "that of who stays is not disturbed";
  a_->Put("after", "2");
  EXPECT_TRUE(Eventually(
      [&] { return b_->Scan() == a_->Scan() && c_->Scan() == a_->Scan(); }));
}

TEST_F(SetPeers, WhoIsRemovedGetsNothingMore) {
  ASSERT_TRUE(IsOk(Set({b_->address(), c_->address()})));
  ASSERT_TRUE(Eventually([&] { return Joined(*b_) && Joined(*c_); }));
  ASSERT_TRUE(IsOk(Set({c_->address()})));
  ASSERT_TRUE(Eventually([&] { return OpenStreams(b_.get()) == 0; }));
  a_->Put("k", "v");
  ASSERT_TRUE(Eventually([&] { return c_->Scan() == a_->Scan(); }));
  EXPECT_TRUE(b_->Scan().empty());
  ASSERT_TRUE(
      Eventually([&] { return a_->replicator()->stats().peers.size() == 1; }));
  EXPECT_EQ(a_->replicator()->stats().peers[0].address, c_->address());

  // And back again.
  ASSERT_TRUE(IsOk(Set({b_->address()})));
  EXPECT_TRUE(
      Eventually([&] { return Joined(*b_) && b_->Scan() == a_->Scan(); }));
}

TEST_F(SetPeers, WhatTheTransportRefusesChangesNothing) {
  ASSERT_TRUE(IsOk(Set({b_->address()})));
  EXPECT_TRUE(Mentions(Set({c_->address(), "nowhere"}), "nowhere"));
  ASSERT_EQ(a_->replicator()->stats().peers.size(), 1u);
  EXPECT_EQ(a_->replicator()->stats().peers[0].address, b_->address());
  EXPECT_TRUE(Eventually([&] { return Joined(*b_); }));
}

TEST_F(SetPeers, AnUnreachablePeerThatIsRemovedIsForgotten) {
  const std::string nobody = "127.0.0.1:1";
  ASSERT_TRUE(IsOk(Set({nobody})));
  ASSERT_TRUE(Eventually([&] {
    return !a_->replicator()->stats().peers.at(0).last_error.empty();
  }));
  ASSERT_TRUE(IsOk(Set({})));
  EXPECT_TRUE(a_->replicator()->stats().peers.empty());
  ASSERT_TRUE(IsOk(Set({nobody, nobody})));
  EXPECT_EQ(a_->replicator()->stats().peers.size(), 1u);
}

TEST_F(SetPeers, AfterStopIsAborted) {
  a_->replicator()->Stop();
  EXPECT_TRUE(Set({b_->address()}).IsAborted());
}

TEST_F(SetPeers, WhileOthersSyncAndItStops) {
  std::vector<std::thread> callers;
  for (const TestReplica* peer : {b_.get(), c_.get()}) {
    callers.emplace_back([this, peer] {
      for (;;) {
        const rocksdb::Status s = Set({peer->address()});
        if (s.IsAborted()) break;
        EXPECT_TRUE(IsOk(s));
        (void)a_->replicator()->SyncNow(peer->address());
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    a_->Put(Numbered("k", i), "v");
    EXPECT_TRUE(Eventually([&] {
      return b_->Scan().size() + c_->Scan().size() > static_cast<size_t>(i);
    }));
  }
  a_->replicator()->Stop();
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace rocksync
