#include "replication/admin/status_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "replication/store/store_access.h"

namespace rocksync {
namespace {

JsonObject ToJson(const HeldPair& held) {
  static const char* const kStates[] = {"nothing", "tombstone", "live"};
  JsonObject json;
  json.Add("state", kStates[static_cast<int>(held.state)]);
  if (held.state == HeldPair::State::kNothing) return json;
  return json.Add("time_ms", held.version.time >> 16)
      .Add("counter", held.version.time & 0xffff)
      .Add("replica", HexId(held.version.replica));
}

JsonObject ToJson(const PeerStats& peer) {
  JsonObject json;
  json.Add("address", peer.address)
      .Add("replica_id", HexId(peer.replica_id))
      .Add("sessions", peer.sessions)
      .Add("failures", peer.failures)
      .Add("last_proven_equal_ms", peer.last_proven_equal_ms)
      .Add("quarantined_there", peer.last.quarantined_there)
      .Add("last_error", peer.last_error)
      .Add("in_session", !peer.last.finished && !peer.last.peer.empty());
  return json;
}

JsonObject ToJson(const TombstoneGcStats& stats) {
  JsonObject json;
  json.Add("epoch", stats.epoch)
      .Add("members", stats.members.size())
      .Add("stable_ms", stats.stable_ms)
      .Add("tombstones", stats.tombstones)
      .Add("removed", stats.removed)
      .Add("sweeping", stats.sweeping);
  if (stats.held_up_by != 0) json.Add("held_up_by", HexId(stats.held_up_by));
  if (stats.unproven) json.Add("unproven", true);
  if (stats.identity_conflict != 0)
    json.Add("identity_conflict", HexId(stats.identity_conflict));
  return json;
}

}  // namespace

JsonObject StatusReport(const Replica& replica) {
  const ReplicationStats stats = replica.stats.stats();
  const IndexStats index = replica.db->GetIndexStats();
  const AdoptionProgress adoption = replica.db->Adoption();
  std::vector<std::string> families;
  const std::vector<std::string> there = replica.db->ReplicatedFamilies();
  for (const std::string& family : there) {
    families.push_back(Readable(family));
  }
  std::vector<std::string> missing;
  for (const std::string& name : replica.db->replication_options().families) {
    if (!std::count(there.begin(), there.end(), name)) {
      missing.push_back(Readable(name));
    }
  }
  std::vector<JsonObject> peers;
  for (const PeerStats& peer : stats.peers) peers.push_back(ToJson(peer));

  JsonObject json;
  json.Add("replica_id", HexId(stats.replica_id))
      .Add("cluster", replica.db->replication_options().cluster_name)
      .Add("incarnation", replica.identity.incarnation)
      .Add("families", families)
      .Add("families_not_there", missing)
      .Add("elements", stats.elements)
      .Add("wall_clock_ms", replica.db->GetEnv()->NowMicros() / 1000)
      .Add("clock_ms", StoreAccess::IncarnationOf(replica.db).clock >> 16)
      .Add("paused", replica.slots.paused())
      .Add("sessions", stats.sessions)
      .Add("sessions_failed", stats.sessions_failed)
      .Add("pairs_sent", stats.pairs_sent)
      .Add("pairs_received", stats.pairs_received)
      .Add("pairs_applied", stats.pairs_applied)
      .Add("bytes_total", stats.bytes_total)
      .Add("held_back_pairs", stats.pairs_held_back)
      .Add("held_back_replica", HexId(index.held_back_replica))
      .Add("pairs_quarantined", index.pairs_quarantined)
      .Add("quarantined_now", index.quarantined_now)
      .Add("repaired_entries", index.repaired_entries)
      .Add("removed_entries", index.removed_entries);
  JsonObject reading;
  reading.Add("done", adoption.done)
      .Add("activity", adoption.activity)
      .Add("percent", static_cast<uint64_t>(adoption.percent))
      .Add("pairs_read", adoption.pairs_read)
      .Add("error", adoption.status.ok() ? "" : adoption.status.ToString());
  const ScrubStats scrub = replica.scrub_stats();
  JsonObject scrubbing;
  scrubbing.Add("running", scrub.running)
      .Add("pairs_compared", scrub.pairs_compared)
      .Add("last_finished_ms", scrub.last_finished_ms)
      .Add("corruption_found", scrub.corruption_found)
      .Add("unreadable", scrub.unreadable)
      .Add("repaired", scrub.repaired)
      .Add("released", scrub.released)
      .Add("resolved", scrub.resolved)
      .Add("last_error", scrub.last_error);
  return json.Add("index", reading)
      .Add("scrub", scrubbing)
      .Add("tombstone_gc", ToJson(replica.db->GetTombstoneGcStats()))
      .Add("peers", peers);
}

JsonObject ToJson(const KeyDifference& difference) {
  static const char* const kKinds[] = {"missing_here", "missing_there",
                                       "version", "content"};
  JsonObject json;
  json.Add("difference", kKinds[static_cast<int>(difference.kind)])
      .AddKey(difference.family, difference.key)
      .Add("here", ToJson(difference.here))
      .Add("there", ToJson(difference.there));
  return json;
}

JsonObject ToJson(const VerifyResult& result) {
  JsonObject json;
  json.Add("equal", result.equal)
      .Add("complete", result.complete)
      .Add("elements", result.elements)
      .Add("differences", result.differences)
      .Add("in_flight", result.in_flight)
      .Add("bytes", result.bytes)
      .Add("looks", uint64_t{result.looks})
      .Add("quarantined_here", result.quarantined_here)
      .Add("quarantined_there", result.quarantined_there);
  return json;
}

}  // namespace rocksync
