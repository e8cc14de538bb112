// A search finds which leaves of two replicas differ. An exchange (exchange.h)
// over hashes of leaves would find them too, but it takes them for unknown
// 128-bit values. Here both sides know all leaves, and learn in which of 2^16
// places two sequences of short symbols differ, at 2 w bits a place for symbols
// of w bits, 8 to 32. w is log2 of the leaves in a group plus 1, or more if
// leaves hold many elements or round trips matter. Where many differ, parities
// tell first which (leaf_parities.h), at half of that. See docs/exchange.md,
// "Search for leaves".

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_estimate.h"
#include "replication/reconcile/leaf_groups.h"
#include "replication/reconcile/leaf_parities.h"
#include "replication/reconcile/leaf_search_messages.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/digest.h"
#include "sketch/element/mapping.h"
#include "sketch/pinsketch/symbol_syndromes.h"

namespace rocksync {

// Purpose of the mapping of a search's symbols, beside the purposes of an
// exchange; index 0.
inline constexpr uint32_t kLeafSymbolPurpose = 5;

// From this share of differing leaves on, working off all leaves costs less
// than telling the differing ones apart saves.
inline constexpr double kMaxLeavesSearched = 0.25;

struct LeafSearchOptions {
  Prefer prefer = Prefer::kBytes;
  // Elements of the initiator per leaf, on average: the same on both sides.
  uint64_t per_leaf = 0;
  // About how many leaves differ, if the initiator knows, as after a search
  // before this one; 0 if not. It sizes the probe.
  double expected = 0;
  // If more leaves seem to differ than this share, all of them count as found.
  double most = kMaxLeavesSearched;
  // Elements have keys. All leaves count as found, too, if nearly all that
  // differs are overwritten keys and parities of keys over all elements save
  // more bytes than their reading costs.
  bool may_send_key_parities = false;
  // This side has the memory to send and decode parities of leaves, some 80
  // bytes a leaf.
  bool parities = true;
  // The search begins with these, for the `expected` leaves, without a probe:
  // the same on both sides. If they do not tell them, all leaves count as
  // found.
  bool at_once = false;
  // For tests: parities wherever they are possible.
  bool eager = false;
};

// One side of a search, used by the grammar of an Exchange. Only the side that
// decodes is ever done(); it then tells the other what it found, which ends the
// search there. missing_there() are leaves that differ, whichever side has more
// there: nearly all of them, and seldom one that does not. If too many seem to
// differ, it is every leaf that is not closed. The report's
// estimated_differences are then elements in these leaves, 0 if unknown, and
// estimated_overwritten keys.
class LeafSearch final : public Exchange {
 public:
  // `leaves` are digests, a power of two of them, which must outlive the
  // search. `closed` are leaves that take no part, the same ones on both sides.
  LeafSearch(Role role, const LeafSearchOptions& options,
             const MappingSeed& seed, std::span<const Digest> leaves,
             const std::vector<bool>& closed);
  LeafSearch(const LeafSearch&) = delete;
  LeafSearch& operator=(const LeafSearch&) = delete;

  bool NextPayload(std::string* out) override;
  absl::Status Receive(std::string_view payload) override;
  bool done() const override { return done_; }
  const std::vector<uint32_t>& missing_there() const override { return found_; }
  const ExchangeReport& report() const override { return report_; }

  // Returns how the leaves of missing_there() differ, in their order; empty if
  // that is not known of all of them. Valid once done().
  const std::vector<LeafDifference>& differences() const {
    return differences_;
  }
  // Returns whether this side has found that hardly any of the leaves that
  // differ have another count: their keys are overwritten. The peer that gives
  // the search up takes them for new ones.
  bool seem_overwritten() const { return overwritten_; }
  // The mapping key and the width in bits of the symbols.
  const MappingKey& symbol_key() const { return leaves_.symbol_key; }
  int symbol_bits() const;

 private:
  absl::Status ReceiveProbe(std::string_view body);
  absl::Status ReceiveEstimate(std::string_view parities);
  absl::Status ReceiveSums(std::string_view body);
  absl::Status ReceiveMore(std::string_view body);
  absl::Status ReceiveRest(std::string_view body);

  bool hurry() const { return prefer_ == Prefer::kRoundTrips; }
  uint32_t leaf_count() const { return groups_.shape().leaves; }

  void SendProbe(double expected);
  bool AskForParities();
  // Returns false, and sends nothing, if so many leaves cannot be told, or not
  // in fewer bits than `most_bits`.
  bool SendParities(const LeafEstimate& estimate, double most_bits);
  void DropParities();
  absl::Status ReceiveOdd(std::string_view body);
  // Parities were refused, or do not tell which of about so many leaves.
  void GoOnWithoutParities(double differing);
  absl::Status ReceiveOfEach(std::string_view body);
  absl::Status ReceiveParities(LeafSearchKind kind, std::string_view body);
  void AnswerParities();

  void Send(LeafSearchKind kind, std::string_view body);
  void SendSums(const LeafEstimate& estimate);
  // At least `pairs` pairs of syndromes of each group, or none if that is 0,
  // and fine parities for about `expected` leaves, or none.
  void SendSyndromes(const SymbolShape& shape, uint32_t pairs,
                     uint64_t expected);
  bool ReadingAllPays(const LeafEstimate& estimate) const;
  // Ends the search or asks for more syndromes.
  void TakeGroups();
  // Returns how a leaf differs. `value` is both sides' symbols added in the
  // field.
  LeafDifference Explain(uint32_t leaf, uint32_t value) const;
  // Counts every leaf of the group that is not closed as found.
  void TakeWhole(const SymbolShape& shape, uint32_t group);
  void Finish(const SymbolShape& shape,
              std::span<const SymbolDifference> differences,
              std::span<const uint32_t> given_up);
  void GiveUp(const LeafEstimate& estimate);
  void SetExpected(const Expectation& expected);

  const Role role_;
  const Prefer prefer_;
  const std::vector<bool> closed_;
  const SearchedLeaves leaves_;  // a view of closed_
  const double most_;
  const bool may_send_key_parities_;
  const bool parities_;
  const bool at_once_;
  const bool eager_;
  const uint64_t per_leaf_;
  const LeafEstimator estimator_;

  enum class Part : uint8_t { kUnknown, kSends, kDecodes };
  Part part_ = Part::kUnknown;
  bool probed_ = false;  // a probe was sent or has come
  LeafGroups groups_;
  std::unique_ptr<LeafParitySender> parity_sender_;
  std::unique_ptr<LeafParityReceiver> parity_receiver_;
  bool tried_parities_ = false;
  bool asked_parities_ = false;     // by this side
  bool in_place_of_probe_ = false;  // the search began with parities
  bool overwritten_ = false;
  // By fine parities, at the side that decodes; none if it tells of no leaf.
  LeafEstimate finely_;
  std::string outgoing_;  // the payload to send next, if not empty
  bool done_ = false;
  std::vector<LeafDifference> differences_;
  std::vector<uint32_t> found_;
  ExchangeReport report_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_SEARCH_H_
