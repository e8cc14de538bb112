// Stopping, whatever is going on. What a replicator waits for in these tests
// never comes (peers are silent, timeouts are a day, stalls do not end), so one
// that waited for it would not stop at all; how long it took is printed.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/replication/silent_port.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

using Stop = ReplicationTest;

ReplicatorOptions Patient() {
  ReplicatorOptions options = TestReplica::OnDemand();
  options.io_timeout = std::chrono::hours(24);
  return options;
}

void StopNow(TestReplica* replica) {
  const auto start = std::chrono::steady_clock::now();
  replica->Stop();
  std::cout << "stopped after "
            << std::chrono::duration_cast<milliseconds>(
                   std::chrono::steady_clock::now() - start)
                   .count()
            << " ms\n";
}

TEST_F(Stop, Idle) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start(Patient())));
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  StopNow(a.get());
  StopNow(b.get());
}

TEST_F(Stop, ADatabaseWithAReplicatorDoesNotClose) {
  const auto a = NewReplica("a");
  ASSERT_TRUE(IsOk(a->Start(Patient())));
  const rocksdb::Status s = a->db()->Close();
  EXPECT_TRUE(s.IsAborted()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "stop the replicator"));
  a->Put("it", "goes on");
  a->Stop();
  EXPECT_TRUE(IsOk(a->db()->Close()));
}

TEST_F(Stop, ADatabaseThatIsDeletedStopsItsReplicator) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  ReplicatorOptions all_the_time = Patient();
  all_the_time.interval = milliseconds(1);
  all_the_time.peers = {b->address()};
  ASSERT_TRUE(IsOk(a->Start(all_the_time)));
  EXPECT_TRUE(
      Eventually([&] { return a->replicator()->stats().sessions > 3; }));
  a->DeleteDatabase();
  EXPECT_TRUE(a->replicator()->SyncNow(b->address()).IsAborted());
  const rocksdb::Status scrubbed = a->replicator()->ScrubNow();
  EXPECT_TRUE(scrubbed.IsAborted());
  EXPECT_FALSE(Mentions(scrubbed, "OK"));
  EXPECT_TRUE(a->replicator()->SetLimits(ReplicatorLimits()).IsAborted());
  EXPECT_GT(a->replicator()->stats().sessions, 3u);
  EXPECT_EQ(a->replicator()->listen_address(), "");
  a->replicator()->Stop();
}

// The two ends at once, from two threads.
TEST_F(Stop, WhileTheDatabaseIsDeleted) {
  for (int i = 0; i < 20; ++i) {
    const auto a = NewReplica("a" + std::to_string(i));
    ASSERT_TRUE(IsOk(a->Start(Patient())));
    std::thread deletes([&] { a->DeleteDatabase(); });
    a->Stop();
    deletes.join();
  }
}

// The thread that dials was told of something else just before, so it is awake
// and about to wait again.
TEST_F(Stop, RightAfterAnotherCall) {
  const auto a = NewReplica("a");
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(IsOk(a->Start(Patient())));
    std::this_thread::sleep_for(milliseconds(1));
    a->replicator()->Resume();
    const auto stop =
        std::chrono::steady_clock::now() + std::chrono::microseconds(4 * i);
    while (std::chrono::steady_clock::now() < stop) {
    }
    a->Stop();
  }
}

TEST_F(Stop, InTheMiddleOfASession) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start(Patient())));
  ReplicatorOptions slow = Patient();
  slow.limits.bytes_per_second = 1'000'000;
  ASSERT_TRUE(IsOk(b->Start(slow)));
  for (int i = 0; i < 2000; ++i) {
    a->Put(std::to_string(i), std::string(5000, 'x'));
  }
  rocksdb::Status s;
  std::thread asker([&] { s = a->replicator()->SyncNow(b->address()); });
  EXPECT_TRUE(
      Eventually([&] { return b->replicator()->stats().bytes_total > 1000; }));
  StopNow(b.get());
  asker.join();
  EXPECT_FALSE(s.ok());
}

TEST_F(Stop, SyncNowUnderWayIsAborted) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions slow = Patient();
  slow.limits.bytes_per_second = 1'000'000;
  ASSERT_TRUE(IsOk(a->Start(slow)));
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  for (int i = 0; i < 2000; ++i) {
    a->Put(std::to_string(i), std::string(5000, 'x'));
  }
  rocksdb::Status s;
  std::thread asker([&] { s = a->replicator()->SyncNow(b->address()); });
  EXPECT_TRUE(
      Eventually([&] { return a->replicator()->stats().bytes_total > 1000; }));
  StopNow(a.get());
  asker.join();
  EXPECT_TRUE(s.IsAborted()) << s.ToString();
}

TEST_F(Stop, WhileRocksDBStallsWrites) {
  const auto a = NewReplica("a");
  TestReplica::Setting setting = SettingOf("b");
  setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->write_buffer_size = 64 << 10;
    options->max_write_buffer_number = 2;
  };
  TestReplica b(setting);
  ASSERT_TRUE(b.Open()) << b.open_status().ToString();
  ASSERT_TRUE(IsOk(a->Start(Patient())));
  ASSERT_TRUE(IsOk(b.Start(Patient())));
  for (int i = 0; i < 4000; ++i) {
    a->Put(std::to_string(i), std::string(1000, 'x'));
  }
  // Nothing is flushed, so writes stop when two memtables are full.
  ASSERT_TRUE(IsOk(b.db()->PauseBackgroundWork()));
  rocksdb::Status s;
  std::thread asker([&] { s = a->replicator()->SyncNow(b.address()); });
  EXPECT_TRUE(Eventually([&] {
    uint64_t stopped = 0;
    b.db()->GetIntProperty("rocksdb.is-write-stopped", &stopped);
    return stopped != 0;
  })) << "the stall that this test needs did not come about";
  StopNow(&b);
  asker.join();
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(IsOk(b.db()->ContinueBackgroundWork()));
  ASSERT_TRUE(IsOk(b.Start(Patient())));
  EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b.address())));
  EXPECT_EQ(a->Scan(), b.Scan());
}

