// Comparing live replicas: what differs is named, what is on its way is not,
// and nothing is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/store/records_since.h"
#include "tests/support/kept_log.h"
#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

VerifyOptions AtOnce() {
  VerifyOptions options;
  options.in_flight_wait = milliseconds(0);
  return options;
}

class Verify : public ReplicationTest {
 protected:
  // "key kind", sorted.
  std::vector<std::string> Compare(TestReplica* here, const TestReplica& there,
                                   const VerifyOptions& options = AtOnce()) {
    static const char* const kKinds[] = {"missing here", "missing there",
                                         "version", "content"};
    std::vector<std::string> found;
    const rocksdb::Status s = here->replicator()->Verify(
        there.address(), options,
        [&](const KeyDifference& difference) {
          EXPECT_EQ(difference.family, "default");
          found.push_back(difference.key + " " +
                          kKinds[static_cast<int>(difference.kind)]);
        },
        &result_);
    EXPECT_TRUE(IsOk(s));
    EXPECT_EQ(result_.differences, found.size());
    std::sort(found.begin(), found.end());
    return found;
  }

  VerifyResult result_;
};

TEST_F(Verify, NamesWhatDiffersAndShipsNothing) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 2000; ++i) a->Put(Numbered("k", i), "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  EXPECT_TRUE(Compare(a.get(), *b).empty());
  EXPECT_TRUE(result_.equal);
  EXPECT_TRUE(result_.complete);
  EXPECT_EQ(result_.elements, 2000u);
  EXPECT_LE(result_.bytes, 100u) << "a hello and a yes";

  a->Put("only here", "x");
  b->Put("only there", "x");
  a->Delete("k1");
  b->Put("k2", "later");
  const Contents before_a = a->Scan();
  const Contents before_b = b->Scan();
  const uint64_t sequence = b->db()->GetLatestSequenceNumber();
  const std::vector<std::string> expected = {"k1 version", "k2 version",
                                             "only here missing there",
                                             "only there missing here"};
  EXPECT_EQ(Compare(a.get(), *b), expected);
  EXPECT_FALSE(result_.equal);
  EXPECT_TRUE(result_.complete);
  EXPECT_EQ(a->Scan(), before_a);
  EXPECT_EQ(b->Scan(), before_b);
  EXPECT_THAT(RecordsSince(b->db(), sequence), testing::IsEmpty());

  ASSERT_TRUE(IsOk(b->replicator()->SyncNow(a->address())));
  EXPECT_TRUE(Compare(b.get(), *a).empty());
}

TEST_F(Verify, SaysWhoHoldsWhat) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("key", "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  b->Delete("key");
  std::vector<KeyDifference> found;
  ASSERT_TRUE(IsOk(a->replicator()->Verify(
      b->address(), AtOnce(),
      [&](const KeyDifference& difference) { found.push_back(difference); },
      &result_)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].here.state, HeldPair::State::kLive);
  EXPECT_EQ(found[0].here.version.replica, a->id());
  EXPECT_EQ(found[0].there.state, HeldPair::State::kTombstone);
  EXPECT_EQ(found[0].there.version.replica, b->id());
  EXPECT_GT(found[0].there.version.time, found[0].here.version.time);
}

// Between two looks, `meanwhile` happens once the first is over.
class VerifyTwice : public Verify {
 protected:
  std::unique_ptr<TestReplica> NewLogged() {
    log_->SetInfoLogLevel(rocksdb::InfoLogLevel::DEBUG_LEVEL);
    TestReplica::Setting setting = SettingOf("a");
    setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
      options->info_log = log_;
    };
    auto replica = std::make_unique<TestReplica>(setting);
    EXPECT_TRUE(replica->Open()) << replica->open_status().ToString();
    return replica;
  }
  rocksdb::Status Run(TestReplica* here, const std::string& there,
                      const std::function<void()>& meanwhile) {
    const size_t before = log_->Count("session with");
    VerifyOptions options;
    options.in_flight_wait = milliseconds(5000);
    rocksdb::Status status;
    std::thread verifying([&] {
      status = here->replicator()->Verify(there, options, nullptr, &result_);
    });
    EXPECT_TRUE(
        Eventually([&] { return log_->Count("session with") > before; }));
    meanwhile();
    verifying.join();
    return status;
  }

  std::shared_ptr<KeptLog> log_ = std::make_shared<KeptLog>();
};

