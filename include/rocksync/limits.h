// Hard limits of the format. Options (rocksync/options.h) may be smaller, never
// larger. A peer's message beyond one is taken for damage; a local write beyond
// one is refused, since it could not travel.

#ifndef ROCKSYNC_LIMITS_H_
#define ROCKSYNC_LIMITS_H_

#include <chrono>
#include <cstddef>

namespace rocksync {

inline constexpr size_t kMostKeyBytes = size_t{8} << 20;
inline constexpr size_t kMostValueBytes = size_t{1} << 30;

// Of cluster_name, of a replicated family's name, of its comparator's.
inline constexpr size_t kMostNameBytes = 1024;

inline constexpr size_t kMostReplicatedFamilies = 4096;

// Of a member list (ReplicatedDB::SetMembers).
inline constexpr size_t kMostMembers = 1024;

// Of every interval and timeout in the options of replicators and transports.
// A longer one is refused when they start, since clocks would overflow.
inline constexpr std::chrono::milliseconds kMostDuration =
    std::chrono::hours(365 * 24);

}  // namespace rocksync

#endif  // ROCKSYNC_LIMITS_H_
