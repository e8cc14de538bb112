// Many leaves differ: parities of their counts tell at once which of them hold
// an odd number of elements more or less on the other side, close to the
// log2 C(L, k) bits that this takes. Syndromes of what is left of their symbols
// then take one symbol for each of these leaves, and two for each of the few
// others, where a Reed-Solomon code alone takes two for all. See
// docs/exchange.md, "Parities of leaves".

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITIES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITIES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/leaf_search_messages.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/parities/coupled_decoder.h"
#include "sketch/parities/coupled_parities.h"
#include "sketch/pinsketch/symbol_syndromes.h"

namespace rocksync {

class LeafParitySender {
 public:
  LeafParitySender(const SearchedLeaves& leaves, const SymbolShape& shape);

  // Returns the body of the first kParities, for about `differing` leaves, by
  // an estimate or, if `finely`, a fine one. The parities may be too few: then
  // more follow, and none was sent in vain.
  std::string First(double differing, bool finely);
  // Makes what follows when the receiver has told that about `odd` leaves are
  // odd, and what it has does not decode: `*kind` and `*body`. Returns false if
  // this was tried too often, or so many cannot be told.
  bool Next(uint64_t odd, LeafSearchKind* kind, std::string* body);
  // Takes the body of a kOfEach, and returns that of kEach in `*rest`.
  absl::Status TakeRequest(std::string_view request, std::string* rest);

  const SymbolShape& shape() const { return shape_; }

 private:
  std::string Parities(double odd);

  const SearchedLeaves leaves_;
  const SymbolShape shape_;
  double differing_ = 0;
  std::optional<CoupledParities> parities_;
  uint32_t split_ = 0;
  int attempts_ = 0;
  std::vector<uint32_t> sent_;  // syndromes of each group
};

class LeafParityReceiver {
 public:
  explicit LeafParityReceiver(const SearchedLeaves& leaves) : leaves_(leaves) {}

  // Take the bodies of kParities (`least_bits` of a symbol), kSplits and kEach.
  // Cells are bounded by the leaves and by the bytes that are there before
  // anything is allocated.
  absl::Status TakeParities(std::string_view body, int least_bits);
  absl::Status TakeSplits(std::string_view body);
  absl::Status TakeEach(std::string_view body);

  // Returns whether all is decoded. If not, Reply makes what the sender is to
  // be told.
  bool done() const { return odd_known_ && open_.empty(); }
  // Returns whether the parities are decoded.
  bool odd_known() const { return odd_known_; }
  // Returns about how many leaves are odd.
  double odd() const { return static_cast<double>(odd_); }
  // Returns whether they tell nothing: more differs than any would tell.
  bool hopeless() const { return !odd_known_ && odd_ == 0; }
  LeafSearchKind Reply(std::string* body) const;

  // Valid from the first TakeParities on that has succeeded.
  const SymbolShape& shape() const { return shape_; }
  // The leaves that differ, in no order. Values are whole symbols, of
  // shape().bits() + 1 bits. Valid once done().
  const std::vector<SymbolDifference>& differences() const {
    return differences_;
  }
  // Groups that take too many syndromes, or passes. Valid once done().
  const std::vector<uint32_t>& given_up() const { return given_up_; }

 private:
  // A group that has not been decoded.
  struct OpenGroup {
    uint32_t group = 0;
    std::vector<uint32_t> odd;        // places, ascending
    std::vector<uint32_t> syndromes;  // of the difference
    uint32_t others = 0;              // how many even leaves it is to tell, too
    uint32_t wanted() const;
  };

  void DecodeOdd();
  void OpenGroups(const std::vector<uint32_t>& odd);
  void GiveUpSome();
  void DecodeGroups();
  bool DecodeGroup(const OpenGroup& open,
                   std::vector<SymbolDifference>* decoded) const;
  void TakeGroup(const OpenGroup& open,
                 const std::vector<SymbolDifference>& decoded);

  const SearchedLeaves leaves_;
  SymbolShape shape_;
  std::unique_ptr<CoupledDecoder> decoder_;  // until the parities are decoded
  int attempts_ = 0;
  bool odd_known_ = false;
  uint64_t expected_ = 0;  // leaves that differ, by the sender's estimate
  uint64_t odd_ = 0;
  double others_a_group_ = 0;
  uint32_t passes_ = 0;  // over the groups
  uint64_t work_ = 0;    // squares of syndromes that were asked for
  std::vector<OpenGroup> open_;
  std::vector<SymbolDifference> differences_;
  std::vector<uint32_t> given_up_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITIES_H_
