// Leaf batches: the leaves that were found to differ are worked off some at a
// time. A side proposes a batch; the other one answers that it holds the same,
// asks for fewer leaves, or begins rounds over the batch (rounds.h). A batch
// that is over is closed. The comparison decides what follows on it
// (comparison.h).

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

// The leaf batches of one side, one after the other. Grammar of use, for each:
//   ( ( ProposeNext | Propose | ReceiveProposal Decide ProposeFewer? )+
//     | TakeAllLeaves )
//   ( ( Differ | ReceiveDiffers ) and rounds() until they are over )*
//   ( Close | Abandon )
class Batches {
 public:
  // The answer to a batch that the peer proposed.
  enum class Answer : uint8_t {
    kEqual,
    kDiffers,
    kFewer,  // too much for this side, so the batch has fewer leaves now
  };

  // `parts` must outlive this object.
  explicit Batches(ComparisonParts* parts) : parts_(parts) {}

  // Returns whether this side knows of differing leaves that are not closed.
  bool any_left() const { return !Next().empty(); }
  // Proposes some of those leaves. Returns false if there are none.
  bool ProposeNext(Turn* turn);
  // Proposes these leaves. `expected`: what differs in them.
  void Propose(std::vector<uint32_t> leaves, const Expectation& expected,
               Turn* turn);
  // Takes a batch that the peer proposes. `narrower`: a batch of this side is
  // proposed, and the peer's must have fewer leaves.
  absl::Status ReceiveProposal(std::string_view body, bool narrower);
  // Chooses the answer to the peer's proposal, without sending anything.
  Answer Decide();
  // Proposes the batch with the fewer leaves that Decide left in it.
  void ProposeFewer(Turn* turn) { SendProposal(turn); }
  // Makes a batch of all leaves, the only one: the sets are compared at once.
  void TakeAllLeaves();
  bool only() const { return only_; }
  // The leaves of the batch that is proposed or open.
  const std::vector<uint32_t>& leaves() const { return leaves_; }

  // Reads the leaves of the proposed batch while the peer has its turn, since
  // they most likely differ.
  void ReadAhead();

  // Begins a round and tells the peer, which has `peer_count` elements in the
  // batch. The first round opens the batch.
  absl::Status Differ(uint64_t peer_count, Turn* turn);
  absl::Status ReceiveDiffers(std::string_view body);
  // Takes a Differs by which the peer begins a round instead of sending a
  // summary: see Rounds.
  absl::Status ReceiveDiffersAgain(std::string_view body);
  // The rounds over the batch, or null unless it is known to differ.
  Rounds* rounds() const { return rounds_.get(); }

  // The number of elements that the peer has in the batch that it proposed.
  uint64_t peer_count() const { return peer_digest_.count; }
  // Returns whether the batch is in rounds and all other leaves are closed, and
  // equal.
  bool last() const;
  // Returns the digest of all other leaves if this is the last() batch, else 0:
  // summaries of the last batch are of everything.
  Digest Beside() const;

  // Both close the batch: both sides hold the same in it now (Close), or differ
  // only by what one of them refuses (Abandon).
  void Close();
  void Abandon();
  bool abandoned() const { return abandoned_; }

 private:
  std::vector<uint32_t> Next() const;
  // Returns the most elements of a batch on either side, by what is expected of
  // so many on both.
  size_t Most(const Expectation& expected, uint64_t elements) const;
  // Returns the digest of what this side holds in the batch now.
  Digest Held() const {
    return rounds_ ? rounds_->merged() : parts_->location.Sum(leaves_);
  }
  void SendProposal(Turn* turn);
  // Tells the exchange that this side begins over the batch what to expect.
  void Expect();
  void Open();

  ComparisonParts* const parts_;
  std::vector<uint32_t> leaves_;  // of the batch that is proposed or open
  Expectation expected_;          // what differs in leaves_
  Digest peer_digest_;            // of the batch that the peer proposed
  std::optional<LeafBatch> read_ahead_;  // the proposed batch
  bool peer_narrows_ = false;            // batches: reading ahead is in vain
  bool only_ = false;
  bool abandoned_ = false;
  std::unique_ptr<Rounds> rounds_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_BATCHES_H_
