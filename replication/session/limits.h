// Hard limits of what travels, the same as the application's in
// rocksync/limits.h, which cannot be included here, as this room knows no
// clock; refusals.cc checks that they are alike. A message beyond one is
// refused as damaged before anything is allocated for it.

#ifndef ROCKSYNC_REPLICATION_SESSION_LIMITS_H_
#define ROCKSYNC_REPLICATION_SESSION_LIMITS_H_

#include <cstddef>

namespace rocksync {

inline constexpr size_t kMaxKeyBytes = size_t{8} << 20;

// Of a cluster's name, of a replicated family's, of its comparator's.
inline constexpr size_t kMaxNameBytes = 1024;

// Replicated ones.
inline constexpr size_t kMaxFamilies = 4096;

// Of a member list.
inline constexpr size_t kMaxMembers = 1024;

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LIMITS_H_
