// Which pairs a replica accepts at all, whatever it has stored: none whose
// version is too far ahead of its clock, and no tombstone that is collected. Of
// two that it accepts, conflict.h says which one stays.

#ifndef ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_
#define ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_

#include <cstdint>

#include "sketch/element/version.h"

namespace rocksync {

// Returns whether a version is further ahead of this replica's wall clock than
// `max_ahead_ms`. Such a version is held back: it is not applied, and the
// replica's clock does not follow it.
constexpr bool TooFarAhead(const Version& version, uint64_t wall_ms,
                           uint64_t max_ahead_ms) {
  const uint64_t at = WallMs(version);
  return at > wall_ms && at - wall_ms > max_ahead_ms;
}

// Returns a peer's reading of its clock (a Version.time) as far as it is
// believed: a clock that is too far ahead will be corrected one day, and must
// not look rolled back then.
constexpr uint64_t Trusted(uint64_t reading, uint64_t wall_ms,
                           uint64_t max_ahead_ms) {
  return TooFarAhead({.time = reading, .replica = 0}, wall_ms, max_ahead_ms)
             ? wall_ms << 16
             : reading;
}

// Returns whether a tombstone is collected: all members have it
// (tombstone_gc.h), so no reader sees it and no replica accepts it. With stable
// time 0 nothing is collected.
constexpr bool IsCollected(bool tombstone, const Version& version,
                           uint64_t stable_time) {
  return tombstone && stable_time > 0 && version.time <= stable_time;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ACCEPTANCE_H_
