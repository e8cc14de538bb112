#include "replication/metrics/stats_json.h"

#include <string>
#include <vector>

#include "rocksync/metrics.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

JsonObject ToJson(const SessionProgress& session) {
  JsonObject json;
  json.Add("finished", session.finished)
      .Add("proven_equal", session.proven_equal)
      .Add("quarantined_here", session.quarantined_here)
      .Add("elements_compared", session.elements_compared)
      .Add("pairs_to_send", session.pairs_to_send)
      .Add("pairs_to_receive", session.pairs_to_receive)
      .Add("pairs_sent", session.pairs_sent)
      .Add("pairs_received", session.pairs_received)
      .Add("pairs_applied", session.pairs_applied)
      .Add("bytes_filters", session.bytes_filters)
      .Add("bytes_offers", session.bytes_offers)
      .Add("bytes_keys", session.bytes_keys)
      .Add("bytes_values", session.bytes_values)
      .Add("bytes_total", session.bytes_total)
      .Add("exchanges", uint64_t{session.exchanges})
      .Add("round_trips", uint64_t{session.round_trips});
  return json;
}

JsonObject ToJson(const StreamStats& stream) {
  JsonObject json;
  json.Add("open", stream.open)
      .Add("opened", stream.opened)
      .Add("pairs_sent", stream.pairs_sent)
      .Add("pairs_received", stream.pairs_received)
      .Add("pairs_applied", stream.pairs_applied)
      .Add("duplicates", stream.duplicates)
      .Add("bytes_sent", stream.bytes_sent)
      .Add("bytes_received", stream.bytes_received)
      .Add("gaps", stream.gaps)
      .Add("pairs_given_up", stream.pairs_given_up)
      .Add("lag_pairs", stream.lag_pairs)
      .Add("lag_ms", stream.lag_ms);
  return json;
}

JsonObject ToJson(const PeerStats& peer) {
  JsonObject json;
  json.Add("address", peer.address)
      .Add("replica_id", ReplicaIdHex(peer.replica_id))
      .Add("configured", peer.configured)
      .Add("sessions", peer.sessions)
      .Add("sessions_failed", peer.sessions_failed)
      .Add("last_proven_equal_ms", peer.last_proven_equal_ms)
      .Add("equal_as_of_ms", peer.equal_as_of_ms)
      .Add("digests_equal_as_of_ms", peer.digests_equal_as_of_ms)
      .Add("quarantined_there", peer.last.quarantined_there)
      .Add("last_error", peer.last_error)
      .Add("waits_for_index_build", peer.waits_for_index_build)
      .Add("in_session", !peer.last.finished && !peer.last.peer.empty())
      .Add("silent_ms", peer.silent_ms)
      .Add("stream", ToJson(peer.stream))
      .Add("last_session", ToJson(peer.last));
  return json;
}

JsonObject ToJson(const IndexBuildStats& index) {
  JsonObject json;
  json.Add("done", index.done)
      .Add("activity", index.activity)
      .Add("percent", index.percent)
      .Add("pairs_read", index.pairs_read)
      .Add("error", index.error);
  return json;
}

JsonObject ToJson(const DiskSpaceStats& disk) {
  JsonObject json;
  json.Add("writes_refused", disk.writes_refused)
      .Add("write_error", disk.write_error)
      .Add("free_bytes", disk.free_bytes)
      .Add("min_free_bytes", disk.min_free_bytes)
      .Add("log_batches_dropped", disk.log_batches_dropped);
  return json;
}

JsonObject ToJson(const ScrubStats& scrub) {
  JsonObject json;
  json.Add("running", scrub.running)
      .Add("pairs_compared", scrub.pairs_compared)
      .Add("last_finished_ms", scrub.last_finished_ms)
      .Add("corruption_found", scrub.corruption_found)
      .Add("unreadable", scrub.unreadable)
      .Add("incomplete", scrub.incomplete)
      .Add("repaired", scrub.repaired)
      .Add("released", scrub.released)
      .Add("resolved", scrub.resolved)
      .Add("last_error", scrub.last_error);
  return json;
}

