// Figures about replication, for metrics and for people.

#ifndef ROCKSYNC_STATS_H_
#define ROCKSYNC_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync {

// What one session did so far, as seen from this replica. Byte counts exclude
// the transport's own (TLS, TCP).
struct SessionProgress {
  std::string peer;
  bool finished = false;
  bool proven_equal = false;
  uint64_t elements = 0;  // in this replica's snapshot
  uint64_t elements_compared = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t bytes_filters = 0;  // filters and sketches, both directions
  uint64_t bytes_offers = 0;   // offers and answers, both directions
  uint64_t bytes_keys = 0;     // keys of shipped pairs, both directions
  uint64_t bytes_values = 0;   // values of shipped pairs, both directions
  uint64_t bytes_total = 0;    // everything, both directions
  uint32_t rounds = 0;
  uint32_t round_trips = 0;
  std::string plan;   // what the cost model chose, readable
  std::string error;  // empty if none
};

struct PeerStats {
  std::string address;
  uint64_t replica_id = 0;  // 0 until first met
  uint64_t sessions = 0;    // that ended, well or not
  uint64_t failures = 0;
  std::string last_error;  // of the latest session; empty if it was fine
  uint64_t last_proven_equal_ms = 0;  // wall clock, ms since epoch; 0: never
  uint64_t equal_as_of_ms = 0;        // when the session that proved it began
  SessionProgress last;               // the latest session, running or ended
};

// The comparison of stored values with the index's hashes.
struct ScrubStats {
  bool running = false;
  uint64_t pairs_compared = 0;    // in this pass, or else in the last one
  uint64_t last_finished_ms = 0;  // wall clock, ms since epoch; a new database
                                  // counts as just scrubbed
  uint64_t rot_found = 0;         // pairs that disagreed, since the start
  uint64_t repaired = 0;          // suspect pairs that a peer's pair replaced
  uint64_t settled = 0;           // those that no peer knew better of: adopted
  std::string last_error;         // of the latest step; empty if it was fine
};

struct ReplicationStats {
  uint64_t replica_id = 0;
  uint64_t elements = 0;  // live pairs and tombstones, latest snapshot
  uint64_t sessions = 0;  // dialed and accepted
  uint64_t sessions_failed = 0;
  uint64_t pairs_sent = 0;
  uint64_t pairs_received = 0;
  uint64_t pairs_applied = 0;
  uint64_t pairs_superseded = 0;
  uint64_t pairs_held_back = 0;
  uint64_t bytes_filters = 0;
  uint64_t bytes_offers = 0;
  uint64_t bytes_keys = 0;
  uint64_t bytes_values = 0;
  uint64_t bytes_total = 0;
  uint64_t rounds = 0;
  bool paused = false;
  ScrubStats scrub;
  std::vector<PeerStats> peers;  // in the order of the options, then others
};

}  // namespace rocksync

#endif  // ROCKSYNC_STATS_H_