// Ordinals of families are of the first look.
TEST_F(VerifyTwice, FamiliesThatComeAndGoMeanwhileAreNotMixedUp) {
  const auto a = NewLogged();
  const auto b = NewReplica("b");
  std::vector<rocksdb::ColumnFamilyHandle*> all;
  const auto create = [&](TestReplica* replica, const char* name) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    EXPECT_TRUE(IsOk(replica->db()->CreateColumnFamily({}, name, &family)));
    return family;
  };
  for (TestReplica* replica : {a.get(), b.get()}) {
    for (const char* name : {"aaa", "m", "z"}) {
      all.push_back(create(replica, name));
    }
  }
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  ASSERT_TRUE(IsOk(a->db()->Put({}, all[1], "only in m of a", "v")));
  const rocksdb::Status status = Run(a.get(), b->address(), [&] {
    ASSERT_TRUE(IsOk(a->db()->DropColumnFamily(all[0])));
    ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(all[3])));
    for (TestReplica* replica : {a.get(), b.get()}) {
      ASSERT_TRUE(IsOk(replica->db()->WaitForIndexBuild(60'000)));
    }
  });
  EXPECT_FALSE(result_.equal);
  EXPECT_TRUE(Mentions(status, "between two looks") ||
              Mentions(status, "families differ"))
      << status.ToString() << "; of a look between the drops the latter";
  a->Stop();
  b->Stop();
  for (size_t i = 0; i < all.size(); ++i) {
    rocksdb::DB* const db = (i < 3 ? a : b)->db();
    EXPECT_TRUE(IsOk(db->DestroyColumnFamilyHandle(all[i])));
  }
}

// By the same name, so nothing but the connection tells.
TEST_F(VerifyTwice, AFamilyMadeAnewMeanwhileIsComparedAnew) {
  const auto a = NewLogged();
  const auto b = NewReplica("b");
  rocksdb::ColumnFamilyHandle* here = nullptr;
  rocksdb::ColumnFamilyHandle* there = nullptr;
  ASSERT_TRUE(IsOk(a->db()->CreateColumnFamily({}, "m", &here)));
  ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily({}, "m", &there)));
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(IsOk(a->db()->Put({}, here, Numbered("k", i), "v")));
  }
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  ASSERT_TRUE(IsOk(b->db()->Delete({}, there, "tombstone only there")));
  const rocksdb::Status status = Run(a.get(), b->address(), [&] {
    ASSERT_TRUE(IsOk(b->db()->DropColumnFamily(there)));
    ASSERT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there)));
    ASSERT_TRUE(IsOk(b->db()->CreateColumnFamily({}, "m", &there)));
    ASSERT_TRUE(IsOk(b->db()->WaitForIndexBuild(60'000)));
  });
  EXPECT_FALSE(result_.equal);
  if (status.ok()) {
    EXPECT_EQ(result_.differences, 50u);
  }
  a->Stop();
  b->Stop();
  EXPECT_TRUE(IsOk(a->db()->DestroyColumnFamilyHandle(here)));
  EXPECT_TRUE(IsOk(b->db()->DestroyColumnFamilyHandle(there)));
}

TEST_F(VerifyTwice, AnotherReplicaAtTheAddressIsNotThePeer) {
  const auto a = NewLogged();
  const auto b = NewReplica("b");
  const auto c = NewReplica("c");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 100; ++i) a->Put(Numbered("k", i), "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  a->Put("only here", "v");
  const rocksdb::Status status = Run(a.get(), b->address(), [&] {
    b->Stop();
    c->set_address(b->address());
    ASSERT_TRUE(IsOk(c->Start()));
  });
  EXPECT_FALSE(result_.equal);
  EXPECT_TRUE(status.IsTryAgain()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "at this address"));
}

