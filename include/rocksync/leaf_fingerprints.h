// Where two replicas differ, as a picture.

#ifndef ROCKSYNC_LEAF_FINGERPRINTS_H_
#define ROCKSYNC_LEAF_FINGERPRINTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

class ReplicatedDB;

inline constexpr size_t kLeafFingerprints = size_t{1} << 16;

// The index has 2^16 leaves, into which a keyed hash spreads the keys, the same
// on all replicas of a cluster. Gives a fingerprint of each: 0 for a leaf that
// is empty; else the same number on two replicas that hold the same pairs and
// tombstones in it, and another one if they do not, except by chance (1 in
// 2^32). For people to look at: only a session proves two replicas equal. Keyed
// by the cluster's secret, so that they say nothing of the digests of the
// leaves, which clients of the store must not know (SECURITY.md).
//
// TryAgain: an index build is in progress (ReplicatedDB::WaitForIndexBuild).
// Cost: the snapshot that a session takes, and 2^16 hashes, some 30 ms.
// Thread-safe.
rocksdb::Status LeafFingerprints(ReplicatedDB* db,
                                 std::vector<uint32_t>* fingerprints);

}  // namespace rocksync

#endif  // ROCKSYNC_LEAF_FINGERPRINTS_H_
