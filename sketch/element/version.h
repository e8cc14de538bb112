// A version says when a pair was written, and by which replica.

#ifndef ROCKSYNC_SKETCH_ELEMENT_VERSION_H_
#define ROCKSYNC_SKETCH_ELEMENT_VERSION_H_

#include <compare>
#include <cstdint>

namespace rocksync {

// A reading of a hybrid logical clock and the replica that issued it. Of two
// versions of one key the larger wins; the order is total because one replica
// never issues a reading twice.
//
// Version{} (both fields 0) marks an unversioned pair: an adopted one, or a
// quarantined one that was resolved. Any other version wins over it.
struct Version {
  // Bits 63..16: milliseconds since the Unix epoch. Bits 15..0: a counter that
  // carries into the milliseconds.
  uint64_t time = 0;
  // The 64 random bits that name the issuing replica.
  uint64_t replica = 0;

  friend auto operator<=>(const Version&, const Version&) = default;
};

// Returns the wall-clock part of `version`, in milliseconds since the Unix
// epoch.
constexpr uint64_t WallMs(const Version& version) { return version.time >> 16; }

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_VERSION_H_