TEST_F(Verify, WhatIsOnItsWayDoesNotCount) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 500; ++i) a->Put(Numbered("k", i), "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  // Both write all the time, and heal all the time.
  std::atomic<bool> done{false};
  std::vector<std::thread> busy;
  for (TestReplica* replica : {a.get(), b.get()}) {
    busy.emplace_back([replica, &done] {
      for (int i = 0; !done; ++i) {
        replica->Put(Numbered("k", i % 50), Numbered("value", i));
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
  }
  busy.emplace_back([&] {
    while (!done) {
      (void)b->replicator()->SyncNow(a->address());
      // A comparison is a session, too, and needs time between two others.
      std::this_thread::sleep_for(milliseconds(100));
    }
  });
  VerifyOptions options;
  options.in_flight_wait = milliseconds(60'000);  // ends once all has arrived
  EXPECT_EQ(Compare(a.get(), *b, options), std::vector<std::string>());
  EXPECT_TRUE(result_.equal);
  done = true;
  for (std::thread& thread : busy) thread.join();
}

TEST_F(Verify, WhatStaysDifferentCounts) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("key", "value");
  VerifyOptions options;
  options.in_flight_wait = milliseconds(600);
  EXPECT_EQ(Compare(a.get(), *b, options),
            std::vector<std::string>{"key missing there"});
  EXPECT_EQ(result_.looks, 3u);
}

TEST_F(Verify, EndsAtTheNumberOfKeysAskedFor) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  for (int i = 0; i < 3000; ++i) a->Put(Numbered("k", i), "value");
  VerifyOptions options = AtOnce();
  options.max_keys = 10;
  EXPECT_EQ(Compare(a.get(), *b, options).size(), 10u);
  EXPECT_FALSE(result_.complete);
  EXPECT_FALSE(result_.equal);
  options.max_keys = 3000;
  EXPECT_EQ(Compare(a.get(), *b, options).size(), 3000u);
  EXPECT_TRUE(result_.complete);
  options.max_keys = 0;
  EXPECT_TRUE(Mentions(
      a->replicator()->Verify(b->address(), options, nullptr, &result_),
      "max_keys"));
}

TEST_F(Verify, PausedAndUnreachable) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->replicator()->Pause();
  EXPECT_TRUE(a->replicator()
                  ->Verify(b->address(), AtOnce(), nullptr, &result_)
                  .IsBusy());
  a->replicator()->Resume();
  b->Stop();
  EXPECT_FALSE(
      a->replicator()->Verify(b->address(), AtOnce(), nullptr, &result_).ok());
}

TEST_F(Verify, OverAnyTransport) {
  const auto a = NewReplica("a");
  const auto b = NewReplica("b");
  const std::shared_ptr<MemoryNetwork> network = NewMemoryNetwork();
  ReplicatorOptions options = TestReplica::OnDemand();
  std::unique_ptr<Replicator> replicator_a;
  std::unique_ptr<Replicator> replicator_b;
  ASSERT_TRUE(IsOk(Replicator::Start(options, a->db(), network->Join(a->id()),
                                     &replicator_a)));
  options.listen_address = "b";
  ASSERT_TRUE(IsOk(Replicator::Start(options, b->db(), network->Join(b->id()),
                                     &replicator_b)));
  a->Put("key", "value");
  ASSERT_TRUE(IsOk(replicator_a->Verify("b", AtOnce(), nullptr, &result_)));
  EXPECT_EQ(result_.differences, 1u);
  ASSERT_TRUE(IsOk(replicator_a->SyncNow("b")));
  ASSERT_TRUE(IsOk(replicator_a->Verify("b", AtOnce(), nullptr, &result_)));
  EXPECT_TRUE(result_.equal);
}

}  // namespace
}  // namespace rocksync
