// The messages of a search for leaves as bytes, each a payload: a kind byte and
// a body. docs/exchange.md is the prose.

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
  kProbe = 0,     // initiator: syndromes of one group of all leaves
  kEstimate = 1,  // responder: parities; the probe did not decode
  kSums = 2,      // groups, and the first syndromes of each
  kMore = 3,      // some groups did not decode: that many of these, please
  kRest = 4,      // they
};

// Fewest pairs of syndromes of the probe, one of them to check it: two leaves.
inline constexpr uint32_t kProbePairs = 3;
// Most pairs of syndromes of a group.
inline constexpr uint32_t kMaxSymbolPairs = 256;

// How a search cuts `leaves` leaves, a power of two.
struct SymbolShape {
  uint32_t leaves = 1;
  int group_bits = 0;  // log2 of the groups
  int least_bits = kMinSymbolBits;

  uint32_t groups() const { return uint32_t{1} << group_bits; }
  uint32_t places() const { return leaves >> group_bits; }
  // Of a symbol and of the field: places are 1 .. places() there.
  int bits() const;
};

// kProbe: kProbePairs pairs of syndromes or more, as many as the length holds |
// parities of `parity_bytes`, which may be 0.
void PutProbe(const std::vector<uint32_t>& syndromes, int bits,
              std::string_view parities, std::string* out);
absl::Status GetProbe(std::string_view body, int bits, size_t parity_bytes,
                      std::vector<uint32_t>* syndromes,
                      std::string_view* parities);

// kSums: group_bits (1) | of several groups: expected (varint), about how many
// leaves differ, and FineParitiesOfLeaves(expected).bytes() of parities, or 0 |
// as many syndromes of each group, group after group, of a single group those
// after the probe's; of several there may be none.
// kRest: of each group that was asked for, as many more.
// The number of syndromes of a group follows from the length: even, at least 2,
// and with `known` pairs before them at most kMaxSymbolPairs pairs.
absl::Status GetGroupBits(std::string_view* body, SymbolShape* shape);
FineShape FineParitiesOfLeaves(uint64_t expected);
// `parities` are empty, and `*expected` is 0, if there are none.
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
// More than `known` pairs, and at least one group.
absl::Status GetMore(std::string_view body, size_t groups, uint32_t known,
                     MoreSyndromes* more);

// InvalidArgument: "search for leaves: <what>".
absl::Status BadSearch(std::string_view what);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_MESSAGES_H_
