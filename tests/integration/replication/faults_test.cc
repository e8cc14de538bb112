// Connections that break, peers that are away, and what is said about it.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rocksync/max_duration.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

using Faults = ReplicationTest;

TEST_F(Faults, PeerDownAndComingBack) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  b->Stop();
  ReplicatorOptions options;
  options.interval = milliseconds(100);
  options.peers = {b->address()};
  ASSERT_TRUE(IsOk(a->Start(options)));
  a->Put("k", "v");
  const rocksdb::Status s = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "cannot connect to " + b->address()));
  const ReplicationStats stats = a->replicator()->stats();
  EXPECT_GE(stats.peers[0].sessions_failed, 1u);
  EXPECT_NE(stats.peers[0].last_error.find("cannot connect"),
            std::string::npos);

  ASSERT_TRUE(IsOk(b->Start()));
  EXPECT_TRUE(Eventually([&] { return b->Scan() == a->Scan(); }));
  EXPECT_TRUE(Eventually(
      [&] { return a->replicator()->stats().peers[0].last_error.empty(); }));
}

TEST_F(Faults, AReplicaThatRestartsIsMetAgainOverANewConnection) {
  const auto a = NewReplica("a");
  auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  b->Stop();
  b->Close();
  ASSERT_TRUE(b->Open());
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("after", "the restart");
  EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(b->Scan(), a->Scan());
}

TEST_F(Faults, CutAfterAnyNumberOfFramesHealsInTheEnd) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const auto network = NewMemoryNetwork();
  const auto faults = NewMemoryFaults();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.listen_address = "b";
  std::unique_ptr<Replicator> listener;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, b->db(), network->Join(b->id()), &listener)));
  options.listen_address = "";
  std::unique_ptr<Replicator> dialer;
  ASSERT_TRUE(IsOk(Replicator::Start(options, a->db(),
                                     network->Join(a->id(), faults), &dialer)));
  bool healed = false;
  for (int frames = 0; frames < 60; ++frames) {
    for (int i = 0; i < 20; ++i) {
      (i % 2 ? a : b)->Put(std::to_string(frames * 100 + i), "value");
    }
    faults->Cut(frames);
    const rocksdb::Status s = dialer->SyncNow("b");
    if (s.ok()) healed = true;
    if (!s.ok()) {
      EXPECT_TRUE(s.IsIOError()) << frames << ": " << s.ToString();
    }
  }
  EXPECT_TRUE(healed) << "no session ends within 60 frames";
  faults->Cut(-1);
  ASSERT_TRUE(IsOk(dialer->SyncNow("b")));
  EXPECT_EQ(a->Scan(), b->Scan());
  EXPECT_EQ(a->Scan().size(), 60u * 20);
}

TEST_F(Faults, ASilentPeerIsDropped) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const auto network = NewMemoryNetwork();
  const auto faults = NewMemoryFaults();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.io_timeout = milliseconds(2000);
  options.listen_address = "b";
  std::unique_ptr<Replicator> listener;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, b->db(), network->Join(b->id()), &listener)));
  options.listen_address = "";
  std::unique_ptr<Replicator> dialer;
  ASSERT_TRUE(IsOk(Replicator::Start(options, a->db(),
                                     network->Join(a->id(), faults), &dialer)));
  ASSERT_TRUE(IsOk(dialer->SyncNow("b")));
  faults->SetDrop(true);
  const rocksdb::Status s = dialer->SyncNow("b");
  EXPECT_TRUE(s.IsTimedOut()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "raise io_timeout"));
  faults->SetDrop(false);
  EXPECT_TRUE(IsOk(dialer->SyncNow("b")));
}

