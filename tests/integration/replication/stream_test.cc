// Streams beside sessions, over TLS and real RocksDB. Sessions at an interval
// of an hour: what arrives came by the stream, or by a session that it asked
// for.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/write_batch.h"
#include "rocksdb/write_buffer_manager.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/forgetful_disk.h"

namespace rocksync {
namespace {

// Holds what peers bring up while it is closed, or whoever else passes it.
class Gate : public ApplyHook {
 public:
  void BeforeApply(const std::vector<AppliedChange>&) override { Pass(); }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  void SetOpen(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void AwaitSomebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

// On whose disk each sync of the log passes a gate. Its clock stands still, so
// that a writer has no lease to renew.
class GatedSyncEnv final : public rocksdb::EnvWrapper {
 public:
  explicit GatedSyncEnv(Gate* gate)
      : EnvWrapper(rocksdb::Env::Default()), gate_(gate) {}
  const char* Name() const override { return "GatedSyncEnv"; }
  uint64_t NowMicros() override { return now_; }
  rocksdb::Status NewWritableFile(const std::string& name,
                                  std::unique_ptr<rocksdb::WritableFile>* file,
                                  const rocksdb::EnvOptions& options) override {
    const rocksdb::Status s = EnvWrapper::NewWritableFile(name, file, options);
    if (s.ok() && name.ends_with(".log")) {
      *file = std::make_unique<Log>(std::move(*file), gate_);
    }
    return s;
  }

 private:
  class Log final : public rocksdb::WritableFileWrapper {
   public:
    Log(std::unique_ptr<rocksdb::WritableFile> file, Gate* gate)
        : WritableFileWrapper(file.get()),
          file_(std::move(file)),
          gate_(gate) {}
    rocksdb::Status Sync() override {
      gate_->Pass();
      return WritableFileWrapper::Sync();
    }

   private:
    const std::unique_ptr<rocksdb::WritableFile> file_;
    Gate* const gate_;
  };

  Gate* const gate_;
  const uint64_t now_ = EnvWrapper::NowMicros();
};

class Stream : public ReplicationTest {
 protected:
  void SetUp() override {
    a_ = NewReplica("a");
    b_ = NewReplica("b");
  }

  // `a` dials `b`.
  void StartBoth(ReplicatorOptions of_a = TestReplica::Hourly(),
                 ReplicatorOptions of_b = TestReplica::Hourly()) {
    ASSERT_TRUE(IsOk(b_->Start(of_b)));
    of_a.peers = {b_->address()};
    ASSERT_TRUE(IsOk(a_->Start(of_a)));
    AwaitStream();
  }

  static StreamStats StatsOf(const TestReplica& replica) {
    return const_cast<TestReplica&>(replica).replicator()->stats().stream;
  }

  // And that the session which its opening asks for is over.
  void AwaitStream() {
    ASSERT_TRUE(Eventually([&] {
      return StatsOf(*a_).open >= 1 && StatsOf(*b_).open >= 1 &&
             a_->replicator()->stats().sessions > 0;
    })) << a_->replicator()->stats().peers.at(0).last_error;
  }

  void ExpectEqualSoon() {
    EXPECT_TRUE(Eventually([&] { return a_->Scan() == b_->Scan(); }));
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
};

TEST_F(Stream, WhatIsWrittenIsAtThePeerWithoutASession) {
  StartBoth();
  const uint64_t sessions = a_->replicator()->stats().sessions;
  a_->Put("from a", "1");
  b_->Put("from b", "2");
  ExpectEqualSoon();
  EXPECT_EQ(a_->Scan(), (Contents{{"from a", "1"}, {"from b", "2"}}));
  a_->Delete("from b");
  EXPECT_TRUE(Eventually([&] { return b_->Scan().size() == 1; }));
  EXPECT_EQ(a_->replicator()->stats().sessions, sessions);
  EXPECT_EQ(a_->replicator()->stats().pairs_sent, 0u) << "by sessions";
  EXPECT_EQ(StatsOf(*a_).pairs_sent, 2u);
  EXPECT_EQ(StatsOf(*b_).pairs_sent, 1u);
  // What was applied is counted after it can be read.
  EXPECT_TRUE(Eventually([&] { return StatsOf(*b_).pairs_applied == 2; }));
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).pairs_applied == 1; }));
  EXPECT_EQ(StatsOf(*a_).duplicates + StatsOf(*b_).duplicates, 0u);
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs == 0; }));
}

