// The groups into which a search cuts leaves, and syndromes of their symbols
// (sketch/pinsketch/symbol_syndromes.h). One side sends syndromes of each
// group; the other adds its own, which gives those of the difference, decodes
// what can be decoded, and asks for more of the groups that cannot. See
// docs/exchange.md, "Search for leaves".

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUPS_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUPS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_search_messages.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/digest.h"
#include "sketch/pinsketch/symbol_syndromes.h"

namespace rocksync {

// Returns syndromes first .. first + count - 1 of these groups, group after
// group. Closed leaves have the symbol 0.
std::vector<uint32_t> GroupSyndromes(
    const SearchedLeaves& leaves, const SymbolShape& shape,
    std::span<const uint32_t> groups,
    absl::FunctionRef<uint32_t(const Digest&)> symbol, uint32_t first,
    uint32_t count);

// Returns whether some of these places, of the group that begins with the leaf
// `first`, are closed leaves: then syndromes were decoded to what is not so.
bool AnyClosed(const SearchedLeaves& leaves, uint32_t first,
               std::span<const SymbolDifference> differences);

class LeafGroups {
 public:
  // A single group, open. `shape` has the number of leaves.
  LeafGroups(const SearchedLeaves& leaves, const SymbolShape& shape,
             Prefer prefer);

  // Cuts the leaves anew: all groups are open, and no syndrome is known. What
  // has been decoded stays, and passes count on.
  void Cut(int group_bits);
  const SymbolShape& shape() const { return shape_; }
  // How many pairs of syndromes of each open group were sent, or have come.
  uint32_t pairs() const { return pairs_; }

  // At the side that sends: appends the next syndromes of each group, so that
  // `pairs` pairs of them are sent.
  void Send(uint32_t pairs, std::string* out);
  // Takes the body of a kMore, and returns that of kRest in `*rest`.
  absl::Status TakeRequest(std::string_view request, std::string* rest);

  // At the side that decodes: takes the syndromes of a probe, whose result is
  // used only with a pair to spare.
  void TakeProbe(std::span<const uint32_t> theirs);
  // Fine parities tell that about so many leaves differ.
  void set_expected(double differing) { expected_ = differing; }
  // Takes the first syndromes of each group, or those that follow on a probe's.
  void Take(std::span<const uint32_t> theirs);
  // Takes the body of a kRest.
  absl::Status TakeRest(std::string_view body);
  // Returns whether no group is left that has not been decoded or given up.
  bool done() const { return open_.empty(); }
  // Asks for the first syndromes of all groups.
  void AskForFirst();
  // Returns the body of a kMore. Valid after Take, TakeRest or AskForFirst
  // unless done().
  std::string Request() const;

  // How the leaves of decoded groups differ: `place` is a leaf, `value` both
  // sides' symbols added in the field.
  const std::vector<SymbolDifference>& differences() const {
    return differences_;
  }
  // Groups that take too many syndromes, or passes.
  const std::vector<uint32_t>& given_up() const { return given_up_; }

 private:
  struct OpenGroup {
    uint32_t group = 0;
    std::vector<uint32_t> syndromes;  // of the difference; empty at the sender
  };

  // Returns syndromes first .. first + count - 1 of the open groups.
  std::vector<uint32_t> Syndromes(uint32_t first, uint32_t count) const;
  void Add(std::span<const uint32_t> theirs);
  // Decodes what can be decoded with `spare` pairs more than that takes, and
  // returns the numbers of differing leaves in these groups.
  std::vector<uint32_t> Decode(uint32_t spare);
  bool TakeGroup(uint32_t group, std::span<const SymbolDifference> differences);
  bool InVain() const;
  void Ask(std::span<const uint32_t> decoded);

  const SearchedLeaves leaves_;
  const bool hurry_;
  SymbolShape shape_;
  std::vector<OpenGroup> open_;
  uint32_t pairs_ = 0;
  double expected_ = 0;
  uint32_t passes_ = 0;  // of decoding
  uint32_t asked_ = 0;   // for more syndromes
  MoreSyndromes more_;   // the request
  std::vector<SymbolDifference> differences_;
  std::vector<uint32_t> given_up_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUPS_H_