TEST_F(Faults, AFrozenPeerKeepsNobodyOut) {
  const auto network = NewMemoryNetwork();
  const auto frozen = NewMemoryFaults();
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const auto c = NewReplica("c");
  const auto start = [&](TestReplica* replica, const std::string& listen,
                         std::shared_ptr<MemoryFaults> of_dialed) {
    ReplicatorOptions options = TestReplica::OnDemand();
    options.io_timeout = std::chrono::minutes(10);
    options.listen_address = listen;
    std::unique_ptr<Replicator> replicator;
    EXPECT_TRUE(IsOk(Replicator::Start(
        options, replica->db(),
        network->Join(replica->id(), std::move(of_dialed)), &replicator)));
    return replicator;
  };
  const auto at_c = start(c.get(), "c", nullptr);
  const auto at_b = start(b.get(), "", nullptr);
  const auto at_a = start(a.get(), "a", frozen);
  ASSERT_TRUE(IsOk(at_a->SyncNow("c")));
  frozen->SetDrop(true);
  std::atomic<bool> over{false};
  std::thread with_c([&] {
    EXPECT_FALSE(at_a->SyncNow("c").ok());
    over = true;
  });
  EXPECT_TRUE(Eventually([&] {
    for (const PeerStats& peer : at_a->stats().peers) {
      if (peer.address == "c" && !peer.last.finished) return true;
    }
    return false;
  })) << "a is in a session with c";
  b->Put("k", "v");
  EXPECT_TRUE(IsOk(at_b->SyncNow("a")));
  EXPECT_EQ(a->Scan(), b->Scan());
  EXPECT_FALSE(over);
  frozen->Cut(0);
  with_c.join();
}

TEST_F(Faults, KilledConnectionsUnderLoad) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 20'000; ++i) {
    a->Put(std::to_string(i), std::string(200, 'x'));
  }
  // The listener goes and comes while the dialer heals.
  ASSERT_TRUE(IsOk(a->Start()));
  std::atomic<bool> done{false};
  std::thread killer([&] {
    while (!done) {
      std::this_thread::sleep_for(milliseconds(30));
      b->Stop();
      EXPECT_TRUE(IsOk(b->Start()));
    }
  });
  for (int i = 0; i < 15; ++i) {
    const rocksdb::Status s = a->replicator()->SyncNow(b->address());
    (void)s;  // either it got through between two kills or not
  }
  done = true;
  killer.join();
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(a->Scan(), b->Scan());
}

// Addresses of calls at which nobody was met do not pile up; what the options
// name and who is connected stays.
TEST_F(Faults, AddressesOfOtherCallsAreNoPeers) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const auto network = NewMemoryNetwork();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.listen_address = "b";
  std::unique_ptr<Replicator> listener;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, b->db(), network->Join(b->id()), &listener)));
  options.listen_address = "";
  options.peers = {"of the options"};
  std::unique_ptr<Replicator> dialer;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, a->db(), network->Join(a->id()), &dialer)));
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(dialer->SyncNow(Numbered("nobody ", i)).IsIOError());
  }
  EXPECT_TRUE(IsOk(dialer->SyncNow("b")));
  const std::vector<PeerStats> peers = dialer->stats().peers;
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers.front().address, "of the options");
  EXPECT_EQ(peers.back().address, "b");
}

TEST_F(Faults, PortTaken) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  std::shared_ptr<Transport> transport;
  ASSERT_TRUE(IsOk(b->NewTransport(&transport)));
  ReplicatorOptions options = TestReplica::OnDemand();
  options.listen_address = a->address();
  std::unique_ptr<Replicator> replicator;
  const rocksdb::Status s =
      Replicator::Start(options, b->db(), transport, &replicator);
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, a->address()));
  EXPECT_TRUE(Mentions(s, "choose another port"));
  EXPECT_EQ(replicator, nullptr);
}

class WrongOptions : public ReplicationTest {
 protected:
  WrongOptions() : a_(NewReplica("a")) {
    EXPECT_TRUE(IsOk(a_->NewTransport(&transport_)));
  }

  // The refusal of options that `spoil` has changed.
  rocksdb::Status Refused(
      const std::function<void(ReplicatorOptions*)>& spoil) {
    ReplicatorOptions options = TestReplica::OnDemand();
    spoil(&options);
    std::unique_ptr<Replicator> replicator;
    const rocksdb::Status s =
        Replicator::Start(options, a_->db(), transport_, &replicator);
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    return s;
  }

  const std::unique_ptr<TestReplica> a_;
  std::shared_ptr<Transport> transport_;
};

