// Statistics as Prometheus text and as JSON, and back.

#include "rocksync/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/metrics/prometheus.h"
#include "tools/stats_from_json.h"

namespace rocksync {
namespace {

using testing::HasSubstr;
using testing::Not;

// Each field has a value of its own, so that no two can be mixed up.
ReplicationStats Stats(uint64_t id = 0xa1) {
  ReplicationStats stats;
  stats.replica_id = id;
  stats.elements = 101;
  stats.sessions = 102;
  stats.sessions_failed = 103;
  stats.pairs_sent = 104;
  stats.pairs_received = 105;
  stats.pairs_applied = 106;
  stats.pairs_superseded = 107;
  stats.pairs_held_back = 108;
  stats.bytes_filters = 1090;
  stats.bytes_offers = 1100;
  stats.bytes_keys = 1110;
  stats.bytes_values = 1120;
  stats.bytes_total = 5000;
  stats.exchanges = 114;
  stats.paused = true;
  stats.certificate_expires_ms = 1'800'000'000'009;
  stats.certificate_renewals = 115;
  stats.certificate_error = "of the certificate";
  stats.certificate_first_to_expire = "of the CA";
  stats.callers_refused = 116;
  stats.last_refusal = "of the caller";
  stats.stream = {2, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511};
  stats.index = {false, "adopting", 41, 208, "of the index"};
  stats.disk = {true, 701, 702, "no files left"};
  stats.scrub.running = true;
  stats.scrub.pairs_compared = 201;
  stats.scrub.last_finished_ms = 1'700'000'000'007;
  stats.scrub.corruption_found = 203;
  stats.scrub.unreadable = 204;
  stats.scrub.repaired = 205;
  stats.scrub.released = 206;
  stats.scrub.resolved = 207;
  stats.scrub.last_error = "of the scrub";
  stats.gc.epoch = 301;
  stats.gc.stable_ms = 1'600'000'000'123;
  stats.gc.tombstones = 302;
  stats.gc.removed = 303;
  stats.gc.held_up_by = 0xb2;
  stats.gc.may_hold_deleted_pairs = true;
  stats.gc.members = {{0xa1, 1, 311'000, 312'000}, {0xb2, 2, 321'000, 0}};
  PeerStats peer;
  peer.address = "10.0.0.2:7400";
  peer.replica_id = 0xb2;
  peer.configured = true;
  peer.sessions = 401;
  peer.sessions_failed = 402;
  peer.last_error = "of the peer";
  peer.last_proven_equal_ms = 1'700'000'000'500;
  peer.equal_as_of_ms = 1'700'000'000'400;
  peer.digests_equal_as_of_ms = 1'700'000'000'450;
  peer.stream = {1, 601, 602, 603, 604, 605, 606, 607, 608, 609, 610, 6'110};
  peer.last.peer = peer.address;
  peer.last.quarantined_there = 405;
  peer.last.proven_equal = true;
  peer.last.quarantined_here = 404;
  peer.last.elements_compared = 412;
  peer.last.pairs_to_send = 421;
  peer.last.pairs_to_receive = 422;
  peer.last.pairs_sent = 413;
  peer.last.pairs_received = 414;
  peer.last.pairs_applied = 415;
  peer.last.bytes_filters = 416;
  peer.last.bytes_offers = 417;
  peer.last.bytes_keys = 418;
  peer.last.bytes_values = 419;
  peer.last.exchanges = 3;
  peer.last.round_trips = 4;
  peer.last.bytes_total = 407;
  stats.peers.push_back(peer);
  return stats;
}

struct Sample {
  std::string labels;
  std::string value;
};

// Parses the text as strictly as Prometheus does, and more: every metric has
// HELP and TYPE, once and before its samples, and no series is there twice.
std::map<std::string, std::vector<Sample>> Parse(const std::string& text) {
  static const std::regex help("# HELP ([a-z_]+) ([^\\\\]+\\.)");
  static const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
  static const std::regex sample(
      "([a-z_]+)\\{((?:[a-z_]+=\"(?:[^\"\\\\]|\\\\[\\\\\"n])*\",?)+)\\} "
      "([0-9]+(?:\\.[0-9]+)?)");
  std::map<std::string, std::vector<Sample>> metrics;
  std::set<std::string> helped, series;
  std::string current;
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      EXPECT_TRUE(helped.insert(match[1]).second) << line;
    } else if (std::regex_match(line, match, type)) {
      current = match[1];
      EXPECT_TRUE(helped.count(current)) << line;
      EXPECT_TRUE(metrics.try_emplace(current).second) << "twice: " << line;
      const bool counts = current.size() > 6 &&
                          current.compare(current.size() - 6, 6, "_total") == 0;
      EXPECT_EQ(counts, match[2] == "counter") << line;
      EXPECT_EQ(current.rfind("rocksync_", 0), 0U) << line;
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(match[1], current) << "not under its TYPE: " << line;
      EXPECT_TRUE(series.insert(match[1].str() + match[2].str()).second)
          << "twice: " << line;
      metrics[match[1]].push_back({match[2], match[3]});
    } else {
      ADD_FAILURE() << "no line of the format: " << line;
    }
  }
  return metrics;
}

TEST(PrometheusTextTest, TellsEveryFigureOnceInUnitsOfTheFormat) {
  const std::string text = PrometheusText({Stats()});
  auto metrics = Parse(text);
  EXPECT_GT(metrics.size(), 30U);
  const std::string replica = "replica=\"00000000000000a1\"";
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
  for (const int value : {101,  102,  103,  104, 105, 106, 107, 108, 1090,
                          1100, 1110, 1120, 114, 201, 203, 204, 205, 206,
                          207,  301,  302,  303, 401, 402, 405, 701, 702}) {
    EXPECT_EQ(values.count(std::to_string(value)), 1U) << value;
  }
  EXPECT_EQ(metrics["rocksync_pairs_sent_total"][0].value, "104");
  EXPECT_EQ(metrics["rocksync_pairs_superseded_total"][0].value, "107");
  EXPECT_EQ(metrics["rocksync_scrub_released_total"][0].value, "206");
  EXPECT_EQ(metrics["rocksync_certificate_renewals_total"][0].value, "115");
  EXPECT_EQ(metrics["rocksync_certificate_files_unused"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_callers_refused_total"][0].value, "116");
  EXPECT_EQ(metrics["rocksync_disk_writes_refused"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_writes_stopped"][0].value, "1");
  EXPECT_EQ(metrics["rocksync_disk_free_bytes"][0].value, "701");
  EXPECT_EQ(metrics["rocksync_disk_min_free_bytes"][0].value, "702");
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

TEST(PrometheusTextTest, OfNobodyItHasNoSamples) {
  for (const auto& [name, samples] : Parse(PrometheusText({}))) {
    EXPECT_TRUE(samples.empty()) << name;
  }
}

// What comes back of each structure, field by field. These do not compile once
// a structure has another field: add it to the JSON, to Stats() and here.
void ExpectSame(const StreamStats& stream, const StreamStats& was) {
  const auto fields = [](const StreamStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l);
  };
  EXPECT_EQ(fields(stream), fields(was));
}

void ExpectSame(const ScrubStats& scrub, const ScrubStats& was) {
  const auto fields = [](const ScrubStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i);
  };
  EXPECT_EQ(fields(scrub), fields(was));
}

void ExpectSame(const TombstoneGcStats& gc, const TombstoneGcStats& was) {
  const auto fields = [](const TombstoneGcStats& s) {
    const auto& [a, b, c, d, e, f, g, h, members] = s;
    std::vector<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>> listed;
    for (const auto& [id, since, held, acknowledged] : members) {
      listed.emplace_back(id, since, held, acknowledged);
    }
    return std::make_tuple(a, b, c, d, e, f, g, h, listed);
  };
  EXPECT_EQ(fields(gc), fields(was));
}

// All but who the peer is, how many elements there are, the plan and the error:
// those are the peer's and the replica's own, or not for operators.
void ExpectSame(const SessionProgress& session, const SessionProgress& was) {
  const auto fields = [](const SessionProgress& s) {
    const auto& [peer, a, b, c, d, elements, e, f, g, h, i, j, k, l, m, n, o, p,
                 q, plan, error] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  };
  EXPECT_EQ(fields(session), fields(was));
}

void ExpectSame(const IndexBuildStats& index, const IndexBuildStats& was) {
  const auto fields = [](const IndexBuildStats& s) {
    const auto& [a, b, c, d, e] = s;
    return std::make_tuple(a, b, c, d, e);
  };
  EXPECT_EQ(fields(index), fields(was));
}

void ExpectSame(const DiskSpaceStats& disk, const DiskSpaceStats& was) {
  const auto fields = [](const DiskSpaceStats& s) {
    const auto& [a, b, c, d] = s;
    return std::make_tuple(a, b, c, d);
  };
  EXPECT_EQ(fields(disk), fields(was));
}

void ExpectSame(const PeerStats& peer, const PeerStats& was) {
  const auto fields = [](const PeerStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i, last, stream] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i);
  };
  EXPECT_EQ(fields(peer), fields(was));
  ExpectSame(peer.last, was.last);
  ExpectSame(peer.stream, was.stream);
}

void ExpectSame(const ReplicationStats& stats, const ReplicationStats& was) {
  const auto fields = [](const ReplicationStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v,
                 w, stream, index, disk, scrub, gc, peers] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r,
                           t, u, v, w, peers.size());
  };
  EXPECT_EQ(fields(stats), fields(was));
  ExpectSame(stats.stream, was.stream);
  ExpectSame(stats.index, was.index);
  ExpectSame(stats.disk, was.disk);
  ExpectSame(stats.scrub, was.scrub);
  ExpectSame(stats.gc, was.gc);
  for (size_t i = 0; i < std::min(stats.peers.size(), was.peers.size()); ++i) {
    ExpectSame(stats.peers[i], was.peers[i]);
  }
}

TEST(StatsJsonTest, NoFieldIsLost) {
  ReplicationStats was = Stats();
  was.gc.identity_conflict = 0xa1;
  was.gc.sweeping = true;
  was.peers[0].last.finished = true;
  const std::optional<ReplicationStats> back = StatsFromJson(StatsJson(was));
  ASSERT_TRUE(back.has_value());
  ExpectSame(*back, was);
}

TEST(StatsJsonTest, ComesBackAsItWas) {
  const std::string json = StatsJson(Stats());
  EXPECT_EQ(json.find('\n'), std::string::npos);
  const std::optional<ReplicationStats> back = StatsFromJson(json);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(StatsJson(*back), json);
  EXPECT_EQ(PrometheusText({*back}), PrometheusText({Stats()}));
  EXPECT_EQ(back->peers[0].last.bytes_total, 407U);
  EXPECT_EQ(back->gc.members[1].since_epoch, 2U);
}

TEST(StatsJsonTest, IsJson) {
  ReplicationStats stats = Stats();
  stats.peers[0].last_error = "quote \" and \\ and \n and \xff";
  const auto json = nlohmann::json::parse(StatsJson(stats), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["peers"][0]["last_error"], "quote \" and \\ and ? and ?");
  EXPECT_EQ(json["tombstone_gc"]["member_list"][1]["replica_id"],
            "00000000000000b2");
}

// A replica may be of another version, or hostile.
TEST(StatsFromJsonTest, WhateverComesItEnds) {
  EXPECT_FALSE(StatsFromJson("").has_value());
  EXPECT_FALSE(StatsFromJson("[]").has_value());
  EXPECT_FALSE(StatsFromJson("{}").has_value());
  EXPECT_FALSE(StatsFromJson("{\"replica_id\":17}").has_value());
  EXPECT_FALSE(StatsFromJson("{\"replica_id\":\"1\"}").has_value());
  const auto stats = StatsFromJson(
      "{\"replica_id\":\"00000000000000a1\",\"elements\":-1,"
      "\"sessions\":\"many\",\"paused\":3,\"scrub\":[1],\"tombstone_gc\":"
      "{\"member_list\":[1,{}]},\"peers\":[null,{\"address\":7}]}");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->elements, 0U);
  EXPECT_EQ(stats->sessions, 0U);
  EXPECT_FALSE(stats->paused);
  EXPECT_EQ(stats->peers.size(), 2U);
  Parse(PrometheusText({*stats}));
}

}  // namespace
}  // namespace rocksync
