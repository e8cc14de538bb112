// Comparing two replicas without shipping anything: are they equal, and if not,
// which keys differ?

#ifndef ROCKSYNC_VERIFY_H_
#define ROCKSYNC_VERIFY_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "rocksync/hooks.h"

namespace rocksync {

struct VerifyOptions {
  // At most this many keys are told; a comparison that comes to more ends
  // there. At least 1. What differs at the first look may be in flight: up to
  // 20 000 keys of it (`max_keys` + 1, if that is more) are held and looked at
  // again. Each costs its key and about 150 bytes, 16 MiB in all at most. If
  // more keys differ, the first look ends with these; if all of these have
  // arrived at a later look, the comparison is Incomplete.
  uint64_t max_keys = 1000;

  // A key counts as different only if it still differs when it is looked at
  // again, for at most this long. The call takes the time of its looks besides,
  // each a session, which may wait up to io_timeout for another one with the
  // peer: where replicas are written to at full speed, ten seconds and more a
  // look. Choose more than the replicators' interval, as the defaults do, so
  // that writes in flight arrive meanwhile. Zero: whatever differs at the first
  // look counts. Negative values are refused; there is no upper bound here, but
  // a running replica that `rocksync verify` asks looks for an hour at most.
  std::chrono::milliseconds in_flight_wait{15'000};
};

// What one replica holds for a key.
struct HeldPair {
  enum class State { kNothing, kTombstone, kLive };
  State state = State::kNothing;
  PairVersion version;  // unless kNothing
};

// One key that differs.
struct KeyDifference {
  enum class Kind {
    kMissingHere,   // the peer holds a pair or tombstone of it, we nothing
    kMissingThere,  // the other way round
    kVersion,       // both hold it, one of them a later version
    kContent,       // both hold it at one version, with different content: one
                    // of the two is damaged, or both are unversioned
  };
  Kind kind = Kind::kVersion;
  std::string family;
  std::string key;
  HeldPair here;
  HeldPair there;
};

struct VerifyResult {
  // All was compared and nothing differs. Said only of equal digests at the
  // first look, or if what differed then had arrived at a later one.
  bool equal = false;
  // All was compared; false if the number of keys ended it (max_keys), or if
  // quarantined pairs were left out.
  bool complete = false;
  uint64_t elements = 0;     // pairs and tombstones here, at the first look
  uint64_t differences = 0;  // keys told
  uint64_t in_flight = 0;    // keys that differed at first, and then no more
  uint64_t bytes = 0;        // of messages, both directions
  uint32_t looks = 0;        // sessions that it took
  // Quarantined pairs (IndexStats::quarantined_now) at the first look, in which
  // the two may differ without anybody being able to tell. A pair that is
  // quarantined on one side and sound on the other is none of them: it differs.
  uint64_t quarantined_here = 0;
  uint64_t quarantined_there = 0;
};

// Sees each key that differs. Must not call the replicator.
using DifferenceCallback = std::function<void(const KeyDifference&)>;

}  // namespace rocksync

#endif  // ROCKSYNC_VERIFY_H_