TEST_F(WrongOptions, AreNamed) {
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->interval = milliseconds(-1); }),
                       "interval"));
  EXPECT_TRUE(Mentions(
      Refused([](auto* o) { o->io_timeout = milliseconds(0); }), "io_timeout"));
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->false_positive_rate = 1; }),
                       "false_positive_rate"));
  for (const double rate : {0.99999999999, 0.51, 0.00001}) {
    EXPECT_TRUE(
        Mentions(Refused([rate](auto* o) { o->false_positive_rate = rate; }),
                 "[1/65536, 1/2]"));
  }
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->limits.max_sessions = 0; }),
                       "max_sessions"));
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->max_session_bytes = 5; }),
                       "max_session_bytes"));
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->listen_address = "here"; }),
                       "\"here\""));
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->peers = {""}; }), "peers"));
}

// Clocks would overflow; a session at an interval of the largest number was
// held all the time.
TEST_F(WrongOptions, DurationsOfMoreThanAYear) {
  using Member = milliseconds ReplicatorOptions::*;
  const std::pair<Member, std::string> members[] = {
      {&ReplicatorOptions::interval, "ReplicatorOptions::interval"},
      {&ReplicatorOptions::scrub_interval, "ReplicatorOptions::scrub_interval"},
      {&ReplicatorOptions::io_timeout, "ReplicatorOptions::io_timeout"}};
  for (const auto& of : members) {
    const Member member = of.first;  // Clang 14 captures no binding
    const std::string& name = of.second;
    for (const milliseconds duration :
         {milliseconds::max(), milliseconds(1'000'000'000'000'000),
          kMaxDuration + milliseconds(1)}) {
      const rocksdb::Status s =
          Refused([&](ReplicatorOptions* o) { o->*member = duration; });
      EXPECT_TRUE(Mentions(
          s, name + " is " + std::to_string(duration.count()) + " ms"));
      EXPECT_TRUE(Mentions(s, "to 31536000000 ms (a year)"));
    }
  }
}

TEST_F(WrongOptions, AddressesThatAreNotHostAndPort) {
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", ":7400", "here:there"}) {
    const rocksdb::Status s = Refused([&](auto* o) {
      o->peers = {"127.0.0.1:7400", address};
    });
    EXPECT_TRUE(Mentions(s, "ReplicatorOptions::peers"));
    EXPECT_TRUE(Mentions(s, std::string("\"") + address + "\""));
    EXPECT_TRUE(Mentions(s, "host:port"));
  }
}

TEST_F(WrongOptions, NamesOfAMemoryNetworkAreRightUnlessEmpty) {
  transport_ = NewMemoryNetwork()->Join(a_->id());
  EXPECT_TRUE(Mentions(Refused([](auto* o) { o->peers = {""}; }),
                       "ReplicatorOptions::peers"));
  ReplicatorOptions options = TestReplica::OnDemand();
  options.peers = {"a name"};
  std::unique_ptr<Replicator> replicator;
  EXPECT_TRUE(
      IsOk(Replicator::Start(options, a_->db(), transport_, &replicator)));
}

TEST_F(WrongOptions, ADatabaseThatHasAReplicator) {
  ASSERT_TRUE(IsOk(a_->Start()));
  EXPECT_TRUE(Mentions(Refused([](auto*) {}), "another replicator"));
  a_->replicator()->Stop();
  ReplicatorOptions taken = TestReplica::OnDemand();
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  taken.listen_address = b->address();
  std::unique_ptr<Replicator> second;
  EXPECT_TRUE(
      Replicator::Start(taken, a_->db(), transport_, &second).IsIOError());
  EXPECT_TRUE(IsOk(Replicator::Start(TestReplica::OnDemand(), a_->db(),
                                     transport_, &second)));
}

TEST_F(WrongOptions, DurationsOfAYearAreRight) {
  ReplicatorOptions options;
  options.interval = options.scrub_interval = options.io_timeout = kMaxDuration;
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start(options)));
  options.peers = {b->address()};
  ASSERT_TRUE(IsOk(a_->Start(options)));
  EXPECT_TRUE(IsOk(a_->replicator()->SyncNow(b->address())));
  EXPECT_TRUE(IsOk(a_->replicator()->ScrubNow()));
}

}  // namespace
}  // namespace rocksync
