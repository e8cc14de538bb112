// Statistics as Prometheus text.

#include "replication/metrics/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rocksync/metrics.h"
#include "tests/unit/replication/metrics/prometheus_samples.h"
#include "tests/unit/replication/metrics/stats_of_each_field.h"

namespace rocksync {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrometheusTextTest, TellsEveryFigureOnceInUnitsOfTheFormat) {
  const std::string text = PrometheusText({Stats()});
  auto metrics = Parse(text);
  EXPECT_GT(metrics.size(), 30U);
  const std::string replica =
      "replica=\"00000000000000a1\",cluster_name=\"of \\\"us\\\"\"";
  EXPECT_EQ(metrics["rocksync_elements"][0].labels, replica);
  EXPECT_EQ(metrics["rocksync_elements"][0].value, "101");
  EXPECT_EQ(metrics["rocksync_scrub_last_finished_timestamp_seconds"][0].value,
            "1700000000.007");
  EXPECT_THAT(text, HasSubstr("rocksync_tombstones_stable_timestamp_seconds{" +
                              replica + "} 1600000000.123\n"));
  // Kinds of bytes add up to the total.
  uint64_t bytes = 0;
  for (const Sample& sample : metrics["rocksync_message_bytes_total"]) {
    bytes += std::stoull(sample.value);
  }
  EXPECT_EQ(bytes, 5000U);
  const std::string peer = replica + ",peer=\"10.0.0.2:7400\"";
  EXPECT_EQ(metrics["rocksync_peer_failing"][0].labels, peer);
  EXPECT_EQ(metrics["rocksync_peer_failing"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_peer_configured"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_peer_in_session"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_peer_stream_open"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_peer_stream_lag_seconds"][0].value, "6.110");
  EXPECT_THAT(text, HasSubstr("rocksync_member_holds_up_tombstones{" + replica +
                              ",member=\"00000000000000b2\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("rocksync_member_holds_up_tombstones{" + replica +
                              ",member=\"00000000000000a1\"} 0\n"));
}

TEST(PrometheusTextTest, NoTwoFiguresHaveOneNameOrSwapped) {
  auto metrics = Parse(PrometheusText({Stats()}));
  // Every count of Stats() is somewhere.
  std::multiset<std::string> values;
  for (const auto& [name, samples] : metrics) {
    for (const Sample& sample : samples) values.insert(sample.value);
  }
  for (const int value : {101,  102,  103, 104, 105, 106, 107, 108, 1090, 1100,
                          1110, 1120, 114, 201, 203, 204, 205, 206, 207,  301,
                          302,  303,  401, 402, 405, 701, 702, 703}) {
    EXPECT_EQ(values.count(std::to_string(value)), 1U) << value;
  }
  EXPECT_EQ(metrics["rocksync_pairs_sent_total"][0].value, "104");
  EXPECT_EQ(metrics["rocksync_pairs_superseded_total"][0].value, "107");
  EXPECT_EQ(metrics["rocksync_scrub_released_total"][0].value, "206");
  EXPECT_EQ(metrics["rocksync_certificate_renewals_total"][0].value, "115");
  EXPECT_EQ(metrics["rocksync_certificate_files_unused"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_connections_refused_total"][0].value, "116");
  EXPECT_EQ(metrics["rocksync_disk_writes_refused"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_writes_stopped"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_disk_free_bytes"][0].value, "701");
  EXPECT_EQ(metrics["rocksync_disk_min_free_bytes"][0].value, "702");
  EXPECT_EQ(metrics["rocksync_log_batches_dropped"][0].value, "703");
  EXPECT_EQ(metrics["rocksync_index_building"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_index_build_percent"][0].value, "41");
  EXPECT_EQ(metrics["rocksync_index_build_failing"][0].value, "1");
}

TEST(PrometheusTextTest, AReplicaIsToldOnceAndEachOfItsAddresses) {
  ReplicationStats stats = Stats();
  // Two addresses of one replica, of which one is down.
  stats.peers.push_back(stats.peers[0]);
  stats.peers[1].address = "10.0.0.3:7400";
  stats.peers[1].last_error.clear();
  auto metrics = Parse(PrometheusText({stats, Stats(), Stats(0xa2)}));
  EXPECT_EQ(metrics["rocksync_elements"].size(), 2U);
  EXPECT_EQ(metrics["rocksync_peer_sessions_total"].size(), 3U);
  EXPECT_EQ(metrics["rocksync_peer_failing"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_peer_failing"][1].value, "0");
  // Two connections of a replica that only dials here.
  for (PeerStats& peer : stats.peers) peer.configured = false;
  metrics = Parse(PrometheusText({stats}));
  EXPECT_EQ(metrics["rocksync_peer_sessions_total"].size(), 1U);
  EXPECT_EQ(metrics["rocksync_peer_sessions_total"][0].value, "802");
  EXPECT_EQ(metrics["rocksync_peer_failing"][0].value, "0");
}

TEST(PrometheusTextTest, APeerIsCalledByOneNameOverRestarts) {
  ReplicationStats stats = Stats();
  PeerStats* const peer = &stats.peers[0];
  peer->address = "b:7400";
  peer->configured = true;
  const auto label_of_failing = [&stats] {
    auto metrics = Parse(PrometheusText({stats}));
    EXPECT_EQ(metrics["rocksync_peer_failing"].size(), 1U);
    return metrics["rocksync_peer_failing"][0].labels;
  };
  const std::string met = label_of_failing();
  EXPECT_THAT(met, HasSubstr("peer=\"b:7400\""));
  EXPECT_THAT(PrometheusText({stats}),
              HasSubstr("rocksync_peer_info{" + met +
                        ",peer_id=\"00000000000000b2\"} 1\n"));
  // Of one that comes here the address has a port that changes.
  peer->configured = false;
  EXPECT_THAT(label_of_failing(), HasSubstr("peer=\"00000000000000b2\""));
  EXPECT_THAT(PrometheusText({stats}), Not(HasSubstr("b:7400")));
  EXPECT_THAT(PrometheusText({stats}), HasSubstr("rocksync_peer_configured{" +
                                                 label_of_failing() + "} 0\n"));
  peer->configured = true;
  peer->replica_id = 0;
  EXPECT_EQ(label_of_failing(), met);
  EXPECT_THAT(PrometheusText({stats}), Not(HasSubstr("rocksync_peer_info{")));
}

TEST(PrometheusTextTest, AnIndexBuildIsNoFailureOfAPeer) {
  ReplicationStats stats;
  PeerStats& peer = stats.peers.emplace_back();
  peer.address = "b:1";
  peer.configured = true;
  const auto value = [&stats](const std::string& metric) {
    return Parse(PrometheusText({stats}))[metric][0].value;
  };
  peer.last_error = "Operation failed. Try again.: the disk is full";
  EXPECT_EQ(value("rocksync_peer_failing"), "1");
  EXPECT_EQ(value("rocksync_peer_index_building"), "0");
  peer.last_error = "the peer cannot compare now: adopting, 5 %";
  peer.waits_for_index_build = true;
  EXPECT_EQ(value("rocksync_peer_failing"), "0");
  EXPECT_EQ(value("rocksync_peer_index_building"), "1");
}

TEST(PrometheusTextTest, WhatIsNotKnownIsZeroAndAPeerNotMetHasItsAddress) {
  ReplicationStats stats;
  stats.replica_id = 1;
  stats.peers.emplace_back().address = "a \"quoted\\ name\n\xff\xe2\x82\xac:1";
  stats.peers[0].configured = true;
  // One that SyncNow was given, by mistake.
  stats.peers.emplace_back().address = "nowhere:1";
  stats.peers[1].last_error = "nobody is there";
  const std::string text = PrometheusText({stats});
  auto metrics = Parse(text);
  ASSERT_EQ(metrics["rocksync_peer_sessions_total"].size(), 1U);
  EXPECT_EQ(metrics["rocksync_peer_sessions_total"][0].labels,
            "replica=\"0000000000000001\","
            "peer=\"a \\\"quoted\\\\ name?????:1\"");
  EXPECT_NE(StatsJson(stats).find("\"a \\\"quoted\\\\ name?????:1\""),
            std::string::npos);
  EXPECT_EQ(
      metrics["rocksync_peer_last_proven_equal_timestamp_seconds"][0].value,
      "0.000");
  // Never failed, and holds up nothing.
  EXPECT_EQ(metrics["rocksync_peer_failing"][0].value, "0");
  EXPECT_TRUE(metrics["rocksync_member_holds_up_tombstones"].empty());
}

// As the databases of one SharedListener have.
TEST(PrometheusTextTest, OneIdInTwoClustersIsTwoReplicas) {
  ReplicationStats orders = Stats();
  orders.cluster_name = "orders";
  ReplicationStats carts = Stats();
  carts.cluster_name = "carts";
  auto metrics = Parse(PrometheusText({orders, carts, orders}));
  EXPECT_EQ(metrics["rocksync_elements"].size(), 2U);
  EXPECT_THAT(metrics["rocksync_elements"][1].labels,
              HasSubstr(",cluster_name=\"carts\""));
  // Names that differ in bytes that are not shown.
  orders.cluster_name = "b\xc3\xbc";
  carts.cluster_name = "b\xff";
  metrics = Parse(PrometheusText({orders, carts}));
  ASSERT_EQ(metrics["rocksync_elements"].size(), 2U);
  EXPECT_THAT(metrics["rocksync_elements"][0].labels,
              HasSubstr(",cluster_name=\"0x62c3bc\""));
}

TEST(PrometheusTextTest, TheVersionsAreLabels) {
  auto metrics = Parse(PrometheusText({Stats()}));
  ASSERT_EQ(metrics["rocksync_build_info"].size(), 1U);
  EXPECT_EQ(metrics["rocksync_build_info"][0].labels,
            "replica=\"00000000000000a1\",cluster_name=\"of \\\"us\\\"\","
            "version=\"0.9.1\","
            "rocksdb_version=\"9.8.7\",protocol=\"117\"");
  EXPECT_EQ(metrics["rocksync_build_info"][0].value, "1");
}

TEST(PrometheusTextTest, OfVersionsThatAreNotKnownThereIsNoSample) {
  ReplicationStats stats = Stats();
  stats.software = {};
  EXPECT_TRUE(Parse(PrometheusText({stats}))["rocksync_build_info"].empty());
}

TEST(PrometheusTextTest, OfNobodyItHasNoSamples) {
  for (const auto& [name, samples] : Parse(PrometheusText({}))) {
    EXPECT_TRUE(samples.empty()) << name;
  }
}

}  // namespace
}  // namespace rocksync
