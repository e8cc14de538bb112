// Keys and values that are too large: refused where they are written; what is
// there already is skipped and named, and the rest goes on.

#include "rocksync/limits.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

constexpr size_t kValueBytes = 1000;

class LimitsTest : public ReplicationTest {
 protected:
  std::unique_ptr<TestReplica> NewLimited(const std::string& name,
                                          size_t value_bytes) {
    TestReplica::Setting setting = SettingOf(name);
    setting.adjust = [value_bytes](rocksdb::Options*,
                                   ReplicatedDBOptions* replication) {
      replication->max_key_bytes = 100;
      replication->max_value_bytes = value_bytes;
    };
    auto replica = std::make_unique<TestReplica>(setting);
    EXPECT_TRUE(replica->Open()) << replica->open_status().ToString();
    EXPECT_TRUE(IsOk(replica->db()->WaitForIndexBuild(60'000)));
    EXPECT_TRUE(IsOk(replica->Start()));
    return replica;
  }

  // A database that knows of no limits.
  void MakePlain(const std::string& name) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(IsOk(OpenPlain(options, SettingOf(name).directory, &raw)));
    const std::unique_ptr<rocksdb::DB> db(raw);
    ASSERT_TRUE(IsOk(db->Put({}, HugeKey(), "v")));
    ASSERT_TRUE(IsOk(db->Put({}, "large", Large())));
    ASSERT_TRUE(IsOk(db->Put({}, "adopted", "v")));
    ASSERT_TRUE(IsOk(db->Close()));
  }

  static std::string HugeKey() { return std::string(kMaxKeyBytes + 1, 'K'); }
  static std::string Large() { return std::string(2 * kValueBytes, 'v'); }
};

TEST_F(LimitsTest, WhatIsTooLargeIsRefusedWhereItIsWritten) {
  const auto a = NewLimited("a", kValueBytes);
  const std::string long_key(101, 'k');
  ReplicatedDB* const db = a->db();
  rocksdb::WriteBatch value;
  EXPECT_TRUE(IsOk(value.Put("k", Large())));
  rocksdb::WriteBatch rewritten;  // one that is not written as it is
  EXPECT_TRUE(IsOk(rewritten.Put(long_key, "v")));
  EXPECT_TRUE(IsOk(rewritten.SingleDelete("k")));
  EXPECT_TRUE(Mentions(db->Put({}, "k", Large()), "max_value_bytes is 1000"));
  EXPECT_TRUE(Mentions(db->Write({}, &value), "max_value_bytes is 1000"));
  EXPECT_TRUE(Mentions(db->Put({}, long_key, "v"), "max_key_bytes is 100"));
  EXPECT_TRUE(Mentions(db->Put({}, long_key, "v"), "a key of 101 bytes in"));
  EXPECT_TRUE(Mentions(db->Write({}, &rewritten), "max_key_bytes is 100"));
  EXPECT_TRUE(a->Scan().empty());
  EXPECT_TRUE(IsOk(db->Put({}, std::string(100, 'k'), "v")));
  EXPECT_TRUE(IsOk(db->Put({}, "k", std::string(kValueBytes, 'v'))));
  EXPECT_TRUE(IsOk(db->Delete({}, long_key)));
}

TEST_F(LimitsTest, OnlyALimitThatCanBeRaisedIsToBeRaised) {
  const auto limited = NewLimited("limited", kValueBytes);
  const auto most = NewReplica("most");
  EXPECT_TRUE(Mentions(limited->db()->Put({}, HugeKey(), "v"),
                       "max_key_bytes is 100; raise it on every replica"));
  const rocksdb::Status refused = most->db()->Put({}, HugeKey(), "v");
  EXPECT_TRUE(Mentions(refused, "the most that there can be; write less"));
  EXPECT_FALSE(Mentions(refused, "raise it"));
}

TEST_F(LimitsTest, LimitsAndNamesHaveBounds) {
  const auto opens = [this](const auto& adjust) {
    TestReplica::Setting setting = SettingOf("c");
    setting.adjust = [&](rocksdb::Options*, ReplicatedDBOptions* options) {
      adjust(options);
    };
    TestReplica replica(setting);
    return replica.Open();
  };
  EXPECT_FALSE(opens([](ReplicatedDBOptions* options) {
    options->max_key_bytes = kMaxKeyBytes + 1;
  }));
  EXPECT_FALSE(opens([](ReplicatedDBOptions* options) {
    options->max_value_bytes = kMaxValueBytes + 1;
  }));
  EXPECT_FALSE(
      opens([](ReplicatedDBOptions* options) { options->max_key_bytes = 0; }));
  EXPECT_FALSE(opens([](ReplicatedDBOptions* options) {
    options->cluster_name = std::string(kMaxNameBytes + 1, 'c');
  }));
  const auto a = NewLimited("a", kValueBytes);
  rocksdb::ColumnFamilyHandle* family = nullptr;
  EXPECT_TRUE(
      Mentions(a->db()->CreateColumnFamily({}, std::string(1025, 'f'), &family),
               "at most 1024"));
}

TEST_F(LimitsTest, WhatIsThereAlreadyIsSkippedAndTheRestGoesOn) {
  MakePlain("a");
  const auto a = NewLimited("a", kValueBytes);
  const auto b = NewLimited("b", kValueBytes);
  const auto sync = [&] { return b->replicator()->SyncNow(a->address()); };
  b->Put("of b", "v");
  for (const char* key : {"first", "second"}) {
    a->Put(key, "v");
    const rocksdb::Status status = sync();
    EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
    EXPECT_EQ(b->Scan().count(key), 1u);
    EXPECT_EQ(b->Scan().count("adopted"), 1u);
    EXPECT_EQ(a->Scan().count("of b"), 1u);
    EXPECT_EQ(b->Scan().count("large"), 0u);
  }
  EXPECT_GE(a->db()->GetIndexStats().pairs_too_large, 2u);
  const rocksdb::Status status = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(Mentions(status, "2 above the size limits"));
  EXPECT_TRUE(Mentions(status, "enlarge max_key_bytes or max_value_bytes"));
  EXPECT_FALSE(Mentions(status, "unreadable (")) << "of none nothing is said";

  // No tombstone is left of a key that could not travel.
  a->Delete(HugeKey());
  a->Delete("large");
  EXPECT_TRUE(IsOk(sync()));
  EXPECT_EQ(a->Scan(), b->Scan());
}

TEST_F(LimitsTest, APeerMayTakeLess) {
  const auto a = NewLimited("a", 10 * kValueBytes);
  const auto b = NewLimited("b", kValueBytes);
  b->Put("of b", "v");
  a->Put("large", Large());
  a->Put("small", "v");
  const rocksdb::Status status = b->replicator()->SyncNow(a->address());
  EXPECT_TRUE(status.IsIncomplete()) << status.ToString();
  EXPECT_TRUE(Mentions(status, "1 above the size limits"));
  EXPECT_EQ(b->Scan().count("small"), 1u);
  EXPECT_EQ(b->Scan().count("large"), 0u);
  EXPECT_EQ(a->Scan().count("of b"), 1u);
  EXPECT_GE(b->db()->GetIndexStats().pairs_too_large, 1u);
  // Why a peer refuses, it does not say: all that it may be is named.
  const rocksdb::Status other = a->replicator()->SyncNow(b->address());
  EXPECT_TRUE(Mentions(other, "those that the peer refuses"));
  EXPECT_TRUE(Mentions(other, "the clock of this machine is ahead"));
  EXPECT_TRUE(
      Mentions(other, "if it names all others, too, its own clock is behind"));
  EXPECT_TRUE(Mentions(other, "above the peer's size limits"));
}

TEST_F(LimitsTest, TheListenerCountsASessionThatProvesNothing) {
  const auto a = NewLimited("a", kValueBytes);
  const auto b = NewLimited("b", 10 * kValueBytes);
  b->Put("large", Large());
  EXPECT_TRUE(b->replicator()->SyncNow(a->address()).IsIncomplete());
  ASSERT_TRUE(Eventually([&] {
    const ReplicationStats stats = a->replicator()->stats();
    return stats.peers.size() == 1 && stats.peers[0].last.finished;
  }));
  const ReplicationStats stats = a->replicator()->stats();
  EXPECT_EQ(stats.sessions_failed, 1u);
  EXPECT_EQ(stats.peers[0].sessions_failed, 1u);
  EXPECT_NE(stats.peers[0].last_error.find("1 above the size limits"),
            std::string::npos)
      << stats.peers[0].last_error;
}

}  // namespace
}  // namespace rocksync