TEST_F(Stream, OfABatchTheLastChangeOfAKeyTravels) {
  StartBoth();
  rocksdb::WriteBatch batch;
  for (const char* value : {"once", "twice", "at last"}) {
    ASSERT_TRUE(IsOk(batch.Put("k", value)));
  }
  ASSERT_TRUE(IsOk(batch.Put("gone", "soon")));
  ASSERT_TRUE(IsOk(batch.Delete("gone")));
  ASSERT_TRUE(IsOk(batch.Put("other", "x")));
  ASSERT_TRUE(IsOk(a_->db()->Write(rocksdb::WriteOptions(), &batch)));
  a_->Put("end", "");
  ASSERT_TRUE(Eventually([&] { return b_->Scan().count("end") == 1; }));
  EXPECT_EQ(b_->Scan(),
            (Contents{{"end", ""}, {"k", "at last"}, {"other", "x"}}));
  EXPECT_EQ(StatsOf(*a_).pairs_sent, 4u);
  // Equal to the last bit: one version has one content.
  EXPECT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  EXPECT_EQ(a_->replicator()->stats().pairs_sent, 0u);
}

TEST_F(Stream, RangesTravelAsTheirDeletes) {
  for (int i = 0; i < 10; ++i) a_->Put(Numbered("k", i), "v");
  StartBoth();
  ExpectEqualSoon();
  ASSERT_TRUE(IsOk(a_->db()->DeleteRange(
      rocksdb::WriteOptions(), a_->db()->DefaultColumnFamily(), "k2", "k7")));
  EXPECT_TRUE(Eventually([&] { return b_->Scan().size() == 5; }));
  EXPECT_EQ(StatsOf(*a_).pairs_sent, 5u);
}

TEST_F(Stream, WhatIsTooLargeForItComesByASessionAtOnce) {
  StartBoth();
  a_->Put("large", std::string(200'000, 'v'));
  ExpectEqualSoon();
  EXPECT_EQ(StatsOf(*a_).gaps, 1u);
  EXPECT_EQ(StatsOf(*a_).pairs_given_up, 1u);
  b_->Put("large, from who was dialed", std::string(200'000, 'v'));
  ExpectEqualSoon();
}

TEST_F(Stream, AGapIsRepairedAtOnce) {
  const auto gate = std::make_shared<Gate>();
  TestReplica::Setting setting = SettingOf("gated");
  setting.adjust = [&](rocksdb::Options*, ReplicatedDBOptions* replication) {
    replication->hook = gate;
  };
  b_ = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(b_->Open());
  ReplicatorOptions narrow = TestReplica::Hourly();
  narrow.stream_buffer_bytes = size_t{256} << 10;
  StartBoth(narrow);
  gate->SetOpen(false);
  a_->Put("first", "");
  gate->AwaitSomebody();
  // More than the window and the buffer hold; nobody waits for the peer.
  const std::string value(10'000, 'v');
  for (int i = 0; i < 500; ++i) a_->Put(Numbered("k", i), value);
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs > 0; }));
  gate->SetOpen(true);
  ExpectEqualSoon();
  EXPECT_GE(StatsOf(*a_).gaps, 1u);
  EXPECT_GT(StatsOf(*a_).pairs_given_up, 0u);
  EXPECT_GT(a_->replicator()->stats().pairs_sent, 0u) << "by the session";
  // And it goes on.
  a_->Put("last", "");
  EXPECT_TRUE(Eventually([&] { return b_->Scan().count("last") == 1; }));
}

// The sending half has taken a change, and waits.
TEST_F(Stream, TheLagIsToldWhileASyncTakesLong) {
  Gate gate;
  GatedSyncEnv env(&gate);
  TestReplica::Setting setting = SettingOf("of slow syncs");
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = &env;
  };
  a_ = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
  StartBoth();
  a_->Put("before", "");
  ExpectEqualSoon();
  ASSERT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs == 0; }));
  gate.SetOpen(false);
  a_->Put("first", "");
  gate.AwaitSomebody();
  for (int i = 0; i < 100; ++i) a_->Put(Numbered("k", i), "value");
  EXPECT_EQ(StatsOf(*a_).lag_pairs, 101u);
  gate.SetOpen(true);
  ExpectEqualSoon();
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs == 0; }));
  a_.reset();  // before its Env
}