JsonObject ToJson(const TombstoneGcStats& stats) {
  std::vector<JsonObject> members;
  for (const MemberStats& member : stats.members) {
    members.emplace_back()
        .Add("replica_id", ReplicaIdHex(member.replica_id))
        .Add("since_epoch", member.since_epoch)
        .Add("held_ms", member.held_ms)
        .Add("acknowledged_ms", member.acknowledged_ms);
  }
  JsonObject json;
  json.Add("epoch", stats.epoch)
      .Add("members", stats.members.size())
      .Add("stable_ms", stats.stable_ms)
      .Add("tombstones", stats.tombstones)
      .Add("removed", stats.removed)
      .Add("sweeping", stats.sweeping)
      .Add("member_list", members);
  if (stats.held_up_by != 0)
    json.Add("held_up_by", ReplicaIdHex(stats.held_up_by));
  if (stats.may_hold_deleted_pairs) json.Add("may_hold_deleted_pairs", true);
  if (stats.identity_conflict != 0)
    json.Add("identity_conflict", ReplicaIdHex(stats.identity_conflict));
  return json;
}

JsonObject ToJson(const SoftwareStats& software) {
  JsonObject json;
  json.Add("rocksync", software.rocksync)
      .Add("rocksdb", software.rocksdb)
      .Add("protocol", software.protocol);
  return json;
}

}  // namespace

void AddStats(const ReplicationStats& stats, JsonObject* json) {
  std::vector<JsonObject> peers;
  for (const PeerStats& peer : stats.peers) peers.push_back(ToJson(peer));
  json->Add("replica_id", ReplicaIdHex(stats.replica_id))
      .Add("cluster", ReadableName(stats.cluster_name))
      .Add("elements", stats.elements)
      .Add("paused", stats.paused)
      .Add("certificate_expires_ms", stats.certificate_expires_ms)
      .Add("certificate_first_to_expire", stats.certificate_first_to_expire)
      .Add("certificate_renewals", stats.certificate_renewals)
      .Add("certificate_error", stats.certificate_error)
      .Add("connections_refused", stats.connections_refused)
      .Add("last_refusal", stats.last_refusal)
      .Add("last_refusal_ms", stats.last_refusal_ms)
      .Add("sessions", stats.sessions)
      .Add("sessions_failed", stats.sessions_failed)
      .Add("pairs_sent", stats.pairs_sent)
      .Add("pairs_received", stats.pairs_received)
      .Add("pairs_applied", stats.pairs_applied)
      .Add("pairs_superseded", stats.pairs_superseded)
      .Add("pairs_held_back", stats.pairs_held_back)
      .Add("bytes_filters", stats.bytes_filters)
      .Add("bytes_offers", stats.bytes_offers)
      .Add("bytes_keys", stats.bytes_keys)
      .Add("bytes_values", stats.bytes_values)
      .Add("bytes_total", stats.bytes_total)
      .Add("exchanges", stats.exchanges)
      .Add("software", ToJson(stats.software))
      .Add("stream", ToJson(stats.stream))
      .Add("index", ToJson(stats.index))
      .Add("disk", ToJson(stats.disk))
      .Add("scrub", ToJson(stats.scrub))
      .Add("tombstone_gc", ToJson(stats.gc))
      .Add("peers", peers);
}

std::string StatsJson(const ReplicationStats& stats) {
  JsonObject json;
  AddStats(stats, &json);
  return json.Text();
}

std::string SessionJson(const SessionProgress& session) {
  return ToJson(session)
      .Add("peer", session.peer)
      .Add("elements", session.elements)
      .Add("quarantined_there", session.quarantined_there)
      .Add("error", session.error)
      .Text();
}

std::string VerifyJson(const VerifyResult& result) {
  return JsonObject()
      .Add("equal", result.equal)
      .Add("complete", result.complete)
      .Add("elements", result.elements)
      .Add("differences", result.differences)
      .Add("in_flight", result.in_flight)
      .Add("bytes", result.bytes)
      .Add("looks", uint64_t{result.looks})
      .Add("quarantined_here", result.quarantined_here)
      .Add("quarantined_there", result.quarantined_there)
      .Text();
}

}  // namespace rocksync
