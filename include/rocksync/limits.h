// Hard limits of the format. Options (rocksync/options.h) may be smaller, never
// larger. A peer's message beyond one is taken for damage before anything is
// allocated for it; a local write beyond one is refused, since it could not
// travel.

#ifndef ROCKSYNC_LIMITS_H_
#define ROCKSYNC_LIMITS_H_

#include <cstddef>

namespace rocksync {

inline constexpr size_t kMaxKeyBytes = size_t{8} << 20;
inline constexpr size_t kMaxValueBytes = size_t{1} << 30;

// Of cluster_name, of a replicated family's name, of its comparator's.
inline constexpr size_t kMaxNameBytes = 1024;

inline constexpr size_t kMaxReplicatedFamilies = 4096;

// Of a member list (ReplicatedDB::SetMembers).
inline constexpr size_t kMaxMembers = 1024;

}  // namespace rocksync

#endif  // ROCKSYNC_LIMITS_H_
