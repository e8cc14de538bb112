// Incarnations of a replica's data, and the check whether the incarnation that
// a peer shows follows the one that this replica remembers of it.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_INCARNATION_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_INCARNATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync {

// Identifies an incarnation: a counter, which each opening increases, and
// random bits, so that two incarnations with one counter differ.
struct IncarnationId {
  uint64_t counter = 0;
  uint64_t random = 0;
  friend bool operator==(const IncarnationId&, const IncarnationId&) = default;
};

// An earlier incarnation, and the reading of the hybrid logical clock from
// which the next incarnation started.
struct FormerIncarnation {
  IncarnationId incarnation;
  uint64_t next_clock = 0;
  friend bool operator==(const FormerIncarnation&,
                         const FormerIncarnation&) = default;
};

// The earlier incarnations of a replica's data, oldest first: all with a
// counter above `since`.
struct IncarnationHistory {
  uint64_t since = UINT64_MAX;  // UINT64_MAX: none is known
  // At most kMaxPastIncarnations.
  std::vector<FormerIncarnation> incarnations = {};
  friend bool operator==(const IncarnationHistory&,
                         const IncarnationHistory&) = default;
};
inline constexpr size_t kMaxPastIncarnations = 64;

// Appends `last`, which is over; the next incarnation starts from `next_clock`.
void Append(const IncarnationId& last, uint64_t next_clock,
            IncarnationHistory* past);

struct Incarnation {
  IncarnationId incarnation;
  // The reading of the hybrid logical clock (Version.time) from which this
  // incarnation started: no less than any reading that an earlier incarnation
  // gave.
  uint64_t first_clock = 0;
  // The latest durable reading of this incarnation: no later incarnation starts
  // from less.
  uint64_t clock = 0;
  IncarnationHistory past = {};
  friend bool operator==(const Incarnation&, const Incarnation&) = default;
};

enum class Succession : uint8_t {
  kFollows,     // the same incarnation, or a later one
  kRolledBack,  // an earlier incarnation: a restored backup, or an old copy
  kClone,       // two incarnations with one counter: a copy that runs too
  kClockBack,   // the incarnation after the known one started from an earlier
                // reading: a restored backup
  kOtherLine,   // a later incarnation whose past does not contain the known
                // one: a copy, or a backup from before it
};
Succession Compare(const Incarnation& known, const Incarnation& now);

// Returns what to remember of `now`, which follows `known`. Within one
// incarnation the clocks of two set-ups may be read in one order and arrive in
// the other, so the remembered clock never falls.
Incarnation Later(const Incarnation& known, const Incarnation& now);

// Merges what two replicas know of a third one: its incarnation, up to a
// reading (`clock`) of it; counter 0: not known. Returns true if one
// incarnation follows the other; then `*known` becomes the later one, up to the
// larger reading. Returns false if the two cannot both be the past of one
// incarnation: an older state of the third replica's disk, or a copy, has run
// since.
bool Unite(const Incarnation& other, Incarnation* known);

// Removes the incarnations that ended at or before `clock`.
void Shorten(uint64_t clock, IncarnationHistory* past);

// Appends past since | past incarnations | past incarnations x (counter |
// random (8) | next clock (8)). The other integers are varints.
void EncodePast(const IncarnationHistory& past, std::string* out);
// Consumes what it reads from `*bytes`. Returns false if that is cut off, or
// has too many incarnations.
[[nodiscard]] bool DecodePast(std::string_view* bytes,
                              IncarnationHistory* past);

// Returns a text such as "was rolled back: incarnation 3 after 4"; empty if
// `now` follows `known`.
std::string Describe(Succession succession, const Incarnation& known,
                     const Incarnation& now);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_INCARNATION_H_
