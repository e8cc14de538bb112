// Statistics as JSON, and back.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "nlohmann/json.hpp"
#include "rocksync/metrics.h"
#include "tests/unit/replication/metrics/prometheus_samples.h"
#include "tests/unit/replication/metrics/stats_of_each_field.h"
#include "tools/stats_from_json.h"

namespace rocksync {
namespace {

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
    const auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j);
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

void ExpectSame(const SoftwareStats& software, const SoftwareStats& was) {
  const auto fields = [](const SoftwareStats& s) {
    const auto& [a, b, c] = s;
    return std::make_tuple(a, b, c);
  };
  EXPECT_EQ(fields(software), fields(was));
}

void ExpectSame(const DiskSpaceStats& disk, const DiskSpaceStats& was) {
  const auto fields = [](const DiskSpaceStats& s) {
    const auto& [a, b, c, d, e] = s;
    return std::make_tuple(a, b, c, d, e);
  };
  EXPECT_EQ(fields(disk), fields(was));
}

void ExpectSame(const PeerStats& peer, const PeerStats& was) {
  const auto fields = [](const PeerStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i, j, last, silent_ms, stream] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j, silent_ms);
  };
  EXPECT_EQ(fields(peer), fields(was));
  ExpectSame(peer.last, was.last);
  ExpectSame(peer.stream, was.stream);
}

void ExpectSame(const ReplicationStats& stats, const ReplicationStats& was) {
  const auto fields = [](const ReplicationStats& s) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v,
                 w, x, y, software, stream, index, disk, scrub, gc, peers] = s;
    return std::make_tuple(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r,
                           t, u, v, w, x, y, peers.size());
  };
  EXPECT_EQ(fields(stats), fields(was));
  ExpectSame(stats.software, was.software);
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
  was.peers[0].waits_for_index_build = true;
  ReplicationStats back;
  ASSERT_TRUE(StatsFromJson(StatsJson(was), &back).ok());
  ExpectSame(back, was);
}

TEST(StatsJsonTest, ComesBackAsItWas) {
  const std::string json = StatsJson(Stats());
  EXPECT_EQ(json.find('\n'), std::string::npos);
  ReplicationStats back;
  ASSERT_TRUE(StatsFromJson(json, &back).ok());
  EXPECT_EQ(StatsJson(back), json);
  EXPECT_EQ(PrometheusText({back}), PrometheusText({Stats()}));
  EXPECT_EQ(back.peers[0].last.bytes_total, 407U);
  EXPECT_EQ(back.gc.members[1].since_epoch, 2U);
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
  ReplicationStats stats;
  for (const char* text : {"", "[]", "no JSON"}) {
    EXPECT_EQ(StatsFromJson(text, &stats).ToString(),
              "Corruption: the answer is no JSON object");
  }
  for (const char* text :
       {"{}", "{\"replica_id\":17}", "{\"replica_id\":\"1\"}"}) {
    EXPECT_EQ(StatsFromJson(text, &stats).ToString(),
              "Corruption: the answer tells no replica id");
  }
  const auto status = StatsFromJson(
      "{\"replica_id\":\"00000000000000a1\",\"elements\":-1,"
      "\"sessions\":\"many\",\"paused\":3,\"scrub\":[1],\"tombstone_gc\":"
      "{\"member_list\":[1,{}]},\"peers\":[null,{\"address\":7}]}",
      &stats);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(stats.elements, 0U);
  EXPECT_EQ(stats.sessions, 0U);
  EXPECT_FALSE(stats.paused);
  EXPECT_EQ(stats.peers.size(), 2U);
  Parse(PrometheusText({stats}));
}

}  // namespace
}  // namespace rocksync