TEST_F(Stream, TheLagIsAllThatThePeerHasNotTaken) {
  constexpr uint64_t kWritten = 2000;
  StartBoth();
  ReplicatorLimits slow;
  slow.bytes_per_second = 10'000;
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(slow)));
  for (uint64_t i = 0; i < kWritten; ++i) a_->Put(Numbered("k", i), "value");
  for (int i = 0; i < 20; ++i) {
    const uint64_t lag = StatsOf(*a_).lag_pairs;
    EXPECT_GE(lag + b_->Scan().size(), kWritten);
    EXPECT_LE(lag, kWritten);
  }
  // Who waits for a rate does not wait for it once it is lifted.
  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits({})));
  ExpectEqualSoon();
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs == 0; }));
}

// By a low rate a message waits for seconds.
TEST_F(Stream, WhoWaitsForTheRateEndsAtOnce) {
  const auto begin_to_wait = [&] {
    ReplicatorLimits slow;
    slow.bytes_per_second = 100;
    ASSERT_TRUE(IsOk(a_->replicator()->SetLimits(slow)));
    for (int i = 0; i < 300; ++i) a_->Put(Numbered("k", i), "value");
    ASSERT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs > 200; }));
  };
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a_->id(), b_->id()})));
  ASSERT_TRUE(IsOk(a_->Start()));
  ASSERT_TRUE(IsOk(b_->Start()));
  ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  a_->Stop();
  b_->Stop();
  ReplicatorOptions patient = TestReplica::Hourly();
  patient.io_timeout = milliseconds(3'600'000);
  StartBoth(patient, patient);
  begin_to_wait();
  a_->replicator()->Pause();
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).open == 0; }));
  EXPECT_LE(StatsOf(*a_).pairs_sent, b_->Scan().size());

  ASSERT_TRUE(IsOk(a_->replicator()->SetLimits({})));
  a_->replicator()->Resume();
  ExpectEqualSoon();
  ASSERT_TRUE(Eventually([&] { return StatsOf(*a_).open == 1; }));
  ASSERT_TRUE(Eventually([&] { return StatsOf(*a_).lag_pairs == 0; }));
  begin_to_wait();
  const size_t has = b_->Scan().size();
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(2, {a_->id()})));
  EXPECT_TRUE(Eventually([&] { return StatsOf(*a_).open == 0; }));
  EXPECT_EQ(b_->Scan().size(), has) << "it is no member any more";
}

TEST_F(Stream, BeginsAgainWhenThePeerIsBack) {
  StartBoth();
  b_->Stop();
  a_->Put("meanwhile", "1");
  b_->Put("there, too", "2");
  ASSERT_TRUE(IsOk(b_->Start(TestReplica::Hourly())));
  ExpectEqualSoon();
  AwaitStream();
  a_->Put("after", "3");
  EXPECT_TRUE(Eventually([&] { return b_->Scan().size() == 3; }));
}

TEST_F(Stream, OfTwoThatDialOneAnotherOneStays) {
  ASSERT_TRUE(IsOk(a_->Start(TestReplica::Hourly())));
  ASSERT_TRUE(IsOk(b_->Start(TestReplica::Hourly())));
  a_->Stop();
  b_->Stop();
  ReplicatorOptions to_a = TestReplica::Hourly();
  to_a.peers = {a_->address()};
  ReplicatorOptions to_b = TestReplica::Hourly();
  to_b.peers = {b_->address()};
  ASSERT_TRUE(IsOk(b_->Start(to_a)));
  ASSERT_TRUE(IsOk(a_->Start(to_b)));
  AwaitStream();
  for (int i = 0; i < 50; ++i) {
    a_->Put(Numbered("a", i), "");
    b_->Put(Numbered("b", i), "");
  }
  EXPECT_TRUE(Eventually([&] { return a_->Scan().size() == 100; }));
  ExpectEqualSoon();
  EXPECT_TRUE(Eventually(
      [&] { return StatsOf(*a_).open == 1 && StatsOf(*b_).open == 1; }));
}

TEST_F(Stream, APauseClosesIt) {
  StartBoth();
  a_->replicator()->Pause();
  EXPECT_TRUE(Eventually(
      [&] { return StatsOf(*a_).open == 0 && StatsOf(*b_).open == 0; }));
  a_->Put("while paused", "");
  a_->replicator()->Resume();
  ExpectEqualSoon();
  AwaitStream();
}

TEST_F(Stream, WhoWantsNoneHasSessionsAlone) {
  ReplicatorOptions none = TestReplica::Hourly();
  none.stream = false;
  ASSERT_TRUE(IsOk(b_->Start(none)));
  ReplicatorOptions options = TestReplica::Hourly();
  options.interval = milliseconds(50);
  options.peers = {b_->address()};
  ASSERT_TRUE(IsOk(a_->Start(options)));
  a_->Put("k", "v");
  ExpectEqualSoon();
  EXPECT_EQ(StatsOf(*a_).opened, 0u);
  EXPECT_EQ(StatsOf(*b_).opened, 0u);
}

