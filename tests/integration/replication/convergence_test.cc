// Writes on all replicas, sessions, equal by scan.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

using Convergence = ReplicationTest;

TEST_F(Convergence, TwoReplicasOneAsks) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 500; ++i) a->Put(Numbered("a", i), "from a");
  for (int i = 0; i < 300; ++i) b->Put(Numbered("b", i), "from b");
  a->Put("both", "older");
  std::this_thread::sleep_for(milliseconds(5));  // else one clock reading
  b->Put("both", "newer");
  b->Delete("a17");  // not there yet, and older than nothing
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  const Contents contents = a->Scan();
  EXPECT_EQ(contents, b->Scan());
  EXPECT_EQ(contents.at("both"), "newer");
  EXPECT_EQ(contents.count("a17"), 0u) << "the delete came after the put";
  EXPECT_EQ(contents.size(), 500u + 300 + 1 - 1);
}

TEST_F(Convergence, EqualReplicasShipNothing) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 1000; ++i) a->Put(Numbered("k", i), "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  const uint64_t shipped = a->replicator()->stats().pairs_sent;
  EXPECT_EQ(shipped, 1000u);
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  ASSERT_TRUE(IsOk(b->replicator()->SyncNow(a->address())));
  const ReplicationStats stats = a->replicator()->stats();
  EXPECT_EQ(stats.pairs_sent, shipped);
  const SessionProgress& last = stats.peers.at(0).last;
  EXPECT_TRUE(last.proven_equal);
  EXPECT_LE(last.bytes_total, 100u) << "a hello and a yes";
}

TEST_F(Convergence, ThreeReplicasByThemselves) {
  std::vector<std::unique_ptr<TestReplica>> replicas;
  for (const char* name : {"a", "b", "c"}) replicas.push_back(NewReplica(name));
  // Addresses first, then peers.
  for (auto& replica : replicas) {
    ASSERT_TRUE(IsOk(replica->Start()));
    replica->Stop();
  }
  for (auto& replica : replicas) {
    ReplicatorOptions options;
    options.interval = milliseconds(100);
    for (auto& other : replicas) {
      if (other != replica) options.peers.push_back(other->address());
    }
    ASSERT_TRUE(IsOk(replica->Start(options)));
  }
  for (int i = 0; i < 600; ++i) {
    replicas[i % 3]->Put(Numbered("k", i / 2), Numbered("value ", i));
  }
  replicas[1]->Delete("k3");
  EXPECT_TRUE(Eventually([&] {
    const Contents first = replicas[0]->Scan();
    return first == replicas[1]->Scan() && first == replicas[2]->Scan();
  }));
  EXPECT_EQ(replicas[0]->Scan().size(), 299u);
}

TEST_F(Convergence, BothAskAtOnce) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int round = 0; round < 10; ++round) {
    a->Put(Numbered("a", round), "x");
    b->Put(Numbered("b", round), "x");
    rocksdb::Status from_b;
    std::thread other([&] { from_b = b->replicator()->SyncNow(a->address()); });
    EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
    other.join();
    EXPECT_TRUE(IsOk(from_b));
    EXPECT_EQ(a->Scan(), b->Scan());
  }
}

TEST_F(Convergence, TheApplicationWritesMeanwhile) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (TestReplica* replica : {a.get(), b.get()}) {
    for (int t = 0; t < 2; ++t) {
      writers.emplace_back([replica, t, &done] {
        for (int i = 0; !done; ++i) {
          const std::string key = Numbered("k", (i * 7 + t) % 64);
          if (i % 5 == 0) {
            replica->Delete(key);
          } else {
            replica->Put(key, replica->address() + Numbered(" ", i));
          }
        }
      });
    }
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(a->Scan(), b->Scan());
}

TEST_F(Convergence, LargeAndEmptyValues) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("empty", "");
  a->Put("large", std::string(20 << 20, 'l'));
  for (int i = 0; i < 40; ++i)
    a->Put(Numbered("m", i), std::string(60'000, 'm'));
  ASSERT_TRUE(IsOk(b->replicator()->SyncNow(a->address())));
  EXPECT_EQ(a->Scan(), b->Scan());
}

TEST_F(Convergence, BloomOnly) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions options = TestReplica::OnDemand();
  options.mode = ReplicatorOptions::Mode::kBloomOnly;
  ASSERT_TRUE(IsOk(a->Start(options)));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 2000; ++i) (i % 2 ? a : b)->Put(Numbered("k", i), "x");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_EQ(a->Scan(), b->Scan());
  EXPECT_GT(a->replicator()->stats().exchanges, 1u);
}

