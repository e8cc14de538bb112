// Figures about replication, for metrics and for people.

#ifndef ROCKSYNC_STATS_H_
#define ROCKSYNC_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync {

// What one session did so far, as seen from this replica. Byte counts exclude
// the transport's own (TLS, TCP). There is one element for each pair and
// tombstone.
struct SessionProgress {
  std::string peer;
  bool finished = false;
  // The digests compared equal, and neither side leaves a pair out of them.
  bool proven_equal = false;
  // Quarantined pairs (IndexStats::quarantined_now) for which the peer sent no
  // pair: as long as there are any the two are not proven equal. The peer's are
  // known if the digests compared equal.
  uint64_t quarantined_here = 0;
  uint64_t quarantined_there = 0;
  uint64_t elements = 0;  // in this replica's snapshot
  uint64_t elements_compared = 0;
  // Estimated pairs and tombstones to send and receive, those already sent and
  // received included. They count only the parts of the sets that were compared
  // so far; a large difference is compared part by part. For a key that differs
  // on both sides only the winner travels, so the final numbers may be lower.
  uint64_t pairs_to_send = 0;
  uint64_t pairs_to_receive = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  // No byte counts twice; what is in none of the kinds (versions, digests, the
  // messages themselves) is in the total alone.
  uint64_t bytes_filters = 0;  // filters and sketches, both directions
  uint64_t bytes_offers = 0;   // offers and answers, both directions
  uint64_t bytes_keys = 0;     // keys of shipped pairs, both directions
  uint64_t bytes_values = 0;   // values of shipped pairs, both directions
  // Everything, both directions; offers once they are answered.
  uint64_t bytes_total = 0;
  // Exchanges and leaf searches run, each of which finds differing elements.
  uint32_t exchanges = 0;
  // A message sent and the next one received, over the whole session: its price
  // in latency is about this many times the ping.
  uint32_t round_trips = 0;
  // What was planned for each exchange and what it cost. For developers; words
  // as in docs/exchange.md; not stable.
  std::string plan;
  std::string error;  // empty if none
};

// The stream to a peer and from it, or the sums of all. Pairs that a stream
// brings or takes are not counted as those of sessions.
struct StreamStats {
  uint64_t open = 0;    // streams that are open now
  uint64_t opened = 0;  // and that were opened so far
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t duplicates = 0;  // received and held already, or something newer
  // As they cross the wire, TLS included, if the transport knows.
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  // How often changes were given up on their way to the peer, because it took
  // them too slowly or they were too large for the stream, and how many.
  // Sessions have brought them, or do so at once.
  uint64_t gaps = 0;
  uint64_t pairs_given_up = 0;
  // Changes made here, or passed on, that the peer has not said it took on the
  // stream that is open, and how old the oldest is. What an earlier stream had
  // under way when it ended is left to sessions. Of the sums: the largest.
  uint64_t lag_pairs = 0;
  uint64_t lag_ms = 0;
};

// Counts run since Replicator::Start. The address of a peer that is in the
// options is the one given there; a peer that only dials this replica is listed
// by the address that it came from, whose port is ephemeral: identify it by
// replica_id. If another replica answers at an address, its figures start from
// zero: nothing that was proven of the earlier one is said of it.
struct PeerStats {
  std::string address;
  uint64_t replica_id = 0;  // 0 until first met
  bool configured = false;  // of ReplicatorOptions::peers, or of SetPeers
  uint64_t sessions = 0;    // that began and ended, well or not
  // Failed sessions, plus attempts that ended before a session began.
  uint64_t sessions_failed = 0;
  // The error of the latest session, or of a later attempt to connect. Empty
  // after a success, and once a session or a stream has begun after an attempt
  // that failed.
  std::string last_error;
  // The latest session did not begin, or ended, since one of the two builds its
  // index: last_error is that, and passes by itself.
  bool waits_for_index_build = false;
  uint64_t last_proven_equal_ms = 0;  // wall clock, ms since epoch; 0: never
  uint64_t equal_as_of_ms = 0;        // when the session that proved it began
  // When the last session began that found the digests equal, quarantined pairs
  // left out or not. Those are resolved once that was so with every peer.
  uint64_t digests_equal_as_of_ms = 0;
  SessionProgress last;  // the latest session, running or ended
  // How long the peer, whose turn it is in the session that runs, has sent and
  // taken nothing; 0: it has, or for less than two seconds. It may have frozen,
  // or its host is gone: io_timeout ends the session.
  uint64_t silent_ms = 0;
  StreamStats stream;
};

