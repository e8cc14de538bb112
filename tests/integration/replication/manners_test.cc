// Pause, and limits that change while the replicator runs.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

using Manners = ReplicationTest;

TEST_F(Manners, PausedReplicasNeitherAskNorAnswer) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions impatient = TestReplica::OnDemand();
  // For so long SyncNow asks again, and no answer may take as long.
  impatient.io_timeout = milliseconds(2000);
  ASSERT_TRUE(IsOk(a->Start(impatient)));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("k", "v");
  b->replicator()->Pause();
  EXPECT_TRUE(b->replicator()->stats().paused);
  EXPECT_TRUE(b->replicator()->SyncNow(a->address()).IsBusy());
  const rocksdb::Status s = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(s.IsBusy()) << s.ToString();
  EXPECT_TRUE(Mentions(s, b->address()));
  EXPECT_TRUE(Mentions(s, "is paused"));
  EXPECT_TRUE(b->Scan().empty());
  // What was said in vain counts on both sides, as no session of either.
  const ReplicationStats asked = a->replicator()->stats();
  EXPECT_GT(asked.bytes_total, 0u);
  EXPECT_EQ(asked.sessions, 0u);
  EXPECT_TRUE(Eventually([&] {
    return b->replicator()->stats().bytes_total == asked.bytes_total;
  })) << b->replicator()->stats().bytes_total
      << " bytes, not " << asked.bytes_total;
  EXPECT_EQ(b->replicator()->stats().sessions, 0u);
  b->replicator()->Resume();
  EXPECT_FALSE(b->replicator()->stats().paused);
  EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(b->Scan(), a->Scan());
}

// With no interval nobody asks again but SyncNow, and that after a pause each
// time, of which few are in its patience.
TEST_F(Manners, APausedPeerIsNotAskedWithoutPause) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const auto network = NewMemoryNetwork();
  ReplicatorOptions options = TestReplica::OnDemand();
  options.listen_address = "b";
  std::unique_ptr<Replicator> listener;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, b->db(), network->Join(b->id()), &listener)));
  listener->Pause();
  std::atomic<int> told{0};
  options.listen_address = "";
  options.peers = {"b"};
  options.io_timeout = milliseconds(1000);
  options.progress = [&](const SessionProgress&) { ++told; };
  std::unique_ptr<Replicator> dialer;
  ASSERT_TRUE(IsOk(
      Replicator::Start(options, a->db(), network->Join(a->id()), &dialer)));
  EXPECT_TRUE(dialer->SyncNow("b").IsBusy());
  EXPECT_LE(told, 1000 / 20 + 1);
}

// The attempt that finds the peer gone is no session that never ends.
TEST_F(Manners, APeerThatIsGoneIsInNoSession) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  b->Stop();
  ASSERT_FALSE(a->replicator()->SyncNow(b->address()).ok());
  const PeerStats peer = a->replicator()->stats().peers.at(0);
  EXPECT_TRUE(peer.last.finished);
  EXPECT_TRUE(peer.last.proven_equal) << "the last one that there was";
  EXPECT_NE(peer.last_error.find("Connection refused"), std::string::npos)
      << peer.last_error;
}

TEST_F(Manners, BytesPerSecond) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ReplicatorLimits limits;
  limits.bytes_per_second = 1'000'000;
  ASSERT_TRUE(IsOk(a->replicator()->SetLimits(limits)));
  EXPECT_EQ(a->replicator()->limits().bytes_per_second, 1'000'000u);
  for (int i = 0; i < 100; ++i) {
    a->Put(std::to_string(i), std::string(10'000, 'x'));
  }
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(700))
      << "a megabyte took less than a second";
  limits.max_sessions = 0;
  EXPECT_TRUE(a->replicator()->SetLimits(limits).IsInvalidArgument());
}

TEST_F(Manners, IndexReadsPerSecond) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions options = TestReplica::OnDemand();
  options.limits.index_reads_per_second = 2000;
  ASSERT_TRUE(IsOk(a->Start(options)));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 1000; ++i) a->Put(std::to_string(i), "x");
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(300));
  EXPECT_EQ(a->Scan(), b->Scan());
}

// The replica with the larger id is the one that is refused when both ask at
// the same moment (Acceptor::SlotFor).
TEST_F(Manners, WhoeverSyncsAllTheTimeLeavesRoomForOthers) {
  auto smaller = NewReplica("a");
  auto larger = NewReplica("b");
  if (smaller->id() > larger->id()) std::swap(smaller, larger);
  ReplicatorOptions impatient = TestReplica::OnDemand();
  impatient.io_timeout = milliseconds(10'000);
  ASSERT_TRUE(IsOk(smaller->Start(impatient)));
  ASSERT_TRUE(IsOk(larger->Start(impatient)));
  std::atomic<bool> done{false};
  std::thread all_the_time([&] {
    while (!done) (void)smaller->replicator()->SyncNow(larger->address());
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(IsOk(larger->replicator()->SyncNow(smaller->address())));
  }
  done = true;
  all_the_time.join();
}

// What the LOG file of a database holds.
std::string LogOf(TestReplica* replica) {
  return FileContent(replica->setting().directory + "/LOG");
}

TEST_F(Manners, SessionsAndFailuresAreInTheDatabasesLog) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  TestReplica::Setting setting = SettingOf("c");
  setting.cluster = "other";
  TestReplica c(setting);
  ASSERT_TRUE(c.Open());
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(c.Start()));
  a->Put("k", "v");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_FALSE(c.replicator()->SyncNow(a->address()).ok());
  EXPECT_TRUE(Eventually([&] {
    const std::string log = LogOf(a.get());
    return log.find("rocksync: session with " + b->address()) !=
               std::string::npos &&
           log.find("refused connection from ") != std::string::npos;
  }));
  EXPECT_NE(LogOf(&c).find("rocksync: no session with " + a->address()),
            std::string::npos);
}

// Whoever refuses: the listener by the cluster's name, the dialer by the
// secret.
TEST_F(Manners, StrangersAreCounted) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start()));
  const auto refused = [&] { return a->replicator()->stats(); };
  TestReplica::Setting setting = SettingOf("c");
  setting.cluster = "other";
  TestReplica c(setting);
  ASSERT_TRUE(c.Open());
  ASSERT_TRUE(IsOk(c.Start()));
  EXPECT_FALSE(c.replicator()->SyncNow(a->address()).ok());
  ASSERT_TRUE(Eventually([&] { return refused().connections_refused == 1; }));
  EXPECT_NE(refused().last_refusal.find("\"other\""), std::string::npos)
      << refused().last_refusal;
  setting = SettingOf("d");
  ++setting.secret;
  TestReplica d(setting);
  ASSERT_TRUE(d.Open());
  ASSERT_TRUE(IsOk(d.Start()));
  EXPECT_FALSE(d.replicator()->SyncNow(a->address()).ok());
  ASSERT_TRUE(Eventually([&] { return refused().connections_refused == 2; }));
  EXPECT_NE(refused().last_refusal.find("the one that dialed refuses: the "
                                        "cluster secret differs"),
            std::string::npos)
      << refused().last_refusal;
  EXPECT_TRUE(refused().peers.empty());
  EXPECT_EQ(refused().sessions_failed, 0u);
}

}  // namespace
}  // namespace rocksync