// The peer comes in a later incarnation, which is to be written down.
TEST_F(Stop, WhileRocksDBStallsWritesAndAPeerIsRemembered) {
  TestReplica::Setting setting = SettingOf("a");
  setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->write_buffer_size = 64 << 10;
    options->max_write_buffer_number = 2;
  };
  TestReplica a(setting);
  ASSERT_TRUE(a.Open()) << a.open_status().ToString();
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a.Start(Patient())));
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  ASSERT_TRUE(IsOk(b->replicator()->SyncNow(a.address())));
  b->Stop();
  b->Close();
  ASSERT_TRUE(b->Open());
  ASSERT_TRUE(IsOk(a.db()->PauseBackgroundWork()));
  rocksdb::WriteOptions at_once;
  at_once.no_slowdown = true;
  rocksdb::Status stalled;
  for (int i = 0; i < 4000 && stalled.ok(); ++i) {
    stalled = a.db()->Put(at_once, std::to_string(i), std::string(1000, 'x'));
  }
  ASSERT_TRUE(stalled.IsIncomplete()) << stalled.ToString();
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  const rocksdb::Status s = b->replicator()->SyncNow(a.address());
  EXPECT_TRUE(Mentions(s, "stalls writes"));
  EXPECT_FALSE(a.replicator()->SyncNow(b->address()).ok());
  StopNow(&a);
  EXPECT_TRUE(IsOk(a.db()->ContinueBackgroundWork()));
  ASSERT_TRUE(IsOk(a.Start(Patient())));
  EXPECT_TRUE(IsOk(b->replicator()->SyncNow(a.address())));
}

TEST_F(Stop, WhileAPeerDoesNotAnswer) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  ReplicatorOptions options = Patient();
  options.interval = milliseconds(50);
  // A listener that accepts nobody, so that connecting is done and the
  // handshake is not, and an address where nobody listens.
  const SilentPort silent;
  options.peers = {b->address(), silent.address(), "127.0.0.1:1"};
  ASSERT_TRUE(IsOk(a->Start(options)));
  EXPECT_TRUE(silent.IsDialed());
  EXPECT_TRUE(Eventually([&] {
    const ReplicationStats stats = a->replicator()->stats();
    return stats.sessions > 0 && stats.sessions_failed > 0;
  }));
  StopNow(a.get());
}

// Two replicas on a network whose frames vanish from now on.
class StopWithASilentPeer : public ReplicationTest {
 protected:
  StopWithASilentPeer() : a_(NewReplica("a")), b_(NewReplica("b")) {
    ReplicatorOptions options = Patient();
    options.listen_address = "b";
    EXPECT_TRUE(IsOk(Replicator::Start(options, b_->db(),
                                       network_->Join(b_->id()), &listener_)));
    options.listen_address.clear();
    EXPECT_TRUE(IsOk(Replicator::Start(
        options, a_->db(), network_->Join(a_->id(), faults_), &dialer_)));
    EXPECT_TRUE(IsOk(dialer_->SyncNow("b")));
    a_->Put("k", "v");
    faults_->SetDrop(true);
  }

  const std::shared_ptr<MemoryNetwork> network_ = NewMemoryNetwork();
  const std::shared_ptr<MemoryFaults> faults_ = NewMemoryFaults();
  const std::unique_ptr<TestReplica> a_;
  const std::unique_ptr<TestReplica> b_;
  std::unique_ptr<Replicator> listener_;
  std::unique_ptr<Replicator> dialer_;
};

TEST_F(StopWithASilentPeer, SyncNowIsAbortedNowAndLater) {
  const uint64_t bytes = dialer_->stats().bytes_total;
  rocksdb::Status s;
  std::thread asker([&] { s = dialer_->SyncNow("b"); });
  EXPECT_TRUE(Eventually([&] { return dialer_->stats().bytes_total > bytes; }))
      << "no session began";
  dialer_->Stop();
  asker.join();
  EXPECT_TRUE(s.IsAborted()) << s.ToString();
  EXPECT_TRUE(dialer_->SyncNow("b").IsAborted());
  dialer_->Stop();  // nothing is left to do
  listener_->Stop();
}

TEST_F(StopWithASilentPeer, SeveralMayStopAtOnce) {
  std::thread asker([&] { (void)dialer_->SyncNow("b"); });
  std::thread stopper([&] { dialer_->Stop(); });
  dialer_->Stop();
  asker.join();
  stopper.join();
  EXPECT_TRUE(dialer_->listen_address().empty());
}

TEST_F(Stop, StartAndStopAgainAndAgain) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start(Patient())));
  ASSERT_TRUE(IsOk(b->Start(Patient())));
  ReplicatorOptions options;
  options.interval = milliseconds(5);
  options.peers = {b->address()};
  for (int i = 0; i < 10; ++i) {
    a->Stop();
    a->Put(std::to_string(i), "x");
    ASSERT_TRUE(IsOk(a->Start(options)));
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(Eventually([&] { return a->Scan() == b->Scan(); }));
}

}  // namespace
}  // namespace rocksync
