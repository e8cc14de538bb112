#include "replication/statistics/peer_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace rocksync {
namespace {

TEST(PeerTable, WhoCameHereAndIsFoundAtAnAddressIsOnePeer) {
  PeerTable table;
  table.SetConfigured({"a:1"});
  PeerEntry* const came = table.Find("10.0.0.1:50000", 0xa);
  came->stats.sessions = 2;
  EXPECT_EQ(table.entries().size(), 2u);
  PeerEntry* const entry = table.SetReplicaAt("a:1", 0xa);
  ASSERT_EQ(table.entries().size(), 1u);
  EXPECT_EQ(entry->stats.address, "a:1");
  EXPECT_EQ(entry->stats.replica_id, 0xau);
  EXPECT_EQ(entry->stats.sessions, 2u);
  EXPECT_EQ(table.Known("10.0.0.1:50001", 0xa), entry);
}

TEST(PeerTable, NothingOfTheReplicaBeforeHoldsOfTheNextOneAtItsAddress) {
  PeerTable table;
  table.SetConfigured({"a:1"});
  table.SetReplicaAt("a:1", 0xa)->stats.sessions = 2;
  EXPECT_EQ(table.SetReplicaAt("a:1", 0xb)->stats.sessions, 0u);
  EXPECT_TRUE(table.IsConfigured("a:1"));
  // What a session of the first one still tells is shown of nobody.
  table.FindForLine("a:1", 0xa)->stats.sessions = 3;
  ASSERT_EQ(table.entries().size(), 1u);
  EXPECT_EQ(table.entries()[0].stats.sessions, 0u);
}

TEST(PeerTable, WhoIsRemovedStaysWhileConnected) {
  PeerTable table;
  table.SetConfigured({"a:1"});
  auto connection = std::make_shared<int>();
  table.SetReplicaAt("a:1", 0xa)->AddConnection(connection);
  table.SetConfigured({});
  ASSERT_EQ(table.entries().size(), 1u);
  EXPECT_FALSE(table.entries()[0].HasLeft());
  connection.reset();
  EXPECT_TRUE(table.entries()[0].HasLeft());
  table.SetConfigured({});
  EXPECT_TRUE(table.entries().empty());
}

TEST(PeerTable, OfOthersTheOnesUsedLastAreKept) {
  PeerTable table;
  const auto connection = std::make_shared<int>();
  table.Find("connected", 1)->AddConnection(connection);
  for (uint64_t id = 2; id < 200; ++id) {
    table.Find("other " + std::to_string(id), id);
    EXPECT_NE(table.Known("other 2", 2), nullptr) << "after " << id;
  }
  EXPECT_EQ(table.entries().size(), 1u + 64u);
  EXPECT_NE(table.Known("connected", 1), nullptr);
  EXPECT_EQ(table.Known("other 3", 3), nullptr);
}

}  // namespace
}  // namespace rocksync
