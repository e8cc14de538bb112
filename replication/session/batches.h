// Leaf batches: the leaves that were found to differ, worked off some at a
// time. A side proposes a batch; the other one holds the same, asks for fewer
// leaves, or begins rounds over it (rounds.h). A batch that is over is closed.
// What follows on it is for the comparison to decide (comparison.h).

#ifndef ROCKSYNC_REPLICATION_SESSION_BATCHES_H_
#define ROCKSYNC_REPLICATION_SESSION_BATCHES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/comparison_parts.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/rounds.h"
#include "replication/session/turn.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Grammar of use, for each batch:
//   ( ( ProposeNext | Propose | ReceiveProposal ReadAnswer )+ | TakeAllLeaves )
//   ( ( Differ | ReceiveDiffers ) and rounds() until they are over )*
//   ( Close | Abandon )
class Batches {
 public:
  // What to say to a batch that the peer proposed.
  enum class Answer : uint8_t {
    kEqual,
    kDiffers,
    kFewer,  // it is too much for this side, and has fewer leaves now
  };

  // `parts` must outlive it.
  explicit Batches(ComparisonParts* parts) : parts_(parts) {}

  // This side knows of leaves that are not closed.
  bool any_left() const { return !Next().empty(); }
  // Proposes some of them; false: there are none.
  bool ProposeNext(Turn* turn);
  // `expected`: what differs in them.
  void Propose(std::vector<uint32_t> leaves, const Expectation& expected,
               Turn* turn);
  // While a batch of this side is proposed: it must have fewer leaves than
  // that, `narrower`.
  absl::Status ReceiveProposal(std::string_view body, bool narrower);
  // Nothing is said yet.
  Answer Decide();
  // Says that it has fewer leaves.
  void ProposeFewer(Turn* turn) { SendProposal(turn); }
  // The sets are compared at once: the only batch has all leaves.
  void TakeAllLeaves();
  bool only() const { return only_; }
  // Of the batch that is proposed or open.
  const std::vector<uint32_t>& leaves() const { return leaves_; }

  // While the peer has its turn: the leaves of a batch that was proposed most
  // likely differ, and are read then.
  void ReadAhead();

  // A round begins, at the first of which they open; the peer has `peer_count`
  // elements in the batch.
  absl::Status Differ(uint64_t peer_count, Turn* turn);
  absl::Status ReceiveDiffers(std::string_view body);
  // The peer begins one instead of a summary: Rounds.
  absl::Status ReceiveDiffersAgain(std::string_view body);
  // Null unless the batch is known to differ.
  Rounds* rounds() const { return rounds_.get(); }

  // The elements of the peer in the batch that it proposed.
  uint64_t peer_count() const { return peer_digest_.count; }
  // A batch in rounds beside which all leaves are closed, and equal.
  bool last() const;
  // What this side holds beside such a batch: then both are told of all.
  Digest Beside() const;

  // Both sides hold the same in it now, or differ by what one of them refuses.
  void Close();
  void Abandon();
  bool abandoned() const { return abandoned_; }

 private:
  std::vector<uint32_t> Next() const {
    return parts_->location.NextBatch(
        parts_->locator.peer_total(),
        parts_->context.options->max_batch_elements);
  }
  // What this side holds in the batch now.
  Digest Held() const {
    return rounds_ ? rounds_->merged() : parts_->location.Sum(leaves_);
  }
  void SendProposal(Turn* turn);
  // What the exchange that this side begins over the batch is told.
  void Expect();
  void Open();

  ComparisonParts* const parts_;
  std::vector<uint32_t> leaves_;  // of the batch that is proposed or open
  Expectation expected_;          // of them
  Digest peer_digest_;            // of the batch that the peer proposed
  std::optional<LeafBatch> read_ahead_;  // of a batch that is proposed
  bool peer_narrows_ = false;            // one that was read ahead
  bool only_ = false;
  bool abandoned_ = false;
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_BATCHES_H_
