// What two replicas hold for one key, where that is not the same, and whether
// it still is not at a second look. Pure.

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
  ElementHash hash;  // of kLive only: a tombstone is its version
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

// Two looks at one key, the later one second. False if what differed at first
// was on its way: the side that was behind has since come to what the other
// had then, or beyond. A key that is always being written to is therefore not
// different as long as each write arrives in the end.
bool StillDiffers(const Difference& first, const Difference& now);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_DIFFERENCE_H_