TEST_F(Convergence, ProgressAndStatistics) {
  // They outlive the replicas, whose sessions report until they stop.
  std::mutex mutex;
  std::vector<SessionProgress> seen;
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ReplicatorOptions options = TestReplica::OnDemand();
  options.progress = [&](const SessionProgress& progress) {
    const std::lock_guard lock(mutex);
    seen.push_back(progress);
  };
  ASSERT_TRUE(IsOk(b->Start()));
  options.peers = {b->address()};
  ASSERT_TRUE(IsOk(a->Start(options)));
  for (int i = 0; i < 100; ++i) a->Put(Numbered("k", i), "0123456789");
  for (int i = 0; i < 50; ++i) b->Put(Numbered("l", i), "0123456789");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));

  const std::lock_guard lock(mutex);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(seen.back().finished);
  EXPECT_TRUE(seen.back().proven_equal);
  EXPECT_EQ(seen.back().peer, b->address());
  const ReplicationStats stats = a->replicator()->stats();
  EXPECT_EQ(stats.replica_id, a->id());
  EXPECT_EQ(stats.sessions, 1u);
  EXPECT_EQ(stats.sessions_failed, 0u);
  EXPECT_EQ(stats.pairs_sent, 100u);
  EXPECT_EQ(stats.pairs_received, 50u);
  EXPECT_EQ(stats.pairs_applied, 50u);
  EXPECT_EQ(stats.bytes_values, 1500u);
  EXPECT_GT(stats.bytes_total, stats.bytes_values + stats.bytes_keys);
  ASSERT_EQ(stats.peers.size(), 1u);
  EXPECT_EQ(stats.peers[0].address, b->address());
  EXPECT_EQ(stats.peers[0].replica_id, b->id());
  EXPECT_GT(stats.peers[0].last_proven_equal_ms, 0u);
  EXPECT_EQ(stats.peers[0].last_error, "");
  // The responder has figures of its own.
  EXPECT_TRUE(Eventually(
      [&] { return b->replicator()->stats().pairs_received == 100; }));
  EXPECT_EQ(b->replicator()->stats().peers.at(0).replica_id, a->id());
}

// Two contents with one XXH3-128 (see element_test.cc), adopted on two
// replicas: they have one version, and are not called equal while they differ.
TEST_F(Convergence, AdoptedContentsThatCollideByXxh3) {
  std::string here(512, '\0');
  here.replace(0, 5, "\xb8\xfe\x6c\x39\x01");
  here.replace(64, 5, "\x7c\x01\x81\x2c\x02");
  std::string there = here;
  std::swap(there[4], there[68]);
  std::unique_ptr<TestReplica> replicas[2];
  for (int i = 0; i < 2; ++i) {
    TestReplica::Setting setting = SettingOf(i == 0 ? "a" : "b");
    setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* replication) {
      replication->adopt_existing = true;
    };
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(IsOk(OpenPlain(options, setting.directory, &raw)));
    const std::unique_ptr<rocksdb::DB> plain(raw);
    for (int k = 0; k < 50; ++k) {
      const std::string tail(k % 2 == 0 ? 0 : 8192, 't');
      ASSERT_TRUE(IsOk(
          plain->Put({}, Numbered("k", k),
                     (k % 4 < 2) == (i == 0) ? here + tail : there + tail)));
    }
    ASSERT_TRUE(IsOk(plain->Close()));
    replicas[i] = std::make_unique<TestReplica>(setting);
    ASSERT_TRUE(replicas[i]->Open()) << replicas[i]->open_status().ToString();
    ASSERT_TRUE(IsOk(replicas[i]->db()->WaitForIndexBuild(60'000)));
    ASSERT_TRUE(IsOk(replicas[i]->Start()));
  }
  TestReplica& a = *replicas[0];
  TestReplica& b = *replicas[1];
  VerifyOptions options;
  options.in_flight_wait = milliseconds(0);
  VerifyResult result;
  ASSERT_TRUE(
      IsOk(a.replicator()->Verify(b.address(), options, nullptr, &result)));
  EXPECT_FALSE(result.equal);
  ASSERT_TRUE(IsOk(a.replicator()->SyncNow(b.address())));
  EXPECT_EQ(a.Scan(), b.Scan());
}

}  // namespace
}  // namespace rocksync
