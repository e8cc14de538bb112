// Elements that a search for leaves finds by itself. Where one side holds one
// element more in a leaf, the leaf's symbols tell that element's keyed sum
// (leaf_symbols.h), and the side that holds it looks it up: no exchange has to
// find it.

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

// What the counts of a leaf differ by, mod 4, if that tells an element.
inline constexpr uint8_t kOneMoreHere = 1;
inline constexpr uint8_t kOneMoreThere = 3;

// What the side that knows the leaves makes of them.
struct PureLeaves {
  std::vector<PlacedElement> mine;      // the peer lacks them
  std::vector<LeafDifference> asked;    // the peer has one more there
  std::vector<LeafDifference> unknown;  // an exchange has to tell
};

// Reads the leaves in which this side has one element more. Cancelled, or what
// reading the index says. Counts elements read in the report. `leaves` are
// those of the snapshot as changed by `changes`.
absl::StatusOr<PureLeaves> ReadPureLeaves(
    const RoundContext& context, std::span<const Digest> leaves,
    const MergedChanges& changes, const SymbolKey& key,
    const std::vector<LeafDifference>& differences);

// The element of a leaf by which the leaf differs, if it differs by one element
// more here and by this keyed sum: nullopt if none fits, or several do.
// What was gained is known to the peer, and what was removed is in no set.
absl::StatusOr<std::optional<PlacedElement>> FindInLeaf(
    const RoundContext& context, uint32_t leaf, const MergedChanges& changes,
    const SymbolKey& key, uint32_t sum);

// The body of kLeafBatch with kFlagPureLeaves: nothing, or
//   4 * the number of leaves, plus 1 if some are unknown, plus 2 if some are
//   asked for
//   | elements, if some are unknown | expected | overwritten, if there are
//   both, or theirs, if all are unknown | bits, least significant first: the
//   leaves gap coded; if there are both, a bit for each, set if it is asked
//   for; the keyed sums of those; spare bits 0
struct PureLeavesHead {
  uint64_t elements = 0;     // the sender holds in the unknown leaves
  uint64_t expected = 0;     // of them and the receiver's differ, about
  uint64_t overwritten = 0;  // keys have two of these elements, about
  // The receiver's elements there as the sender takes them, which may be off by
  // a few. If all leaves are unknown the sender begins the exchange at once.
  uint64_t theirs = 0;
  // Ascending.
  std::vector<uint32_t> unknown;
  struct Question {
    uint32_t leaf = 0;
    uint32_t sum = 0;  // of the element that the receiver holds
  };
  std::vector<Question> asked;
};
// `symbol_bits`: of the search.
void EncodePureLeaves(const PureLeavesHead& head, int symbol_bits,
                      std::string* out);
absl::Status DecodePureLeaves(std::string_view body, int symbol_bits,
                              PureLeavesHead* head);

// The body of kDiffers with kFlagFailed, the answer if some elements that were
// asked for were not found, and an exchange over these and the unknown leaves
// follows:
//   sender's | receiver's | how many | bits, least significant first: which of
//   the leaves that were asked for, gap coded; spare bits 0
struct FailedPureLeaves {
  // Elements in the leaves of the exchange; the receiver's as the sender takes
  // them: those it was told of, and in each of these leaves one less than it
  // has itself.
  uint64_t sender = 0;
  uint64_t receiver = 0;
  std::vector<bool> failed;
};
void EncodeFailed(const FailedPureLeaves& finds, std::string* out);
// `asked`: leaves that were asked for. At least one of them failed.
absl::Status DecodeFailed(std::string_view body, size_t asked,
                          FailedPureLeaves* finds);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_PURE_LEAVES_H_
