// Peers that come and go while a replicator runs, over TLS and real RocksDB.

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "rocksync/transport.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/replication/silent_port.h"

namespace rocksync {
namespace {

class SetPeers : public ReplicationTest {
 protected:
  // `a` goes to nobody; the others only listen.
  void SetUp() override {
    for (auto [replica, name] :
         {std::pair(&a_, "a"), std::pair(&b_, "b"), std::pair(&c_, "c")}) {
      *replica = NewReplica(name);
      ASSERT_TRUE(IsOk((*replica)->Start(TestReplica::Hourly())));
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
  // A session that is under way ends by itself.
  ASSERT_TRUE(
      Eventually([&] { return a_->replicator()->stats().peers.size() == 1; }));
  ASSERT_TRUE(Eventually([&] { return OpenStreams(b_.get()) == 0; }));
  a_->Put("k", "v");
  ASSERT_TRUE(Eventually([&] { return c_->Scan() == a_->Scan(); }));
  EXPECT_TRUE(b_->Scan().empty());
  EXPECT_EQ(a_->replicator()->stats().peers[0].address, c_->address());

  // And back again.
  ASSERT_TRUE(IsOk(Set({b_->address()})));
  EXPECT_TRUE(
      Eventually([&] { return Joined(*b_) && b_->Scan() == a_->Scan(); }));
}

// Of three one in an hour, which is the newcomer; and no connection to it is
// left that would keep others out.
TEST_F(SetPeers, OfManyThoseWhoseTurnItIsAreMetAndWhoIsAskedFor) {
  c_->Stop();
  ReplicatorOptions one_dialer = TestReplica::Hourly();
  one_dialer.max_accepted = 1;
  ASSERT_TRUE(IsOk(c_->Start(one_dialer)));
  const std::unique_ptr<TestReplica> d = NewReplica("d");
  ASSERT_TRUE(IsOk(d->Start(TestReplica::Hourly())));
  a_->Stop();
  ReplicatorOptions one_by_one = TestReplica::Hourly();
  one_by_one.max_peers_per_interval = 1;
  one_by_one.stream = false;
  one_by_one.peers = {b_->address()};
  ASSERT_TRUE(IsOk(a_->Start(one_by_one)));
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  const auto sessions_with = [&](const TestReplica& peer) {
    for (const PeerStats& of : a_->replicator()->stats().peers) {
      if (of.address == peer.address()) return of.sessions;
    }
    return uint64_t{0};
  };
  ASSERT_TRUE(IsOk(Set({b_->address(), c_->address()})));
  ASSERT_TRUE(Eventually([&] { return sessions_with(*c_) == 1; }));
  EXPECT_TRUE(Eventually(
      [&] { return b_->replicator()->SyncNow(c_->address()).ok(); }));
  ASSERT_TRUE(IsOk(Set({b_->address(), c_->address(), d->address()})));
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(d->address())));
  EXPECT_EQ(sessions_with(*d), 1u) << "that which was asked for";
  EXPECT_EQ(sessions_with(*c_), 1u);
}

TEST_F(SetPeers, WhatTheTransportRefusesChangesNothing) {
  ASSERT_TRUE(IsOk(Set({b_->address()})));
  EXPECT_TRUE(Mentions(Set({c_->address(), "nowhere"}), "nowhere"));
  ASSERT_EQ(a_->replicator()->stats().peers.size(), 1u);
  EXPECT_EQ(a_->replicator()->stats().peers[0].address, b_->address());
  EXPECT_TRUE(Eventually([&] { return Joined(*b_); }));
}

// While it lives the system gives this process no thread: none has room for
// such a stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t attributes;
    EXPECT_EQ(pthread_getattr_default_np(&attributes), 0);
    EXPECT_EQ(pthread_attr_getstacksize(&attributes, &stack_bytes_), 0);
    pthread_attr_destroy(&attributes);
    SetStackBytes(size_t{1} << 60);
  }
  ~NoThreads() { SetStackBytes(stack_bytes_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static void SetStackBytes(size_t bytes) {
    pthread_attr_t attributes;
    EXPECT_EQ(pthread_getattr_default_np(&attributes), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
  }

  size_t stack_bytes_ = 0;
};

TEST_F(SetPeers, AStreamForWhichThereWasNoThreadIsOpenedByTheNextCall) {
  const std::vector<std::string> peers = {b_->address(), c_->address()};
  {
    const NoThreads none;
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
    const rocksdb::Status refused = Set(peers);
    EXPECT_TRUE(refused.IsAborted()) << refused.ToString();
    EXPECT_TRUE(Mentions(refused, "cannot start a thread"));
  }
  EXPECT_EQ(a_->replicator()->stats().peers.size(), 2u);
  ASSERT_TRUE(IsOk(Set(peers)));
  a_->Put("k", "v");
  EXPECT_TRUE(Eventually([&] {
    return Joined(*b_) && Joined(*c_) && b_->Scan() == a_->Scan() &&
           c_->Scan() == a_->Scan();
  }));
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

TEST_F(SetPeers, PeersThatSayNothingHoldNobodyUp) {
  a_->Stop();
  const SilentPort silent[3];
  ReplicatorOptions options;
  options.interval = milliseconds(100);
  options.stream = false;
  options.peers = {silent[0].address(), silent[1].address(),
                   silent[2].address(), b_->address()};
  ASSERT_TRUE(IsOk(a_->Start(options)));
  ASSERT_TRUE(Eventually(
      [&] { return a_->replicator()->stats().peers.at(3).sessions >= 20; }));
  // One thread would have waited for each of these between two sessions.
  EXPECT_LT(a_->replicator()->stats().sessions_failed, 20u);
}

// Whose attempts to connect end when they may, whatever they are told.
class StuckTransport : public Transport {
 public:
  rocksdb::Status Connect(const std::string&, milliseconds,
                          const std::function<bool()>&,
                          std::unique_ptr<Connection>*) override {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_; });
    --waiting_;
    return rocksdb::Status::TimedOut("nobody");
  }
  rocksdb::Status Listen(
      const std::string&,
      std::function<void(std::unique_ptr<Connection>)>) override {
    return rocksdb::Status::OK();
  }
  std::string listen_address() const override { return "here"; }
  void StopListening() override {}

  void Await(size_t connecting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= connecting; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t waiting_ = 0;
  bool released_ = false;
};

TEST_F(SetPeers, ThreadsOfRemovedPeersAreBounded) {
  a_->Stop();
  const auto transport = std::make_shared<StuckTransport>();
  std::unique_ptr<Replicator> replicator;
  ReplicatorOptions streams_to_all = TestReplica::Hourly();
  streams_to_all.max_stream_peers = 0;
  ASSERT_TRUE(IsOk(
      Replicator::Start(streams_to_all, a_->db(), transport, &replicator)));
  std::vector<std::string> many;
  for (int i = 0; i < 256; ++i) many.push_back(Numbered("peer", i));
  ASSERT_TRUE(IsOk(replicator->SetPeers(many)));
  transport->Await(256);
  ASSERT_TRUE(IsOk(replicator->SetPeers({})));
  // Sessions connect as well, so some streams had not begun to when their peers
  // were removed, and these have ended: a few more peers may be taken.
  std::string refused;
  int tried = 0;
  EXPECT_TRUE(Eventually([&] {
    refused = Numbered("another", tried++);
    return replicator->SetPeers({refused}).IsBusy();
  }));
  EXPECT_LE(tried, 100);
  for (const PeerStats& peer : replicator->stats().peers) {
    EXPECT_NE(peer.address, refused) << "nothing has changed";
  }
  transport->Release();
  EXPECT_TRUE(
      Eventually([&] { return replicator->SetPeers({"another"}).ok(); }));
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
