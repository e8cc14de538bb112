#include "examples/replicated_store/info.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Info, Sections) {
  const ServerInfo server{12, 34, 56};
  const ReplicationStats stats;
  EXPECT_EQ(FormatInfo("STATS", server, &stats),
            "# Stats\r\ntotal_commands_processed:34\r\n");
  EXPECT_EQ(FormatInfo("keyspace", server, nullptr),
            "# Keyspace\r\ndb0:keys=56,estimated=1\r\n");
  EXPECT_EQ(FormatInfo("replication", server, nullptr), "");
  EXPECT_EQ(FormatInfo("nothing", server, &stats), "");
  for (const char* all : {"", "all", "default", "Everything"}) {
    const std::string text = FormatInfo(all, server, &stats);
    EXPECT_THAT(text, StartsWith("# Server\r\n"));
    EXPECT_THAT(text, HasSubstr("\r\nuptime_in_seconds:12\r\n"));
    EXPECT_THAT(text, HasSubstr("\r\n\r\n# Replication\r\n"));
  }
}

TEST(Info, TheServerTellsItsVersion) {
  ReplicationStats stats;
  stats.software.rocksync = "0.9.1";
  EXPECT_THAT(FormatInfo("server", {}, &stats),
              HasSubstr("\r\nrocksync_version:0.9.1\r\n"));
  EXPECT_THAT(FormatInfo("server", {}, nullptr),
              Not(HasSubstr("rocksync_version")));
}

TEST(Info, AReplicaThatIsNotThereHasNoId) {
  ReplicationStats stats;
  stats.peers.resize(1);
  const std::string text = FormatInfo("replication", {}, &stats);
  EXPECT_THAT(text, HasSubstr("\r\ntombstones_held_up_by:\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nidentity_conflict:\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npeer0_replica_id:\r\n"));
}

TEST(Info, Replication) {
  ReplicationStats stats;
  stats.replica_id = 0xabc;
  stats.pairs_sent = 7;
  stats.connections_refused = 6;
  stats.last_refusal = "replica 9";
  stats.last_refusal_ms = 61;
  stats.paused = true;
  stats.software = {"0.9.1", "9.8.7", 117};
  stats.disk = {true, 21, 22, "", 23};
  stats.index.done = false;
  stats.index.activity = "purging";
  stats.certificate_error = "no key";
  stats.scrub.running = true;
  stats.scrub.pairs_compared = 31;
  stats.scrub.unreadable = 32;
  stats.scrub.incomplete = true;
  stats.gc.epoch = 7;
  stats.gc.tombstones = 9;
  stats.gc.held_up_by = 0x1f;
  stats.gc.identity_conflict = 0x2f;
  stats.gc.members.push_back({.replica_id = 0x1f, .held_ms = 12});
  stats.peers.resize(2);
  stats.peers[1].address = "127.0.0.1:7400";
  stats.peers[1].last_error = "two\r\nlines";
  stats.peers[1].waits_for_index_build = true;
  stats.peers[1].last.exchanges = 3;
  const std::string text = FormatInfo("replication", {}, &stats);
  EXPECT_THAT(text, HasSubstr("\r\nreplica_id:0000000000000abc\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nsoftware_rocksync:0.9.1\r\n"
                              "software_rocksdb:9.8.7\r\n"
                              "software_protocol:117\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npairs_sent:7\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nconnections_refused:6\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nlast_refusal:replica 9\r\n"
                              "last_refusal_ms:61\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npaused:1\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\ndisk_writes_refused:1\r\n"
                              "disk_write_error:\r\n"
                              "disk_free_bytes:21\r\n"
                              "disk_min_free_bytes:22\r\n"
                              "disk_log_batches_dropped:23\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nscrub_running:1\r\n"
                              "scrub_pairs_compared:31\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nscrub_unreadable:32\r\n"));
  EXPECT_THAT(text,
              HasSubstr("\r\nindex_done:0\r\nindex_activity:purging\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\ncertificate_error:no key\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nscrub_incomplete:1\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nmembers_epoch:7\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\ntombstones:9\r\n"));
  EXPECT_THAT(text,
              HasSubstr("\r\ntombstones_held_up_by:000000000000001f\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nidentity_conflict:000000000000002f\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\nmember0_held_ms:12\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npeers:2\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npeer1_address:127.0.0.1:7400\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npeer1_last_error:two  lines\r\n"
                              "peer1_waits_for_index_build:1\r\n"));
  EXPECT_THAT(text, HasSubstr("\r\npeer1_last_exchanges:3\r\n"));
  EXPECT_THAT(text, Not(HasSubstr("peer2")));
}

}  // namespace
}  // namespace rocksync
