#include "replication/admin/status_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "replication/membership/setup.h"
#include "replication/metrics/stats_json.h"
#include "replication/store/store_access.h"
#include "rocksdb/version.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

JsonObject ToJson(const HeldPair& held) {
  static const char* const kStates[] = {"nothing", "tombstone", "live"};
  JsonObject json;
  json.Add("state", kStates[static_cast<int>(held.state)]);
  if (held.state == HeldPair::State::kNothing) return json;
  return json.Add("time_ms", held.version.time >> 16)
      .Add("counter", held.version.time & 0xffff)
      .Add("replica", ReplicaIdHex(held.version.replica));
}

JsonObject ToJson(const ServedClone& clone) {
  JsonObject json;
  return json.Add("replica_id", ReplicaIdHex(clone.replica_id))
      .Add("address", clone.address)
      .Add("bytes", clone.bytes)
      .Add("bytes_there", clone.bytes_there)
      .Add("bytes_sent", clone.bytes_sent)
      .Add("bytes_per_second", clone.bytes_per_second)
      .Add("seconds_left", clone.seconds_left);
}

// Leaves out replicas that the member list does not name: one that was met
// before it was removed, or has dialed since, is not a peer any more.
void LeaveOutThoseRemoved(ReplicationStats* stats) {
  if (stats->gc.epoch == 0) return;
  const auto& members = stats->gc.members;
  std::erase_if(stats->peers, [&](const PeerStats& peer) {
    return !peer.configured && peer.replica_id != 0 &&
           std::none_of(members.begin(), members.end(),
                        [&](const MemberStats& member) {
                          return member.replica_id == peer.replica_id;
                        });
  });
}

}  // namespace

SoftwareStats RunningSoftware() {
  return {ROCKSYNC_VERSION, rocksdb::GetRocksVersionAsString(),
          kProtocolVersion};
}

ReplicationStats StatsOf(const ReplicatorContext& replica,
                         const IndexBuildProgress& index,
                         const DiskSpaceStats& disk, const ScrubStats& scrub,
                         const TombstoneGcStats& gc) {
  ReplicationStats stats = replica.stats.stats();
  stats.index = {index.done, index.activity,
                 static_cast<uint64_t>(index.percent), index.pairs_read,
                 index.status.ok() ? "" : index.status.ToString()};
  stats.cluster_name = replica.cluster_name;
  stats.software = RunningSoftware();
  stats.paused = replica.slots.paused();
  const CertificateState certificate = replica.transport->certificate();
  stats.certificate_expires_ms = certificate.expires_ms;
  stats.certificate_first_to_expire = certificate.first_to_expire;
  stats.certificate_renewals = certificate.renewals;
  stats.certificate_error = certificate.error;
  stats.disk = disk;
  stats.scrub = scrub;
  stats.gc = gc;
  if (gc.identity_conflict == 0) {
    stats.gc.identity_conflict = replica.stats.RecentCopy();
  }
  LeaveOutThoseRemoved(&stats);
  for (PeerStats& peer : stats.peers) {
    peer.silent_ms = replica.slots.SilentFor(peer.replica_id).count();
  }
  return stats;
}

JsonObject DatabaseReport(const ReplicatorContext& replica,
                          const std::vector<ServedClone>& served) {
  const IndexStats index = replica.db->GetIndexStats();
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

  JsonObject json;
  json.Add("incarnation", replica.identity.incarnation)
      .Add("families", families)
      .Add("families_not_there", missing)
      .Add("wall_clock_ms", replica.db->GetEnv()->NowMicros() / 1000)
      .Add("clock_ms", StoreAccess::IncarnationOf(replica.db).clock >> 16)
      .Add("pairs_quarantined", index.pairs_quarantined)
      .Add("quarantined_now", index.quarantined_now)
      .Add("entries_repaired", index.entries_repaired)
      .Add("entries_removed", index.entries_removed)
      .Add("pairs_too_large", index.pairs_too_large)
      .Add("foreign_writes", index.foreign_writes)
      .Add("wrong_digests", index.wrong_digests)
      .Add("digest_rescans", index.digest_rescans)
      .Add("digest_entries_read", index.digest_entries_read);
  if (index.held_back_replica != 0) {
    json.Add("held_back_replica", ReplicaIdHex(index.held_back_replica));
  }
  std::vector<JsonObject> clones;
  for (const ServedClone& clone : served) clones.push_back(ToJson(clone));
  return json.Add("clones", clones);
}

JsonObject StatusReport(const ReplicatorContext& replica,
                        const std::vector<ServedClone>& served) {
  JsonObject json = DatabaseReport(replica, served);
  AddStats(StatsOf(replica, replica.db->GetIndexBuildProgress(),
                   replica.db->GetDiskSpaceStats(), replica.scrub_stats(),
                   replica.db->GetTombstoneGcStats()),
           &json);
  return json;
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

}  // namespace rocksync
