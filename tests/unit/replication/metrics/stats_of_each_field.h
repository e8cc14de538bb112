// Statistics of which each field has a value of its own, so that no two can be
// mixed up.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_STATS_OF_EACH_FIELD_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_STATS_OF_EACH_FIELD_H_

#include <cstdint>

#include "rocksync/stats.h"

namespace rocksync {

inline ReplicationStats Stats(uint64_t id = 0xa1) {
  ReplicationStats stats;
  stats.replica_id = id;
  stats.elements = 101;
  stats.sessions = 102;
  stats.sessions_failed = 103;
  stats.pairs_sent = 104;
  stats.cluster_name = "of \"us\"";
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
  stats.connections_refused = 116;
  stats.last_refusal = "of the caller";
  stats.last_refusal_ms = 1'700'000'000'116;
  stats.software = {"0.9.1", "9.8.7", 117};
  stats.stream = {2, 501, 502, 503, 504, 505, 506, 507, 508, 509, 510, 511};
  stats.index = {false, "adopting", 41, 208, "of the index"};
  stats.disk = {true, 701, 702, "no files left", 703};
  stats.scrub.running = true;
  stats.scrub.pairs_compared = 201;
  stats.scrub.last_finished_ms = 1'700'000'000'007;
  stats.scrub.corruption_found = 203;
  stats.scrub.unreadable = 204;
  stats.scrub.incomplete = true;
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
  peer.silent_ms = 3'456;
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

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_METRICS_STATS_OF_EACH_FIELD_H_
