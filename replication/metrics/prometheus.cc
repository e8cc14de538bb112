#include "replication/metrics/prometheus.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replication/metrics/json.h"
#include "rocksync/metrics.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

std::string Seconds(uint64_t ms) {
  const std::string fraction = std::to_string(ms % 1000);
  return std::to_string(ms / 1000) + "." +
         std::string(3 - fraction.size(), '0') + fraction;
}

using Metric = PrometheusMetric;
constexpr auto kCounter = Metric::Type::kCounter;
constexpr auto kGauge = Metric::Type::kGauge;

// A metric of which each replica, peer or member has one sample.
template <typename Stats>
struct Row {
  const char* name;
  Metric::Type type;
  const char* help;
  std::string (*value)(const Stats& stats);
};

// One peer of a replica, named by its address in the options or by its id.
struct Peer {
  std::string name;         // the label
  uint64_t replica_id = 0;  // 0: not met
  bool configured = false;
  uint64_t sessions = 0;
  uint64_t sessions_failed = 0;
  uint64_t proven_ms = 0;
  uint64_t equal_as_of_ms = 0;
  uint64_t quarantined_there = 0;
  uint64_t lag_pairs = 0;
  uint64_t lag_ms = 0;
  bool stream_open = false;
  bool in_session = false;
  bool failing = true;
  bool index_building = false;
};

// Returns a peer's name, the same over restarts, whether it was met since or
// not: its address in the options, or its id if it only dials this replica, as
// the port that it comes from changes.
std::string NameOf(const PeerStats& peer) {
  return peer.configured ? PrintableAscii(peer.address)
                         : ReplicaIdHex(peer.replica_id);
}

std::vector<Peer> PeersOf(const ReplicationStats& stats) {
  std::map<std::string, Peer> peers;
  for (const PeerStats& from : stats.peers) {
    // An address that SyncNow was given, where no replica was met, is no peer.
    if (!from.configured && from.replica_id == 0) continue;
    const std::string name = NameOf(from);
    Peer& peer = peers[name];
    peer.name = name;
    peer.replica_id = from.replica_id;
    peer.configured |= from.configured;
    peer.sessions += from.sessions;
    peer.sessions_failed += from.sessions_failed;
    peer.proven_ms = std::max(peer.proven_ms, from.last_proven_equal_ms);
    peer.equal_as_of_ms = std::max(peer.equal_as_of_ms, from.equal_as_of_ms);
    peer.quarantined_there =
        std::max(peer.quarantined_there, from.last.quarantined_there);
    peer.lag_pairs = std::max(peer.lag_pairs, from.stream.lag_pairs);
    peer.lag_ms = std::max(peer.lag_ms, from.stream.lag_ms);
    peer.stream_open |= from.stream.open != 0;
    peer.in_session |= !from.last.finished && !from.last.peer.empty();
    // An index build is no failure: it has metrics where the index is built.
    peer.index_building |= from.waits_for_index_build;
    peer.failing &= !from.last_error.empty() && !from.waits_for_index_build;
  }
  std::vector<Peer> list;
  for (auto& [name, peer] : peers) list.push_back(std::move(peer));
  return list;
}

struct Member {
  MemberStats stats;
  bool holds_up = false;
};

