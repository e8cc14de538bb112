#include "examples/replicated_store/info.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

class Lines {
 public:
  void Section(std::string_view name) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(name).append("\r\n");
  }
  void Add(std::string_view name, std::string_view value) {
    text_.append(prefix_).append(name).append(":");
    for (const char c : value) text_ += c == '\r' || c == '\n' ? ' ' : c;
    text_.append("\r\n");
  }
  void Add(std::string_view name, const char* value) {
    Add(name, std::string_view(value));
  }
  void Add(std::string_view name, uint64_t value) {
    Add(name, std::string_view(std::to_string(value)));
  }
  // 0 is no replica, and an empty value.
  void AddId(std::string_view name, uint64_t id) {
    Add(name,
        id == 0 ? std::string_view() : std::string_view(ReplicaIdHex(id)));
  }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  std::string Take() { return std::move(text_); }

 private:
  std::string prefix_;
  std::string text_;
};

void AddSession(const SessionProgress& session, Lines* lines) {
  lines->Add("finished", session.finished);
  lines->Add("proven_equal", session.proven_equal);
  lines->Add("quarantined_here", session.quarantined_here);
  lines->Add("quarantined_there", session.quarantined_there);
  lines->Add("elements", session.elements);
  lines->Add("elements_compared", session.elements_compared);
  lines->Add("pairs_to_send", session.pairs_to_send);
  lines->Add("pairs_to_receive", session.pairs_to_receive);
  lines->Add("pairs_sent", session.pairs_sent);
  lines->Add("pairs_received", session.pairs_received);
  lines->Add("pairs_applied", session.pairs_applied);
  lines->Add("bytes_filters", session.bytes_filters);
  lines->Add("bytes_offers", session.bytes_offers);
  lines->Add("bytes_keys", session.bytes_keys);
  lines->Add("bytes_values", session.bytes_values);
  lines->Add("bytes_total", session.bytes_total);
  lines->Add("exchanges", session.exchanges);
  lines->Add("round_trips", session.round_trips);
  lines->Add("plan", session.plan);
  lines->Add("session_error", session.error);
}

void AddStream(const StreamStats& stream, Lines* lines) {
  lines->Add("streams", stream.open);
  lines->Add("streams_opened", stream.opened);
  lines->Add("stream_pairs_sent", stream.pairs_sent);
  lines->Add("stream_pairs_received", stream.pairs_received);
  lines->Add("stream_pairs_applied", stream.pairs_applied);
  lines->Add("stream_duplicates", stream.duplicates);
  lines->Add("stream_bytes_sent", stream.bytes_sent);
  lines->Add("stream_bytes_received", stream.bytes_received);
  lines->Add("stream_gaps", stream.gaps);
  lines->Add("stream_pairs_given_up", stream.pairs_given_up);
  lines->Add("stream_lag_pairs", stream.lag_pairs);
  lines->Add("stream_lag_ms", stream.lag_ms);
}

void AddGcState(const TombstoneGcStats& stats, Lines* lines) {
  lines->Add("members_epoch", stats.epoch);
  lines->Add("members", stats.members.size());
  lines->Add("tombstones", stats.tombstones);
  lines->AddId("tombstones_held_up_by", stats.held_up_by);
  lines->Add("may_hold_deleted_pairs", stats.may_hold_deleted_pairs ? 1 : 0);
  lines->AddId("identity_conflict", stats.identity_conflict);
  lines->Add("tombstones_removed", stats.removed);
  lines->Add("tombstones_sweeping", stats.sweeping);
  lines->Add("stable_ms", stats.stable_ms);
  for (size_t i = 0; i < stats.members.size(); ++i) {
    const MemberStats& member = stats.members[i];
    const std::string prefix = "member" + std::to_string(i) + "_";
    lines->set_prefix(prefix);
    lines->AddId("replica_id", member.replica_id);
    lines->Add("since_epoch", member.since_epoch);
    lines->Add("held_ms", member.held_ms);
    lines->Add("acknowledged_ms", member.acknowledged_ms);
    lines->set_prefix("");
  }
}