// The reading of an existing database, or of what foreign writes changed, into
// the index; peers wait for it (ReplicatedDB::GetIndexBuildProgress).
struct IndexBuildStats {
  bool done = true;
  std::string activity;     // "", "adopting", "re-checking", "purging"
  uint64_t percent = 100;   // estimated
  uint64_t pairs_read = 0;  // by all such reading since the opening
  std::string error;        // why it does not go on; empty: it does
};

// The comparison of stored values with the index's hashes. corruption_found,
// unreadable and resolved count since Replicator::Start, repaired and released
// since the database was opened.
struct ScrubStats {
  bool running = false;
  uint64_t pairs_compared = 0;    // in this pass, or else in the last one
  uint64_t last_finished_ms = 0;  // when the last pass ended, incomplete or
                                  // not: wall clock, ms since epoch; a new
                                  // database counts as just scrubbed
  uint64_t corruption_found = 0;  // pairs that disagreed
  uint64_t unreadable = 0;        // keys or ranges passed over until the next
                                  // pass, since reading failed
  uint64_t repaired = 0;  // quarantined pairs that a peer's pair replaced
  uint64_t released = 0;  // quarantined pairs that matched when read again
  uint64_t resolved = 0;  // no peer had a later version: unversioned now
  // The pass that runs has passed something over, or else the last one had:
  // that is in `unreadable`, and not compared.
  bool incomplete = false;
  std::string last_error;  // of the latest step, or what the pass that runs, or
                           // else the last one, passed over; empty if all is
                           // fine
};

// The disk: room on it (ReplicatedDBOptions::min_free_bytes), and its faults.
struct DiskSpaceStats {
  // A write was refused with NoSpace, or would be, and one of that size still
  // would be. Reads go on, and small deletes may.
  bool writes_refused = false;
  // Of the directory with the least, now. 0, while writes are not refused: the
  // Env does not know.
  uint64_t free_bytes = 0;
  uint64_t min_free_bytes = 0;  // the option; 0: no write is refused
  // Why RocksDB takes no writes, the application's or those of peers, and what
  // ends that; empty: it takes them. It recovers from a full disk by itself,
  // once there is room, unless its log could not be written; after other errors
  // remove the cause, and open the database anew.
  std::string write_error;
  // Sound batches of the log that RocksDB dropped at an opening, as they were
  // behind a damaged place; 0 normally, and again once the database was closed
  // an hour or more after it was opened. What this replica alone held of them
  // is lost, the rest comes back from peers, unless they refuse this replica
  // since it has lost deletes that were collected meanwhile. After a loss of
  // power, writes that were not synced look the same.
  uint64_t log_batches_dropped = 0;
};

// What a replica runs. During an upgrade it tells which replicas are done.
struct SoftwareStats {
  std::string rocksync;   // its version, e.g. "0.1.0"
  std::string rocksdb;    // the RocksDB that is loaded, e.g. "7.8.3"
  uint64_t protocol = 0;  // replicas of different versions do not meet
};

// What this process runs; needs no replica. May be called from any thread.
SoftwareStats RunningSoftware();

// A member of the cluster, as far as this replica knows (see
// ReplicatedDB::SetMembers). Times are milliseconds since the Unix epoch by the
// replicas' clocks for versions; 0: not known yet in this epoch.
struct MemberStats {
  uint64_t replica_id = 0;
  uint64_t since_epoch = 0;  // listed without a gap from this epoch on
  // This replica durably holds everything that the member held at this time.
  uint64_t held_ms = 0;
  // The member has acknowledged that it durably holds everything that every
  // member held at this time.
  uint64_t acknowledged_ms = 0;
};