const Row<ReplicationStats> kOfReplica[] = {
    {"rocksync_elements", kGauge,
     "Pairs and tombstones, as of the beginning of the latest session; 0 "
     "before the first since the start.",
     [](const ReplicationStats& s) { return std::to_string(s.elements); }},
    {"rocksync_paused", kGauge, "1 while no session begins here.",
     [](const ReplicationStats& s) { return std::to_string(s.paused); }},
    {"rocksync_certificate_expiry_timestamp_seconds", kGauge,
     "When the replica's certificate expires, or its CA if that is "
     "earlier; 0: it has none.",
     [](const ReplicationStats& s) {
       return Seconds(s.certificate_expires_ms);
     }},
    {"rocksync_certificate_renewals_total", kCounter,
     "Renewed certificate files that were taken into use.",
     [](const ReplicationStats& s) {
       return std::to_string(s.certificate_renewals);
     }},
    {"rocksync_certificate_files_unused", kGauge,
     "1 while the certificate files on disk do not fit, and earlier ones are "
     "in use.",
     [](const ReplicationStats& s) {
       return std::to_string(!s.certificate_error.empty());
     }},
    {"rocksync_connections_refused_total", kCounter,
     "How often a dialer with a certificate of the CA was refused: another "
     "cluster's, not a member, a copy, this replica itself, or another reason, "
     "which the statistics' last_refusal tells.",
     [](const ReplicationStats& s) {
       return std::to_string(s.connections_refused);
     }},
    {"rocksync_sessions_total", kCounter,
     "Sessions that began and ended, well or not.",
     [](const ReplicationStats& s) { return std::to_string(s.sessions); }},
    {"rocksync_sessions_failed_total", kCounter,
     "Failed sessions, and attempts that ended before a session began.",
     [](const ReplicationStats& s) {
       return std::to_string(s.sessions_failed);
     }},
    {"rocksync_exchanges_total", kCounter,
     "Exchanges of sessions, each of which finds differing elements.",
     [](const ReplicationStats& s) { return std::to_string(s.exchanges); }},
    {"rocksync_pairs_sent_total", kCounter,
     "Pairs and tombstones that sessions sent.",
     [](const ReplicationStats& s) { return std::to_string(s.pairs_sent); }},
    {"rocksync_pairs_received_total", kCounter,
     "Pairs and tombstones that sessions received.",
     [](const ReplicationStats& s) {
       return std::to_string(s.pairs_received);
     }},
    {"rocksync_pairs_applied_total", kCounter,
     "Pairs and tombstones that sessions received and that were written.",
     [](const ReplicationStats& s) { return std::to_string(s.pairs_applied); }},
    {"rocksync_pairs_superseded_total", kCounter,
     "Pairs and tombstones that sessions received though they, or later ones, "
     "were here.",
     [](const ReplicationStats& s) {
       return std::to_string(s.pairs_superseded);
     }},
    {"rocksync_pairs_held_back_total", kCounter,
     "How often a session or stream received a pair or tombstone that is too "
     "far in the future.",
     [](const ReplicationStats& s) {
       return std::to_string(s.pairs_held_back);
     }},
    {"rocksync_streams_open", kGauge, "Streams that are open.",
     [](const ReplicationStats& s) { return std::to_string(s.stream.open); }},
    {"rocksync_streams_opened_total", kCounter, "Streams that were opened.",
     [](const ReplicationStats& s) { return std::to_string(s.stream.opened); }},
    {"rocksync_stream_pairs_sent_total", kCounter,
     "Pairs and tombstones that streams sent.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.pairs_sent);
     }},
    {"rocksync_stream_pairs_received_total", kCounter,
     "Pairs and tombstones that streams received.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.pairs_received);
     }},
    {"rocksync_stream_pairs_applied_total", kCounter,
     "Pairs and tombstones that streams received and that were written.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.pairs_applied);
     }},
    {"rocksync_stream_duplicates_total", kCounter,
     "Pairs and tombstones that streams received and that were here, or later "
     "ones.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.duplicates);
     }},
    {"rocksync_stream_sent_bytes_total", kCounter,
     "Bytes that streams sent, the transport's included.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.bytes_sent);
     }},
    {"rocksync_stream_received_bytes_total", kCounter,
     "Bytes that streams received, the transport's included.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.bytes_received);
     }},
    {"rocksync_stream_gaps_total", kCounter,
     "How often a stream left changes to a session: the peer took them too "
     "slowly, or they were too large. Changes made while it was away do not "
     "count.",
     [](const ReplicationStats& s) { return std::to_string(s.stream.gaps); }},
    {"rocksync_stream_pairs_given_up_total", kCounter,
     "Changes that streams left to sessions, for the same reasons.",
     [](const ReplicationStats& s) {
       return std::to_string(s.stream.pairs_given_up);
     }},
    {"rocksync_index_building", kGauge,
     "1 while an existing database, or what foreign writes changed, is read "
     "into the index; peers wait.",
     [](const ReplicationStats& s) { return std::to_string(!s.index.done); }},
    {"rocksync_index_build_percent", kGauge,
     "How far that is, estimated; 100: it is done.",
     [](const ReplicationStats& s) { return std::to_string(s.index.percent); }},
    {"rocksync_index_build_failing", kGauge,
     "1 while it does not go on because of an error.",
     [](const ReplicationStats& s) {
       return std::to_string(!s.index.error.empty());
     }},
    {"rocksync_disk_writes_refused", kGauge,
     "1 while writes are refused, as the disk has too little room.",
     [](const ReplicationStats& s) {
       return std::to_string(s.disk.writes_refused);
     }},
    {"rocksync_writes_stopped", kGauge,
     "1 while RocksDB takes no writes because of an error.",
     [](const ReplicationStats& s) {
       return std::to_string(!s.disk.write_error.empty());
     }},
    {"rocksync_log_batches_dropped", kGauge,
     "Sound batches of the log that an opening dropped, as they were behind a "
     "damaged place; until a close at least an hour later.",
     [](const ReplicationStats& s) {
       return std::to_string(s.disk.log_batches_dropped);
     }},
    {"rocksync_disk_free_bytes", kGauge,
     "Free on the disk that the database writes to; of several: the least.",
     [](const ReplicationStats& s) {
       return std::to_string(s.disk.free_bytes);
     }},
    {"rocksync_disk_min_free_bytes", kGauge,
     "What is to stay free there, beside what memtables will take.",
     [](const ReplicationStats& s) {
       return std::to_string(s.disk.min_free_bytes);
     }},
    {"rocksync_scrub_running", kGauge, "1 while a scrub runs.",
     [](const ReplicationStats& s) { return std::to_string(s.scrub.running); }},
    {"rocksync_scrub_pairs_compared", kGauge,
     "Pairs that the running scrub, or else the last one, has compared.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.pairs_compared);
     }},
    {"rocksync_scrub_last_finished_timestamp_seconds", kGauge,
     "When the last scrub ended; before the first, when the replica was made "
     "or its database adopted; 0: never.",
     [](const ReplicationStats& s) {
       return Seconds(s.scrub.last_finished_ms);
     }},
    {"rocksync_scrub_corruption_found_total", kCounter,
     "Pairs that scrubs found not to match the index.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.corruption_found);
     }},
    {"rocksync_scrub_unreadable_total", kCounter,
     "Keys and ranges that scrubs passed over, as they did not read.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.unreadable);
     }},
    {"rocksync_scrub_incomplete", kGauge,
     "1 once the scrub that runs, or else the last one, has passed over what "
     "it could not read.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.incomplete);
     }},
    {"rocksync_scrub_repaired_total", kCounter,
     "Quarantined pairs that the pair of a peer replaced.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.repaired);
     }},
    {"rocksync_scrub_released_total", kCounter,
     "Quarantined pairs that matched the index when read again.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.released);
     }},
    {"rocksync_scrub_resolved_total", kCounter,
     "Quarantined pairs of which no peer had a later version.",
     [](const ReplicationStats& s) {
       return std::to_string(s.scrub.resolved);
     }},
    {"rocksync_member_list_epoch", kGauge,
     "Epoch of the member list; 0: none, and tombstones are kept permanently.",
     [](const ReplicationStats& s) { return std::to_string(s.gc.epoch); }},
    {"rocksync_tombstones", kGauge,
     "Tombstones held, as of the latest session; before the first as of the "
     "last close.",
     [](const ReplicationStats& s) { return std::to_string(s.gc.tombstones); }},
    {"rocksync_tombstones_removed_total", kCounter,
     "Tombstones that were collected.",
     [](const ReplicationStats& s) { return std::to_string(s.gc.removed); }},
    {"rocksync_tombstones_stable_timestamp_seconds", kGauge,
     "Stable time: tombstones up to it are collected, and it moves only then; "
     "0: none.",
     [](const ReplicationStats& s) { return Seconds(s.gc.stable_ms); }},
    {"rocksync_identity_conflict", kGauge,
     "1 if a member was reported of which two copies run.",
     [](const ReplicationStats& s) {
       return std::to_string(s.gc.identity_conflict != 0);
     }},
    {"rocksync_may_hold_deleted_pairs", kGauge,
     "1 if data from before it was a member are not proven yet.",
     [](const ReplicationStats& s) {
       return std::to_string(s.gc.may_hold_deleted_pairs);
     }},
};

