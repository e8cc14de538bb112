// Pure leaves: elements that a search for leaves finds by itself. Where one
// side holds one element more in a leaf, the leaf's symbols tell that element's
// keyed sum (leaf_symbols.h), and the side that holds it looks it up: no
// exchange has to find it.

#ifndef ROCKSYNC_REPLICATION_SESSION_PURE_LEAVES_H_
#define ROCKSYNC_REPLICATION_SESSION_PURE_LEAVES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/reconcile/leaf_search.h"
#include "replication/session/exchange_series.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/round_work.h"

namespace rocksync {

// The differences of a leaf's counts, mod 4, that tell an element.
inline constexpr uint8_t kOneMoreHere = 1;
inline constexpr uint8_t kOneMoreThere = 3;

// The leaves of a search as the side that knows them divides them up.
struct PureLeaves {
  std::vector<PlacedElement> mine;      // elements that the peer lacks
  std::vector<LeafDifference> asked;    // the peer has one element more there
  std::vector<LeafDifference> unknown;  // an exchange has to compare them
};

// Divides up the leaves that differ, and reads those in which this side has one
// element more. Returns Cancelled, or the error of reading the index. Counts
// elements read in the report. `leaves` are those of the snapshot as changed by
// `changes`.
absl::StatusOr<PureLeaves> ReadPureLeaves(
    const RoundContext& context, std::span<const Digest> leaves,
    const MergedChanges& changes, const SymbolKey& key,
    const std::vector<LeafDifference>& differences);

// Returns the element by which a leaf differs, if it differs by one element
// more here with this keyed sum; nullopt if none fits, or several do. Ignores
// what was gained, which the peer knows, and what was removed, which is in no
// set.
absl::StatusOr<std::optional<PlacedElement>> FindInLeaf(
    const RoundContext& context, uint32_t leaf, const MergedChanges& changes,
    const SymbolKey& key, uint32_t sum);

// The body of kLeafBatch with kFlagPureLeaves: nothing, or
//   4 * the number of leaves, plus 1 if some are unknown, plus 2 if some are
//   asked for
//   | elements, if some are unknown
//   | expected | overwritten, if there are both kinds
//   | theirs, if all are unknown
//   | bits, least significant first: the leaves, gap coded; if there are both
//     kinds, a bit for each leaf, set if it is asked for; the keyed sums of the
//     leaves asked for; spare bits 0
struct PureLeavesHead {
  uint64_t elements = 0;     // of the sender in the unknown leaves
  uint64_t expected = 0;     // about how many elements differ there
  uint64_t overwritten = 0;  // about how many keys have two of these
  // The receiver's elements there as the sender takes them, which may be off by
  // a few. If all leaves are unknown the sender begins the exchange at once.
  uint64_t theirs = 0;
  // Unknown leaves, ascending.
  std::vector<uint32_t> unknown;
  struct Question {
    uint32_t leaf = 0;
    uint32_t sum = 0;  // keyed, of the element that the receiver holds
  };
  std::vector<Question> asked;
};
// `symbol_bits`: the size of the search's symbols. `range`: the number of
// leaves, or kLeafCount if that is larger.
void EncodePureLeaves(const PureLeavesHead& head, int symbol_bits,
                      uint32_t range, std::string* out);
absl::Status DecodePureLeaves(std::string_view body, int symbol_bits,
                              uint32_t range, PureLeavesHead* head);

// The body of kDiffers with kFlagFailed: the answer if some elements that were
// asked for were not found, and an exchange over their leaves and the unknown
// ones follows.
//   sender | receiver | the number of failed leaves | bits, least significant
//   first: which of the leaves that were asked for failed, gap coded; spare
//   bits 0
struct FailedPureLeaves {
  // The elements of both sides in the leaves of the exchange. The receiver's
  // are as the sender takes them: those it was told of, and in each failed leaf
  // one less than it has itself.
  uint64_t sender = 0;
  uint64_t receiver = 0;
  std::vector<bool> failed;
};
void EncodeFailed(const FailedPureLeaves& leaves, std::string* out);
// `asked`: the number of leaves that were asked for. At least one of them
// failed.
absl::Status DecodeFailed(std::string_view body, size_t asked,
                          FailedPureLeaves* leaves);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_PURE_LEAVES_H_