// Tombstone retention: which deletes are kept, and why.
struct TombstoneGcStats {
  uint64_t epoch = 0;       // of the member list; 0: none, nothing is collected
  uint64_t stable_ms = 0;   // stable time: tombstones up to it are collected
  uint64_t tombstones = 0;  // still held, as of the latest session
  uint64_t removed = 0;     // index entries taken out since opening
  bool sweeping = false;    // collected tombstones remain to be removed
  // If tombstones are held: the replica id of the member of which least is
  // known, and which holds up their collection. 0: nobody holds them up; so
  // while there are no tombstones, also for a member that is away.
  uint64_t held_up_by = 0;
  // The replica id of a member, maybe this one, that was reported in two
  // incarnations which do not follow one another: a copy of it runs, or an
  // older state of its disk. No more tombstones are collected (and held_up_by
  // may name others) until a newer list is set; set it once one of the two was
  // opened as a new replica. 0: none was reported since opening and since the
  // present list came. In ReplicationStats also, for ten minutes, the id of one
  // that this replica has refused for that itself.
  uint64_t identity_conflict = 0;
  // True: this replica may hold pairs that other members have deleted. It
  // joined the member list with data, or joined empty and was filled by such a
  // member. Members that have collected tombstones since refuse it. It becomes
  // false once this replica is proven equal to a member for which it is false,
  // or to all members. Remedy, if it is refused: on the member that joined with
  // data, export what it alone holds (`rocksync rescue`), and replace it by an
  // empty replica; only then replace those that it filled, or they take the
  // same pairs again.
  bool may_hold_deleted_pairs = false;
  std::vector<MemberStats> members;  // by replica id
};

// Counts run since Replicator::Start, over all peers and both directions; what
// concerns the database (`gc`, parts of `scrub`) since it was opened.
struct ReplicationStats {
  uint64_t replica_id = 0;
  std::string cluster_name;  // of ReplicatedDBOptions
  uint64_t elements = 0;  // live pairs and tombstones, as of the beginning of
                          // the latest session
  uint64_t sessions = 0;  // dialed and accepted, that began and ended
  // Failed sessions, plus attempts that ended before a session began.
  uint64_t sessions_failed = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t pairs_superseded = 0;  // received; it or a later version was here
  // How often a session or a stream brought a pair that was not applied, as it
  // is further in the future than max_clock_ahead_ms. Each try counts.
  uint64_t pairs_held_back = 0;
  uint64_t bytes_filters = 0;
  uint64_t bytes_offers = 0;
  uint64_t bytes_keys = 0;
  uint64_t bytes_values = 0;
  uint64_t bytes_total = 0;
  uint64_t exchanges = 0;  // see SessionProgress
  // How often a dialer that is no peer was refused: it names another cluster,
  // or does not know the secret; its families differ, say, or the member list
  // does not name it; it is a copy of a peer that was met; or it asked for a
  // clone, and ReplicatorOptions::allow_clones is false. Each try counts, so
  // one dialer with wrong settings counts many times; a replica whose own
  // address is among its peers counts itself. Who came last, why it was
  // refused, and when, milliseconds since the Unix epoch; empty and 0: nobody.
  // Who has no certificate of the CA is not counted, as anybody can be that:
  // see TlsTransportOptions::refused.
  uint64_t connections_refused = 0;
  std::string last_refusal;
  uint64_t last_refusal_ms = 0;
  bool paused = false;
  // When peers accept this replica's certificate, the one that new connections
  // show, no more, milliseconds since the Unix epoch: it expires, or its CA
  // does, whichever is first. 0: the transport has none.
  uint64_t certificate_expires_ms = 0;
  // Which of the two that is, and its file; see CertificateState.
  std::string certificate_first_to_expire;
  uint64_t certificate_renewals = 0;  // taken into use since the process began
  // Why the certificate files that are on disk now are not in use, and earlier
  // ones are; empty: they are in use.
  std::string certificate_error;
  SoftwareStats software;
  StreamStats stream;  // of all peers, those forgotten too
  IndexBuildStats index;
  DiskSpaceStats disk;
  ScrubStats scrub;
  TombstoneGcStats gc;
  // In the order of the options, or of SetPeers, then others: those connected,
  // and the 64 met last. Where there is a member list, replicas that it does
  // not name are left out, unless the options name their addresses.
  std::vector<PeerStats> peers;
};

}  // namespace rocksync

#endif  // ROCKSYNC_STATS_H_
