// Stopping: soon, whatever is going on. The bound asserted is far above the
// second that is promised, since machines that run tests are slow.

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "tests/integration/replication/replica_fixture.h"

namespace rocksync {
namespace {

using Stop = ReplicationTest;
constexpr milliseconds kSoon{5'000};

milliseconds TimeToStop(TestReplica* replica) {
  const auto start = std::chrono::steady_clock::now();
  replica->Stop();
  const auto took = std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now() - start);
  ::testing::Test::RecordProperty("stop_ms", static_cast<int>(took.count()));
  std::cout << "stopped after " << took.count() << " ms\n";
  return took;
}

TEST_F(Stop, Idle) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_LT(TimeToStop(a.get()), kSoon);
  EXPECT_LT(TimeToStop(b.get()), kSoon);
}

TEST_F(Stop, InTheMiddleOfASession) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ReplicatorOptions slow = TestReplica::OnDemand();
  slow.limits.bytes_per_second = 1'000'000;
  ASSERT_TRUE(IsOk(b->Start(slow)));
  for (int i = 0; i < 2000; ++i) {
    a->Put(std::to_string(i), std::string(5000, 'x'));
  }
  rocksdb::Status s;
  std::thread asker([&] { s = a->replicator()->SyncNow(b->address()); });
  EXPECT_TRUE(
      Eventually([&] { return b->replicator()->stats().bytes_total > 1000; }));
  EXPECT_LT(TimeToStop(b.get()), kSoon);
  asker.join();
  EXPECT_FALSE(s.ok());
}

TEST_F(Stop, SyncNowUnderWayIsAborted) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions slow = TestReplica::OnDemand();
  slow.limits.bytes_per_second = 1'000'000;
  ASSERT_TRUE(IsOk(a->Start(slow)));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 2000; ++i) {
    a->Put(std::to_string(i), std::string(5000, 'x'));
  }
  rocksdb::Status s;
  std::thread asker([&] { s = a->replicator()->SyncNow(b->address()); });
  EXPECT_TRUE(
      Eventually([&] { return a->replicator()->stats().bytes_total > 1000; }));
  EXPECT_LT(TimeToStop(a.get()), kSoon);
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
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b.Start()));
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
  EXPECT_LT(TimeToStop(&b), kSoon);
  asker.join();
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(IsOk(b.db()->ContinueBackgroundWork()));
  ASSERT_TRUE(IsOk(b.Start()));
  EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b.address())));
  EXPECT_EQ(a->Scan(), b.Scan());
}

TEST_F(Stop, WhileAPeerDoesNotAnswer) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(b->Start()));
  ReplicatorOptions options;
  options.interval = milliseconds(50);
  // Nobody routes there.
  options.peers = {b->address(), "127.0.0.1:1", "[::1]:1"};
  ASSERT_TRUE(IsOk(a->Start(options)));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_LT(TimeToStop(a.get()), kSoon);
}

TEST_F(Stop, StartAndStopAgainAndAgain) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
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