void AddReplication(const ReplicationStats& stats, Lines* lines) {
  lines->AddId("replica_id", stats.replica_id);
  lines->Add("cluster", stats.cluster_name);
  lines->Add("software_rocksync", stats.software.rocksync);
  lines->Add("software_rocksdb", stats.software.rocksdb);
  lines->Add("software_protocol", stats.software.protocol);
  lines->Add("elements", stats.elements);
  lines->Add("sessions", stats.sessions);
  lines->Add("sessions_failed", stats.sessions_failed);
  lines->Add("connections_refused", stats.connections_refused);
  lines->Add("last_refusal", stats.last_refusal);
  lines->Add("last_refusal_ms", stats.last_refusal_ms);
  lines->Add("pairs_sent", stats.pairs_sent);
  lines->Add("pairs_received", stats.pairs_received);
  lines->Add("pairs_applied", stats.pairs_applied);
  lines->Add("pairs_superseded", stats.pairs_superseded);
  lines->Add("pairs_held_back", stats.pairs_held_back);
  lines->Add("bytes_filters", stats.bytes_filters);
  lines->Add("bytes_offers", stats.bytes_offers);
  lines->Add("bytes_keys", stats.bytes_keys);
  lines->Add("bytes_values", stats.bytes_values);
  lines->Add("bytes_total", stats.bytes_total);
  lines->Add("exchanges", stats.exchanges);
  lines->Add("paused", stats.paused);
  lines->Add("disk_writes_refused", stats.disk.writes_refused);
  lines->Add("disk_write_error", stats.disk.write_error);
  lines->Add("disk_free_bytes", stats.disk.free_bytes);
  lines->Add("disk_min_free_bytes", stats.disk.min_free_bytes);
  lines->Add("disk_log_batches_dropped", stats.disk.log_batches_dropped);
  lines->Add("index_done", stats.index.done);
  lines->Add("index_activity", stats.index.activity);
  lines->Add("index_percent", stats.index.percent);
  lines->Add("index_error", stats.index.error);
  lines->Add("certificate_expires_ms", stats.certificate_expires_ms);
  lines->Add("certificate_error", stats.certificate_error);
  lines->Add("scrub_running", stats.scrub.running);
  lines->Add("scrub_pairs_compared", stats.scrub.pairs_compared);
  lines->Add("scrub_last_finished_ms", stats.scrub.last_finished_ms);
  lines->Add("scrub_corruption_found", stats.scrub.corruption_found);
  lines->Add("scrub_unreadable", stats.scrub.unreadable);
  lines->Add("scrub_repaired", stats.scrub.repaired);
  lines->Add("scrub_released", stats.scrub.released);
  lines->Add("scrub_resolved", stats.scrub.resolved);
  lines->Add("scrub_incomplete", stats.scrub.incomplete);
  lines->Add("scrub_last_error", stats.scrub.last_error);
  AddStream(stats.stream, lines);
  AddGcState(stats.gc, lines);
  lines->Add("peers", stats.peers.size());
  for (size_t i = 0; i < stats.peers.size(); ++i) {
    const PeerStats& peer = stats.peers[i];
    const std::string prefix = "peer" + std::to_string(i) + "_";
    lines->set_prefix(prefix);
    lines->Add("address", peer.address);
    lines->AddId("replica_id", peer.replica_id);
    lines->Add("sessions", peer.sessions);
    lines->Add("sessions_failed", peer.sessions_failed);
    lines->Add("last_error", peer.last_error);
    lines->Add("waits_for_index_build", peer.waits_for_index_build);
    lines->Add("last_proven_equal_ms", peer.last_proven_equal_ms);
    AddStream(peer.stream, lines);
    lines->set_prefix(prefix + "last_");
    AddSession(peer.last, lines);
    lines->set_prefix("");
  }
}

}  // namespace

std::string FormatInfo(std::string_view section, const ServerInfo& server,
                       const ReplicationStats* replication) {
  std::string wanted(section);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (wanted == "all" || wanted == "default" || wanted == "everything") {
    wanted.clear();
  }
  const auto wants = [&](std::string_view name) {
    return wanted.empty() || wanted == name;
  };
  Lines lines;
  if (wants("server")) {
    lines.Section("Server");
    lines.Add("server_name", "rocksync-store");
    if (replication != nullptr) {
      lines.Add("rocksync_version", replication->software.rocksync);
    }
    lines.Add("redis_mode", "standalone");
    lines.Add("uptime_in_seconds", server.uptime_seconds);
  }
  if (wants("stats")) {
    lines.Section("Stats");
    lines.Add("total_commands_processed", server.commands_processed);
  }
  if (wants("replication") && replication != nullptr) {
    lines.Section("Replication");
    AddReplication(*replication, &lines);
  }
  if (wants("keyspace")) {
    lines.Section("Keyspace");
    lines.Add("db0",
              "keys=" + std::to_string(server.estimated_keys) + ",estimated=1");
  }
  return lines.Take();
}

}  // namespace rocksync