const Row<Peer> kOfPeer[] = {
    {"rocksync_peer_configured", kGauge,
     "1: a configured peer; 0: it dialed this replica, or was met once.",
     [](const Peer& p) { return std::to_string(p.configured); }},
    {"rocksync_peer_sessions_total", kCounter,
     "Sessions with the peer that began and ended.",
     [](const Peer& p) { return std::to_string(p.sessions); }},
    {"rocksync_peer_sessions_failed_total", kCounter,
     "Failed sessions with the peer, and attempts.",
     [](const Peer& p) { return std::to_string(p.sessions_failed); }},
    {"rocksync_peer_last_proven_equal_timestamp_seconds", kGauge,
     "When a session last proved the two equal; 0: never.",
     [](const Peer& p) { return Seconds(p.proven_ms); }},
    {"rocksync_peer_equal_as_of_timestamp_seconds", kGauge,
     "When the session began that last proved the two equal; 0: never.",
     [](const Peer& p) { return Seconds(p.equal_as_of_ms); }},
    {"rocksync_peer_failing", kGauge,
     "1 if the latest session or attempt failed, but for an index build that "
     "is in progress.",
     [](const Peer& p) { return std::to_string(p.failing); }},
    {"rocksync_peer_index_building", kGauge,
     "1 if the latest session did not begin since one of the two builds its "
     "index.",
     [](const Peer& p) { return std::to_string(p.index_building); }},
    {"rocksync_peer_stream_open", kGauge, "1 while a stream to it is open.",
     [](const Peer& p) { return std::to_string(p.stream_open); }},
    {"rocksync_peer_stream_lag_pairs", kGauge,
     "Changes on their way that the peer has not said it took.",
     [](const Peer& p) { return std::to_string(p.lag_pairs); }},
    {"rocksync_peer_stream_lag_seconds", kGauge,
     "How old the oldest of them is.",
     [](const Peer& p) { return Seconds(p.lag_ms); }},
    {"rocksync_peer_in_session", kGauge, "1 while a session runs.",
     [](const Peer& p) { return std::to_string(p.in_session); }},
    {"rocksync_peer_quarantined_pairs", kGauge,
     "Quarantined pairs at the peer, as of the latest session.",
     [](const Peer& p) { return std::to_string(p.quarantined_there); }},
};

