// The messages of a search for leaves as bytes. Each is a payload: a kind byte
// and a body. docs/exchange.md describes them.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_MESSAGES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/planning/difference_estimate.h"

namespace rocksync {

enum class LeafSearchKind : uint8_t {
  kProbe = 0,      // initiator: syndromes of one group of all leaves
  kEstimate = 1,   // responder: parities; the probe did not decode
  kSyndromes = 2,  // either: the number of groups, and first syndromes of each
  kMore = 3,       // either: asks for more syndromes of failed groups
  kRest = 4,       // either: the syndromes that kMore asked for
  kParities = 5,   // initiator: parities of the leaves' counts
  kOdd = 6,        // responder: about how many are odd; too few parities
  kSplits = 7,     // initiator: more parities
  kOfEach = 8,     // responder: how many syndromes it wants of each group
  kEach = 9,       // initiator: these
};

// The fewest pairs of syndromes of a probe: two for leaves and one to check
// them.
inline constexpr uint32_t kProbeSyndromePairs = 3;
// The most pairs of syndromes of a group.
inline constexpr uint32_t kMaxSyndromePairs = 256;
inline constexpr uint32_t kMaxGroupSyndromes = 2 * kMaxSyndromePairs;

// How a search cuts `leaves` leaves, a power of two, into groups.
struct SymbolShape {
  uint32_t leaves = 1;
  int group_bits = 0;  // log2 of the groups
  int least_bits = kMinSymbolBits;

  uint32_t groups() const { return uint32_t{1} << group_bits; }
  uint32_t places() const { return leaves >> group_bits; }
  // Returns the width of a symbol and of the field, where places are 1 ..
  // places().
  int bits() const;
};

// kProbe: kProbeSyndromePairs pairs of syndromes or more, as many as the length
// holds | parities of `parity_bytes`, which may be 0.
absl::Status GetProbe(std::string_view body, int bits, size_t parity_bytes,
                      std::vector<uint32_t>* syndromes,
                      std::string_view* parities);

// kSyndromes: group_bits (1) | of several groups: expected (varint), about how
// many leaves differ, and FineParitiesOfLeaves(expected).bytes() of parities,
// or 0 | syndromes, equally many of each group, group after group. Those of a
// single group follow on the probe's if the initiator sends them; several
// groups may have none. kRest: syndromes of each group that was asked for, as
// many as were wanted. The number of syndromes of a group follows from the
// length. It is even and at least 2; with `known` pairs before them there are
// at most kMaxSyndromePairs pairs.
absl::Status GetGroupBits(std::string_view* body, SymbolShape* shape);
FineShape FineParitiesOfLeaves(uint64_t expected);
// Leaves `parities` empty and sets `*expected` to 0 if there are none.
absl::Status GetFineParities(std::string_view* body, uint32_t leaves,
                             uint64_t* expected, std::string_view* parities);
absl::Status GetSyndromes(std::string_view body, int bits, size_t groups,
                          uint32_t known, std::vector<uint32_t>* syndromes);

// kMore: pairs (varint), of each group from now on | a bit for each group that
// was open, set if it still is, least significant first, spare bits 0.
struct MoreSyndromes {
  uint32_t pairs = 0;
  std::vector<bool> open;
};
void PutMore(const MoreSyndromes& more, std::string* out);
// Refuses a request for `known` pairs or fewer, or of no group.
absl::Status GetMore(std::string_view body, size_t groups, uint32_t known,
                     MoreSyndromes* more);

// kOfEach: the smallest number of syndromes that is wanted of a group (varint)
// | width (1) | for each group, in `width` bits, 0, or one more than what it is
// to have beyond that number. `wanted` is 0 for a group of which nothing is
// asked for, and some are.
void PutOfEach(const std::vector<uint32_t>& wanted, std::string* out);
// Refuses a request for as many syndromes as were `sent` of a group, or fewer,
// and for more than kMaxGroupSyndromes.
absl::Status GetOfEach(std::string_view body, const std::vector<uint32_t>& sent,
                       std::vector<uint32_t>* wanted);

// Returns InvalidArgument: "search for leaves: <what>".
absl::Status BadSearch(std::string_view what);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_MESSAGES_H_
