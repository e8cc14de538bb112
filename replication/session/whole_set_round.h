// A whole-set round: its batch is the whole set, of which a search for leaves
// has found what differs (found_by_search.h). An exchange compares only the
// leaves of which the search could not tell, if there are any. What differs
// still after the round is searched for again; the comparison decides when
// (comparison.h).

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

// Searches of a session that may tell elements by themselves (pure_leaves.h),
// as long as no leaf is closed. What differs after the last of them is worked
// off leaf by leaf, which ends whatever a side refuses.
inline constexpr uint32_t kMaxSearchesWithFinds = 3;

// Grammar of use, after each search:
//   ( Propose ReceiveDiffers? | ReceiveProposal Differ? ) then rounds(),
//   ReceiveEnd if the peer ends them by Locate, Close
// Differ and ReceiveDiffers are left out where rounds() are open before: if no
// exchange has to tell of anything, or the side that proposes has begun it. If
// the exchange is too much for the other side, Drop and TakeFewer follow on the
// proposal.
class WholeSetRound {
 public:
  // `parts` must outlive it.
  explicit WholeSetRound(ComparisonParts* parts)
      : parts_(parts),
        found_(&parts->snapshot, &parts->location, &parts->exchanges) {}

  // After this search.
  bool may_propose() const {
    return parts_->location.closed_leaves() == 0 &&
           parts_->locator.locations() <= kMaxSearchesWithFinds;
  }
  // This side knows the leaves that differ. `*proposed` is false if an exchange
  // had to tell of more elements than a batch has.
  absl::Status Propose(const std::vector<LeafDifference>& differences,
                       bool* proposed, Turn* turn);
  absl::Status ReceiveProposal(std::string_view body);
  // The peer takes some of the leaves as a batch instead.
  void Drop();
  // The peer has begun the exchange that it proposes.
  bool exchange_begins() const { return found_.exchange_begins(); }

  // The exchange that the peer's proposal asks for is too much for this side.
  bool TooLarge() const;
  // Some of its leaves, for a batch instead.
  std::vector<uint32_t> TakeFewer();
  absl::Status Differ(Turn* turn);
  absl::Status ReceiveDiffers(std::string_view body, uint8_t flags);

  // Null unless they have begun.
  Rounds* rounds() const { return rounds_.get(); }
  // The peer says Locate instead of a summary, as it knows that some leaves
  // differ still. What it sent before counts.
  absl::Status ReceiveEnd();
  // About how many leaves differ after the round; so many that they are
  // searched for without asking whether there are any.
  double leaves_left() const;
  bool surely_left() const;
  // What has been merged by now is what is compared from now on.
  void Close();

 private:
  // An exchange, if there is one, compares `leaves`.
  void Open(std::vector<uint32_t> leaves);
  absl::Status BeginWithoutExchange();
  // Of the exchange that begins, by either side, and that this side begins.
  void ExpectSearch();
  void Expect();

  ComparisonParts* const parts_;
  FoundBySearch found_;
  bool expected_this_ = false;  // by the round before, which left leaves
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_WHOLE_SET_ROUND_H_