const Row<Member> kOfMember[] = {
    {"rocksync_member_held_timestamp_seconds", kGauge,
     "This replica durably holds all that the member held then; 0: not known.",
     [](const Member& m) { return Seconds(m.stats.held_ms); }},
    {"rocksync_member_acknowledged_timestamp_seconds", kGauge,
     "The member has acknowledged that it durably holds all that every member "
     "held then; 0: not known.",
     [](const Member& m) { return Seconds(m.stats.acknowledged_ms); }},
    {"rocksync_member_holds_up_tombstones", kGauge,
     "1 for the member that holds up the collection of tombstones.",
     [](const Member& m) { return std::to_string(m.holds_up); }},
};

// Returns the labels of a replica. An older release does not tell its cluster's
// name.
std::string ReplicaLabels(const ReplicationStats& stats) {
  const std::string id =
      PrometheusLabel("replica", ReplicaIdHex(stats.replica_id));
  return stats.cluster_name.empty()
             ? id
             : id + "," +
                   PrometheusLabel("cluster_name",
                                   ReadableName(stats.cluster_name));
}

std::string PeerLabels(const ReplicationStats& stats, const Peer& peer) {
  return ReplicaLabels(stats) + "," + PrometheusLabel("peer", peer.name);
}

void AddPeerIds(const std::vector<const ReplicationStats*>& replicas,
                std::string* page) {
  Metric metric("rocksync_peer_info", kGauge,
                "1 for a peer that was met; peer_id is its replica id.", page);
  for (const ReplicationStats* stats : replicas) {
    for (const Peer& peer : PeersOf(*stats)) {
      if (peer.replica_id == 0) continue;
      metric.Sample(
          PeerLabels(*stats, peer) + "," +
              PrometheusLabel("peer_id", ReplicaIdHex(peer.replica_id)),
          "1");
    }
  }
}

