// A whole-set round: its batch is the whole set, in which a search for leaves
// has found what differs (found_by_search.h). An exchange compares only the
// leaves, if any, that the search could not explain. What still differs after
// the round is searched for again; the comparison decides when (comparison.h).

#ifndef ROCKSYNC_REPLICATION_SESSION_WHOLE_SET_ROUND_H_
#define ROCKSYNC_REPLICATION_SESSION_WHOLE_SET_ROUND_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/leaf_search.h"
#include "replication/session/comparison_parts.h"
#include "replication/session/found_by_search.h"
#include "replication/session/rounds.h"
#include "replication/session/turn.h"

namespace rocksync {

// Most searches of a session that may tell elements by themselves
// (pure_leaves.h), as long as no leaf is closed. What differs after the last of
// them is worked off in leaf batches, which end whatever a side refuses.
inline constexpr uint32_t kMaxPureLeafSearches = 4;

// The whole-set rounds of one side. Grammar of use, after each search:
//   ( Propose ReceiveDiffers? | ReceiveProposal Differ? ) then rounds(),
//   ReceiveEnd if the peer ends them by Locate, Close
// Differ and ReceiveDiffers are left out where rounds() are open before: if no
// exchange has to compare anything, or the side that proposes has begun it. If
// the exchange is too much for the other side, Refuse follows on the proposal
// there, and Drop at the side that proposed.
class WholeSetRound {
 public:
  // `parts` must outlive this object.
  explicit WholeSetRound(ComparisonParts* parts)
      : parts_(parts),
        found_(&parts->snapshot, &parts->location, &parts->exchanges) {}

  // Returns whether such a round may follow on this search.
  bool may_propose() const {
    return parts_->location.closed_leaves() == 0 &&
           parts_->locator.locations() <= kMaxPureLeafSearches;
  }
  // Proposes a round over the leaves that differ. Sets `*proposed` to false if
  // an exchange would compare more elements than a batch has.
  absl::Status Propose(const std::vector<LeafDifference>& differences,
                       bool* proposed, Turn* turn);
  absl::Status ReceiveProposal(std::string_view body);
  // Drops the proposal: the peer takes some of the leaves as a batch instead.
  void Drop();
  // True if the peer has begun the exchange that it proposes.
  bool exchange_begins() const { return found_.exchange_begins(); }

  // Returns whether the exchange that the peer's proposal asks for is too much
  // for this side.
  bool TooLarge() const;
  // Takes no part in that exchange.
  void Refuse();
  // Returns some of the refused proposal's leaves, for a batch instead.
  // REQUIRES: they are no finer ones.
  std::vector<uint32_t> TakeFewer();
  absl::Status Differ(Turn* turn);
  absl::Status ReceiveDiffers(std::string_view body, uint8_t flags);

  // The rounds, or null unless they have begun.
  Rounds* rounds() const { return rounds_.get(); }
  // Ends the round. The peer says Locate instead of a summary, as it expects
  // that some leaves still differ. What it sent before counts.
  absl::Status ReceiveEnd();
  // About how many leaves differ after the round, and whether they are so many
  // that they are searched for without asking whether there are any.
  double leaves_left() const;
  bool surely_left() const;
  // Closes the rounds: what has been merged by now is compared from now on.
  void Close();

 private:
  // Returns whether in some of these leaves more may differ than one element.
  bool MayBeMore(const std::vector<LeafDifference>& differences) const;
  // Opens the rounds. An exchange, if there is one, compares `leaves`.
  void Open(std::vector<uint32_t> leaves);
  absl::Status BeginWithoutExchange();
  // Set what to expect of the exchange that begins: by either side
  // (ExpectSearch), or by this side (Expect).
  void ExpectSearch();
  void Expect();
  // Returns whether no round has come before this search.
  bool first() const {
    return parts_->locator.locations() == 1 || parts_->location.finer();
  }

  ComparisonParts* const parts_;
  FoundBySearch found_;
  bool expected_this_ = false;  // the previous round expected some to be left
  std::vector<uint32_t> compared_;  // leaves of the latest exchange, ascending
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_WHOLE_SET_ROUND_H_
