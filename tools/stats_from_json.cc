#include "tools/stats_from_json.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "nlohmann/json.hpp"
#include "tools/json_fields.h"

namespace rocksync {
namespace {

using Fields = JsonFields<nlohmann::json>;

SessionProgress Session(const Fields& fields) {
  SessionProgress session;
  session.finished = fields.Flag("finished");
  session.proven_equal = fields.Flag("proven_equal");
  session.quarantined_here = fields.Number("quarantined_here");
  session.elements_compared = fields.Number("elements_compared");
  session.pairs_to_send = fields.Number("pairs_to_send");
  session.pairs_to_receive = fields.Number("pairs_to_receive");
  session.pairs_sent = fields.Number("pairs_sent");
  session.pairs_received = fields.Number("pairs_received");
  session.pairs_applied = fields.Number("pairs_applied");
  session.bytes_filters = fields.Number("bytes_filters");
  session.bytes_offers = fields.Number("bytes_offers");
  session.bytes_keys = fields.Number("bytes_keys");
  session.bytes_values = fields.Number("bytes_values");
  session.bytes_total = fields.Number("bytes_total");
  session.exchanges = static_cast<uint32_t>(fields.Number("exchanges"));
  session.round_trips = static_cast<uint32_t>(fields.Number("round_trips"));
  return session;
}

StreamStats Stream(const Fields& fields) {
  StreamStats stream;
  stream.open = fields.Number("open");
  stream.opened = fields.Number("opened");
  stream.pairs_sent = fields.Number("pairs_sent");
  stream.pairs_received = fields.Number("pairs_received");
  stream.pairs_applied = fields.Number("pairs_applied");
  stream.duplicates = fields.Number("duplicates");
  stream.bytes_sent = fields.Number("bytes_sent");
  stream.bytes_received = fields.Number("bytes_received");
  stream.gaps = fields.Number("gaps");
  stream.pairs_given_up = fields.Number("pairs_given_up");
  stream.lag_pairs = fields.Number("lag_pairs");
  stream.lag_ms = fields.Number("lag_ms");
  return stream;
}

PeerStats Peer(const Fields& fields) {
  PeerStats peer;
  peer.address = fields.Text("address");
  peer.replica_id = fields.Id("replica_id");
  peer.configured = fields.Flag("configured");
  peer.sessions = fields.Number("sessions");
  peer.sessions_failed = fields.Number("sessions_failed");
  peer.last_error = fields.Text("last_error");
  peer.waits_for_index_build = fields.Flag("waits_for_index_build");
  peer.last_proven_equal_ms = fields.Number("last_proven_equal_ms");
  peer.equal_as_of_ms = fields.Number("equal_as_of_ms");
  peer.digests_equal_as_of_ms = fields.Number("digests_equal_as_of_ms");
  peer.silent_ms = fields.Number("silent_ms");
  peer.stream = Stream(Fields(fields.Part("stream")));
  peer.last = Session(Fields(fields.Part("last_session")));
  peer.last.quarantined_there = fields.Number("quarantined_there");
  // A session that has begun has a peer.
  if (fields.Flag("in_session")) peer.last.peer = peer.address;
  return peer;
}

SoftwareStats Software(const Fields& fields) {
  return {fields.Text("rocksync"), fields.Text("rocksdb"),
          fields.Number("protocol")};
}

IndexBuildStats IndexBuild(const Fields& fields) {
  IndexBuildStats index;
  index.done = fields.Flag("done");
  index.activity = fields.Text("activity");
  index.percent = fields.Number("percent");
  index.pairs_read = fields.Number("pairs_read");
  index.error = fields.Text("error");
  return index;
}

DiskSpaceStats Disk(const Fields& fields) {
  DiskSpaceStats disk;
  disk.writes_refused = fields.Flag("writes_refused");
  disk.write_error = fields.Text("write_error");
  disk.free_bytes = fields.Number("free_bytes");
  disk.min_free_bytes = fields.Number("min_free_bytes");
  disk.log_batches_dropped = fields.Number("log_batches_dropped");
  return disk;
}

ScrubStats Scrub(const Fields& fields) {
  ScrubStats scrub;
  scrub.running = fields.Flag("running");
  scrub.pairs_compared = fields.Number("pairs_compared");
  scrub.last_finished_ms = fields.Number("last_finished_ms");
  scrub.corruption_found = fields.Number("corruption_found");
  scrub.unreadable = fields.Number("unreadable");
  scrub.incomplete = fields.Flag("incomplete");
  scrub.repaired = fields.Number("repaired");
  scrub.released = fields.Number("released");
  scrub.resolved = fields.Number("resolved");
  scrub.last_error = fields.Text("last_error");
  return scrub;
}

TombstoneGcStats Gc(const Fields& fields) {
  TombstoneGcStats gc;
  gc.epoch = fields.Number("epoch");
  gc.stable_ms = fields.Number("stable_ms");
  gc.tombstones = fields.Number("tombstones");
  gc.removed = fields.Number("removed");
  gc.sweeping = fields.Flag("sweeping");
  gc.held_up_by = fields.Id("held_up_by");
  gc.identity_conflict = fields.Id("identity_conflict");
  gc.may_hold_deleted_pairs = fields.Flag("may_hold_deleted_pairs");
  std::set<uint64_t> ids = {0};  // each member once, and none without an id
  for (const nlohmann::json& json : fields.Part("member_list")) {
    const Fields member(json);
    const uint64_t id = member.Id("replica_id");
    if (!ids.insert(id).second) continue;
    gc.members.push_back({id, member.Number("since_epoch"),
                          member.Number("held_ms"),
                          member.Number("acknowledged_ms")});
  }
  return gc;
}

}  // namespace

rocksdb::Status StatsFromJson(const std::string& text,
                              ReplicationStats* result) {
  const nlohmann::json json = ParseJson<nlohmann::json>(text);
  const rocksdb::Status status = CheckIsStatus(json);
  if (!status.ok()) return status;
  const Fields fields(json);
  ReplicationStats stats;
  stats.replica_id = fields.Id("replica_id");
  stats.cluster_name = fields.Text("cluster");
  stats.elements = fields.Number("elements");
  stats.paused = fields.Flag("paused");
  stats.certificate_expires_ms = fields.Number("certificate_expires_ms");
  stats.certificate_first_to_expire =
      fields.Text("certificate_first_to_expire");
  stats.certificate_renewals = fields.Number("certificate_renewals");
  stats.certificate_error = fields.Text("certificate_error");
  stats.connections_refused = fields.Number("connections_refused");
  stats.last_refusal = fields.Text("last_refusal");
  stats.last_refusal_ms = fields.Number("last_refusal_ms");
  stats.sessions = fields.Number("sessions");
  stats.sessions_failed = fields.Number("sessions_failed");
  stats.pairs_sent = fields.Number("pairs_sent");
  stats.pairs_received = fields.Number("pairs_received");
  stats.pairs_applied = fields.Number("pairs_applied");
  stats.pairs_superseded = fields.Number("pairs_superseded");
  stats.pairs_held_back = fields.Number("pairs_held_back");
  stats.bytes_filters = fields.Number("bytes_filters");
  stats.bytes_offers = fields.Number("bytes_offers");
  stats.bytes_keys = fields.Number("bytes_keys");
  stats.bytes_values = fields.Number("bytes_values");
  stats.bytes_total = fields.Number("bytes_total");
  stats.exchanges = fields.Number("exchanges");
  stats.software = Software(Fields(fields.Part("software")));
  stats.stream = Stream(Fields(fields.Part("stream")));
  stats.index = IndexBuild(Fields(fields.Part("index")));
  stats.disk = Disk(Fields(fields.Part("disk")));
  stats.scrub = Scrub(Fields(fields.Part("scrub")));
  stats.gc = Gc(Fields(fields.Part("tombstone_gc")));
  for (const nlohmann::json& peer : fields.Part("peers")) {
    stats.peers.push_back(Peer(Fields(peer)));
  }
  *result = std::move(stats);
  return status;
}

}  // namespace rocksync