// By connections over which nothing travels, too.
class LetsGoOfDroppedFamilies : public Stream,
                                public ::testing::WithParamInterface<bool> {};

TEST_P(LetsGoOfDroppedFamilies, WithoutASession) {
  constexpr size_t kValue = size_t{1} << 20;
  std::vector<std::shared_ptr<rocksdb::WriteBufferManager>> budgets;
  for (auto* replica : {&a_, &b_}) {
    replica->reset();
    budgets.push_back(
        std::make_shared<rocksdb::WriteBufferManager>(size_t{64} << 20));
    TestReplica::Setting setting = SettingOf(replica == &a_ ? "a" : "b");
    setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->write_buffer_manager = budgets.back();
    };
    *replica = std::make_unique<TestReplica>(setting);
    ASSERT_TRUE((*replica)->Open());
  }
  std::vector<rocksdb::ColumnFamilyHandle*> families(2);
  for (int i = 0; i < 2; ++i) {
    rocksdb::DB* const db = (i == 0 ? a_ : b_)->db();
    ASSERT_TRUE(IsOk(db->CreateColumnFamily({}, "family", &families[i])));
    ASSERT_TRUE(
        IsOk(db->Put({}, families[i], "large", std::string(kValue, 'v'))));
    ASSERT_GT(budgets[i]->memory_usage(), kValue);
  }
  if (GetParam()) {
    StartBoth();
  } else {
    ASSERT_TRUE(IsOk(a_->Start()));
    ASSERT_TRUE(IsOk(b_->Start()));
    ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  }
  for (int i = 0; i < 2; ++i) {
    rocksdb::DB* const db = (i == 0 ? a_ : b_)->db();
    ASSERT_TRUE(IsOk(db->DropColumnFamily(families[i])));
    ASSERT_TRUE(IsOk(db->DestroyColumnFamilyHandle(families[i])));
  }
  for (const auto& budget : budgets) {
    EXPECT_TRUE(Eventually([&] { return budget->memory_usage() < kValue; }));
  }
  a_->Put("k", "v");
  if (GetParam()) {
    ExpectEqualSoon();
  } else {
    EXPECT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
  }
}

INSTANTIATE_TEST_SUITE_P(StreamOrSyncNow, LetsGoOfDroppedFamilies,
                         ::testing::Bool());

TEST_F(Stream, ANewFamilyIsAgreedUponFirst) {
  StartBoth();
  rocksdb::ColumnFamilyHandle* there = nullptr;
  ASSERT_TRUE(IsOk(b_->db()->CreateColumnFamily(rocksdb::ColumnFamilyOptions(),
                                                "new", &there)));
  rocksdb::ColumnFamilyHandle* here = nullptr;
  ASSERT_TRUE(IsOk(a_->db()->CreateColumnFamily(rocksdb::ColumnFamilyOptions(),
                                                "new", &here)));
  ASSERT_TRUE(
      IsOk(a_->db()->Put(rocksdb::WriteOptions(), here, "key", "value")));
  std::string value;
  EXPECT_TRUE(Eventually([&] {
    return b_->db()->Get(rocksdb::ReadOptions(), there, "key", &value).ok();
  }));
  EXPECT_EQ(value, "value");
  a_->Stop();
  b_->Stop();
  EXPECT_TRUE(IsOk(a_->db()->DestroyColumnFamilyHandle(here)));
  EXPECT_TRUE(IsOk(b_->db()->DestroyColumnFamilyHandle(there)));
}

TEST_F(Stream, WhoIsRemovedGetsNothingMore) {
  StartBoth();
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(1, {a_->id(), b_->id()})));
  ASSERT_TRUE(IsOk(b_->db()->SetMembers(1, {a_->id(), b_->id()})));
  a_->Put("as a member", "");
  ASSERT_TRUE(Eventually([&] { return b_->Scan().count("as a member") == 1; }));
  // From the moment that `a` knows, whatever its threads are at.
  ASSERT_TRUE(IsOk(a_->db()->SetMembers(2, {a_->id()})));
  a_->Put("as no member", "");
  EXPECT_TRUE(Eventually(
      [&] { return StatsOf(*a_).open == 0 && StatsOf(*b_).open == 0; }));
  EXPECT_EQ(b_->Scan().count("as no member"), 0u);
  b_->Put("of no member", "");
  EXPECT_EQ(a_->Scan().count("of no member"), 0u);
}

