// One life of a replica's data, and whether the life that a peer shows follows
// the one that is remembered of it.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_LIFE_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_LIFE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync {

// A counter that grows whenever the past may have been lost, and random bits,
// so that two lives with one counter differ.
struct Incarnation {
  uint64_t counter = 0;
  uint64_t random = 0;
  friend bool operator==(const Incarnation&, const Incarnation&) = default;
};

// An earlier life, and the reading of the hybrid logical clock that the life
// right after it started from.
struct PastLife {
  Incarnation incarnation;
  uint64_t next_clock = 0;
  friend bool operator==(const PastLife&, const PastLife&) = default;
};

// The earlier lives of a replica's data, oldest first: all with a counter above
// `since`.
struct PastLives {
  uint64_t since = UINT64_MAX;       // nothing is known of them
  std::vector<PastLife> lives = {};  // at most kMaxPastLives
  friend bool operator==(const PastLives&, const PastLives&) = default;
};
inline constexpr size_t kMaxPastLives = 64;

// `last` is over, the life after it starts from `next_clock`.
void Append(const Incarnation& last, uint64_t next_clock, PastLives* past);

struct Life {
  Incarnation incarnation;
  // The reading of the hybrid logical clock (Version.time) that this life
  // started from: no less than all that earlier lives said of theirs.
  uint64_t first_clock = 0;
  // Its latest reading that is durable: no later life starts from less.
  uint64_t clock = 0;
  PastLives past = {};
  friend bool operator==(const Life&, const Life&) = default;
};

enum class Succession : uint8_t {
  kFollows,     // the same life, or a later one
  kRolledBack,  // an earlier life: a restored backup, or an old copy
  kTwin,        // two lives with one counter: a copy that runs too
  kClockBack,   // what came after the life that is known started from an
                // earlier reading: a restored backup
  kOtherLine,   // a later life that the one that is known is no part of the
                // past of: a copy, or a backup of before it
};
Succession Compare(const Life& known, const Life& now);

// What to remember of a life that follows. Within one life the clocks of two
// set-ups may be read in one order and arrive in the other, so it never falls.
Life Later(const Life& known, const Life& now);

// Two replicas know a third by these lives, each up to a reading (`clock`) of
// it. True if one follows the other; then `*known` becomes the later one, up to
// the larger reading. Counter 0: not known. False: both cannot be the past of
// one life, so an older state of the third's disk, or a copy, has run since.
bool Unite(const Life& other, Life* known);

// Leaves out earlier lives that ended at or before `clock`.
void Shorten(uint64_t clock, PastLives* past);

// A replica id as messages name it.
std::string HexOf(uint64_t replica_id);

// past since | lives | lives x (counter | random (8) | next clock (8)), the
// other integers varints.
void EncodePast(const PastLives& past, std::string* out);
// False: cut off, or too many lives. Takes what it reads from `bytes`.
[[nodiscard]] bool DecodePast(std::string_view* bytes, PastLives* past);

// "was rolled back: incarnation 3 after 4" and the like; empty if it follows.
std::string Describe(Succession succession, const Life& known, const Life& now);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_LIFE_H_
