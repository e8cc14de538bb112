// Two replicas in memory that hold a session, and what a proof must look like.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_SESSION_FIXTURE_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_SESSION_FIXTURE_H_

#include "gtest/gtest.h"
#include "replication/session/session.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

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
      ++other;
    }
  }

  static void ExpectProven(const SessionRunResult& result) {
    EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
    EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
    EXPECT_TRUE(result.finished);
    EXPECT_TRUE(result.proven());
    EXPECT_EQ(result.initiator.merged, result.responder.merged);
  }

  uint64_t wall_ms_ = 1'000'000;
  const ElementHasher hasher_{ClusterSecret{1, 2, 3}};
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_SESSION_FIXTURE_H_
