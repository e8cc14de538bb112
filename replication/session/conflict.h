// The conflict rule: which of two pairs of one key stays. It is the same on
// every replica, for local writes, for received pairs and for a session's
// accounting; otherwise replicas would never agree.

#ifndef ROCKSYNC_REPLICATION_SESSION_CONFLICT_H_
#define ROCKSYNC_REPLICATION_SESSION_CONFLICT_H_

#include <cstdint>

#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// One pair of a key, as far as the rule needs it.
struct Contender {
  Version version;
  bool tombstone = false;
  ElementHash hash;  // Beats ignores that of a tombstone
};

// Returns true if `a` replaces `b`: a strict total order over the pairs of one
// key.
//   1. The later version wins.
//   2. Of equal versions a tombstone wins. (A version is issued once, so this
//      decides only after damage; it keeps the order total.)
//   3. Of two live pairs of one version the greater element hash wins. This
//      decides between unversioned pairs, which all have version 0. The hash is
//      cryptographic and covers the value, so that different pairs have
//      different hashes.
// Equal contenders do not beat each other.
constexpr bool Beats(const Contender& a, const Contender& b) {
  if (a.version != b.version) return a.version > b.version;
  if (a.tombstone != b.tombstone) return a.tombstone;
  return !a.tombstone && a.hash > b.hash;
}

// The order of two versions, which decides alone unless they are equal.
enum class VersionOrder : uint8_t { kOlder, kNewer, kEqualVersions };
constexpr VersionOrder CompareVersions(const Version& a, const Version& b) {
  if (a == b) return VersionOrder::kEqualVersions;
  return a > b ? VersionOrder::kNewer : VersionOrder::kOlder;
}

// The verdict of the rule on a peer's pair and the stored pair of the same key
// at the same version. A version is issued once, so if two pairs of one version
// differ, one of them is damaged, and a damaged pair never wins.
enum class AtOneVersion : uint8_t {
  kSame,            // both are one pair
  kTheirs,          // theirs replaces the stored one
  kStored,          // the stored one stays
  kStoredIfIntact,  // the stored one stays, unless its value no longer matches
                    // its hash: then theirs replaces it
};

// Applies the rule to two pairs of one version. `theirs_is_hashed`: false for
// an offer of a live pair that does not say its hash. Hashes of two tombstones
// are compared, too.
constexpr AtOneVersion ContendAtOneVersion(const Contender& theirs,
                                           const Contender& stored,
                                           bool theirs_is_hashed = true) {
  const bool both_live = !theirs.tombstone && !stored.tombstone;
  if (both_live && !theirs_is_hashed) return AtOneVersion::kStoredIfIntact;
  if (theirs.tombstone == stored.tombstone && theirs.hash == stored.hash) {
    return AtOneVersion::kSame;
  }
  // Of two tombstones that differ the stored one is damaged.
  if (theirs.tombstone || Beats(theirs, stored)) return AtOneVersion::kTheirs;
  return stored.tombstone ? AtOneVersion::kStored
                          : AtOneVersion::kStoredIfIntact;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_CONFLICT_H_
