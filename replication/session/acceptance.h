// Which pairs a replica accepts at all, whatever it has stored: none that is
// too far ahead of its clock, and no tombstone that is collected. Of two that
// it accepts, conflict.h says which one stays.

#ifndef ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_
#define ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_

#include <cstdint>

#include "sketch/element/version.h"

namespace rocksync {

// Versions further ahead of this replica's wall clock than `max_ahead_ms` are
// held back: not applied, and its clock does not follow them.
constexpr bool TooFarAhead(const Version& version, uint64_t wall_ms,
                           uint64_t max_ahead_ms) {
  const uint64_t at = WallMs(version);
  return at > wall_ms && at - wall_ms > max_ahead_ms;
}

// How far a peer's reading of its clock (a Version.time) is believed: a clock
// that is too far ahead will be corrected one day, and must not look rolled
// back then.
constexpr uint64_t Trusted(uint64_t reading, uint64_t wall_ms,
                           uint64_t max_ahead_ms) {
  return TooFarAhead({.time = reading, .replica = 0}, wall_ms, max_ahead_ms)
             ? wall_ms << 16
             : reading;
}

// A tombstone that all members have (tombstone_gc.h): to every reader it is not
// there, and no replica accepts it. With stable time 0 nothing is collected.
constexpr bool IsCollected(bool tombstone, const Version& version,
                           uint64_t stable_time) {
  return tombstone && stable_time > 0 && version.time <= stable_time;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_