void AddBuilds(const std::vector<const ReplicationStats*>& replicas,
               std::string* page) {
  Metric metric("rocksync_build_info", kGauge,
                "1; the labels tell the versions that the replica runs.", page);
  for (const ReplicationStats* stats : replicas) {
    const SoftwareStats& software = stats->software;
    // A replica of an older release does not tell.
    if (software.rocksync.empty() && software.rocksdb.empty() &&
        software.protocol == 0) {
      continue;
    }
    metric.Sample(
        ReplicaLabels(*stats) + "," +
            PrometheusLabel("version", software.rocksync) + "," +
            PrometheusLabel("rocksdb_version", software.rocksdb) + "," +
            PrometheusLabel("protocol", std::to_string(software.protocol)),
        "1");
  }
}

void AddBytes(const std::vector<const ReplicationStats*>& replicas,
              std::string* page) {
  Metric metric("rocksync_message_bytes_total", kCounter,
                "Bytes of messages of sessions, both directions, without the "
                "transport's.",
                page);
  for (const ReplicationStats* stats : replicas) {
    const uint64_t named = stats->bytes_filters + stats->bytes_offers +
                           stats->bytes_keys + stats->bytes_values;
    const std::string label = ReplicaLabels(*stats) + ",kind=";
    metric.Sample(label + "\"filters\"", std::to_string(stats->bytes_filters));
    metric.Sample(label + "\"offers\"", std::to_string(stats->bytes_offers));
    metric.Sample(label + "\"keys\"", std::to_string(stats->bytes_keys));
    metric.Sample(label + "\"values\"", std::to_string(stats->bytes_values));
    metric.Sample(label + "\"other\"",
                  std::to_string(stats->bytes_total -
                                 std::min(named, stats->bytes_total)));
  }
}

}  // namespace

PrometheusMetric::PrometheusMetric(std::string_view name, Type type,
                                   std::string_view help, std::string* page)
    : name_(name), page_(page) {
  page_->append("# HELP ").append(name_).append(" ").append(help);
  page_->append("\n# TYPE ").append(name_);
  page_->append(type == Type::kCounter ? " counter\n" : " gauge\n");
}

void PrometheusMetric::Sample(std::string_view labels, std::string_view value) {
  page_->append(name_).append("{").append(labels).append("} ");
  page_->append(value).append("\n");
}

std::string PrometheusLabel(std::string_view name, std::string_view value) {
  std::string label(name);
  label.append("=\"");
  for (const char c : PrintableAscii(value)) {
    if (c == '\\' || c == '"') label.push_back('\\');
    label.push_back(c);
  }
  return label + "\"";
}

std::string PrometheusText(const std::vector<ReplicationStats>& replicas) {
  std::vector<const ReplicationStats*> told;
  // The databases of one port share an id, and each has its own cluster.
  std::set<std::string> labels;
  for (const ReplicationStats& stats : replicas) {
    if (labels.insert(ReplicaLabels(stats)).second) told.push_back(&stats);
  }
  std::string page;
  for (const auto& row : kOfReplica) {
    Metric metric(row.name, row.type, row.help, &page);
    for (const ReplicationStats* stats : told) {
      metric.Sample(ReplicaLabels(*stats), row.value(*stats));
    }
  }
  AddBytes(told, &page);
  AddPeerIds(told, &page);
  AddBuilds(told, &page);
  for (const auto& row : kOfPeer) {
    Metric metric(row.name, row.type, row.help, &page);
    for (const ReplicationStats* stats : told) {
      for (const Peer& peer : PeersOf(*stats)) {
        metric.Sample(PeerLabels(*stats, peer), row.value(peer));
      }
    }
  }
  for (const auto& row : kOfMember) {
    Metric metric(row.name, row.type, row.help, &page);
    for (const ReplicationStats* stats : told) {
      for (const MemberStats& member : stats->gc.members) {
        metric.Sample(
            ReplicaLabels(*stats) + "," +
                PrometheusLabel("member", ReplicaIdHex(member.replica_id)),
            row.value({member, member.replica_id != 0 &&
                                   member.replica_id == stats->gc.held_up_by}));
      }
    }
  }
  return page;
}

}  // namespace rocksync