// `c` is connected with `b` alone.
TEST_F(Stream, WhoIsBetweenTwoPassesOn) {
  const auto c = NewReplica("c");
  ASSERT_TRUE(IsOk(c->Start(TestReplica::Hourly())));
  ReplicatorOptions of_b = TestReplica::Hourly();
  of_b.peers = {c->address()};
  StartBoth(TestReplica::Hourly(), of_b);
  ASSERT_TRUE(Eventually([&] {
    return StatsOf(*b_).open == 2 && b_->replicator()->stats().sessions >= 2;
  }));
  a_->Put("from a", "1");
  ASSERT_TRUE(Eventually([&] { return c->Scan().size() == 1; }));
  c->Put("from c", "2");
  ASSERT_TRUE(Eventually([&] { return a_->Scan().size() == 2; }));
  EXPECT_EQ(StatsOf(*b_).pairs_sent, 2u);
  EXPECT_EQ(StatsOf(*a_).pairs_sent, 1u);
  EXPECT_EQ(StatsOf(*c).pairs_sent, 1u);
  // What a session brings is passed on, too.
  a_->Put("large", std::string(200'000, 'v'));
  EXPECT_TRUE(Eventually([&] { return c->Scan().size() == 3; }));
}

TEST_F(Stream, OfThreeThatAreAllConnectedNobodyPassesOn) {
  const auto c = NewReplica("c");
  ASSERT_TRUE(IsOk(c->Start(TestReplica::Hourly())));
  ReplicatorOptions of_b = TestReplica::Hourly();
  of_b.peers = {c->address()};
  ASSERT_TRUE(IsOk(b_->Start(of_b)));
  ReplicatorOptions of_a = TestReplica::Hourly();
  of_a.peers = {b_->address(), c->address()};
  ASSERT_TRUE(IsOk(a_->Start(of_a)));
  const std::vector<TestReplica*> all = {a_.get(), b_.get(), c.get()};
  ASSERT_TRUE(Eventually([&] {
    return StatsOf(*a_).open == 2 && StatsOf(*b_).open == 2 &&
           StatsOf(*c).open == 2 && a_->replicator()->stats().sessions >= 2;
  }));
  for (int i = 0; i < 30; ++i) all[i % 3]->Put(Numbered("k", i), "v");
  for (TestReplica* replica : all) {
    ASSERT_TRUE(Eventually([&] { return replica->Scan().size() == 30; }));
  }
  uint64_t sent = 0;  // when all have all, since each waits for the others'
  for (TestReplica* replica : all) sent += StatsOf(*replica).pairs_sent;
  EXPECT_GE(sent, 60u);
  EXPECT_LE(sent, 63u) << "but for what was sent before all knew of all";
}

// The machine of a writer loses power right after its write was seen elsewhere.
TEST_F(Stream, WhatTravelsIsDurableAtItsSender) {
  ForgetfulDisk disk;
  std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk.Mount());
  TestReplica::Setting setting = SettingOf("on a disk that forgets");
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = env.get();
  };
  a_ = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a_->Open()) << a_->open_status().ToString();
  StartBoth();
  a_->Put("seen", "elsewhere");
  ASSERT_TRUE(Eventually([&] { return b_->Scan().size() == 1; }));
  disk.Kill();
  a_.reset();
  disk.LosePower([](uint64_t) { return uint64_t{0}; });
  const std::unique_ptr<rocksdb::Env> again =
      rocksdb::NewCompositeEnv(disk.Mount());
  env.reset();
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = again.get();
  };
  TestReplica back(setting);
  ASSERT_TRUE(back.Open()) << back.open_status().ToString();
  EXPECT_EQ(back.Scan(), (Contents{{"seen", "elsewhere"}}));
}

TEST_F(Stream, BothWriteAndStopMeanwhile) {
  StartBoth();
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (TestReplica* replica : {a_.get(), b_.get()}) {
    writers.emplace_back([replica, &done] {
      for (int i = 0; !done; ++i) {
        replica->Put(Numbered("k", i % 100), replica->address());
      }
    });
  }
  ASSERT_TRUE(Eventually([&] { return StatsOf(*b_).pairs_received > 1000; }));
  b_->Stop();
  a_->Stop();
  done = true;
  for (std::thread& writer : writers) writer.join();
  StartBoth();
  ExpectEqualSoon();
}

}  // namespace
}  // namespace rocksync
