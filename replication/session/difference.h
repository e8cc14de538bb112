// A difference: what two replicas hold for one key, where that is not the same,
// and whether it still differs at a second look. Pure.

#ifndef ROCKSYNC_REPLICATION_SESSION_DIFFERENCE_H_
#define ROCKSYNC_REPLICATION_SESSION_DIFFERENCE_H_

#include <cstdint>
#include <string>

#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// What one side holds for a key.
struct Held {
  enum class State : uint8_t { kNothing = 0, kTombstone = 1, kLive = 2 };
  State state = State::kNothing;
  Version version;   // unless kNothing
  ElementHash hash;  // of kLive only: a tombstone's version is enough
};

// True if both are the same element, or both are nothing.
bool Same(const Held& a, const Held& b);

struct Difference {
  uint32_t family = 0;
  std::string key;
  Held mine;
  Held theirs;
};

enum class DifferenceKind : uint8_t {
  kMissingHere,
  kMissingThere,
  kVersion,  // both hold it, one at a later version
  kContent,  // both hold it at one version, with different content
};
// REQUIRES: not Same(mine, theirs).
DifferenceKind KindOf(const Difference& difference);

// Compares two looks at one key, the later one second. Returns false if the
// difference was in flight at the first look: the side that was behind now has
// what the other had then, or something later. So a key that is written all the
// time does not count as different as long as each write arrives in the end.
bool StillDiffers(const Difference& first, const Difference& now);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_DIFFERENCE_H_
