#include "replication/protocol/session.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

class SessionTest : public testing::Test {
 protected:
  MemoryStorage Replica(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {"default", "other"};
    options.wall_ms = [this] { return ++wall_ms_; };
    return MemoryStorage(&hasher_, options);
  }

  static void ExpectEqual(const MemoryStorage& a, const MemoryStorage& b) {
    ASSERT_EQ(a.records().size(), b.records().size());
    auto other = b.records().begin();
    for (const auto& [key, record] : a.records()) {
      EXPECT_EQ(key, other->first);
      EXPECT_EQ(record.hash, other->second.hash) << key.second;
      EXPECT_EQ(record.value, other->second.value) << key.second;
      ++other;
    }
  }

  static void ExpectProven(const ConversationResult& result) {
    EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
    EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
    EXPECT_TRUE(result.finished);
    EXPECT_TRUE(result.proven());
    EXPECT_EQ(result.initiator.merged, result.responder.merged);
  }

  uint64_t wall_ms_ = 1'000'000;
  const ElementHasher hasher_{ClusterSecret{1, 2, 3}};
};

TEST_F(SessionTest, TwoEmptyReplicasAreEqual) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  const ConversationResult result = Converse(&a, &b);
  ExpectProven(result);
  EXPECT_EQ(result.initiator.round_trips, 1u);
}

TEST_F(SessionTest, OneFillsTheOther) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const ConversationResult result = Converse(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.initiator.pairs_sent, 1000u);
}

TEST_F(SessionTest, TheOtherWayRound) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const ConversationResult result = Converse(&b, &a);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.responder.pairs_sent, 1000u);
}

TEST_F(SessionTest, OverwritesAndDeletesOnBothSides) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 1000; ++i) a.Put(i % 2, absl::StrCat("key", i), "old");
    ExpectProven(Converse(&a, &b));
    for (int i = 0; i < 100; ++i) a.Put(i % 2, absl::StrCat("key", i), "of a");
    for (int i = 50; i < 150; ++i) b.Put(i % 2, absl::StrCat("key", i), "of b");
    for (int i = 140; i < 170; ++i) a.Delete(i % 2, absl::StrCat("key", i));
    for (int i = 200; i < 220; ++i) b.Delete(i % 2, absl::StrCat("key", i));
    ConversationOptions options;
    options.initiator.exchange.mode = mode;
    const ConversationResult result = Converse(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    // 50 keys are of a, 90 of b, 50 are deleted; each pair goes one way, once.
    // The adaptive exchange may miss an element, and then a loser travels.
    const uint64_t sent =
        result.initiator.pairs_sent + result.responder.pairs_sent;
    EXPECT_GE(sent, 190u);
    EXPECT_LE(sent, mode == ExchangeMode::kBloom ? 190u : 195u);
    EXPECT_GE(result.initiator.value_bytes, 4u * 140);
    EXPECT_LE(result.initiator.value_bytes, 4u * 145);
    EXPECT_EQ(result.initiator.value_bytes, result.responder.value_bytes);
    EXPECT_EQ(result.initiator.key_bytes, result.responder.key_bytes);
    EXPECT_EQ(result.initiator.bytes_sent, result.responder.bytes_received);
    EXPECT_EQ(result.initiator.bytes_received, result.responder.bytes_sent);
  }
}

}  // namespace
}  // namespace rocksync
