// What two replicas differ in: summaries of the whole sets and the answers to
// them, down to the leaves in which the sets differ. These are worked off batch
// by batch (rounds.h), and the whole is compared again.

#ifndef ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_
#define ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/exchange_series.h"
#include "replication/session/found_by_search.h"
#include "replication/session/leaf_locator.h"
#include "replication/session/listing.h"
#include "replication/session/location.h"
#include "replication/session/messages.h"
#include "replication/session/rounds.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Searches of a session that may tell elements by themselves (finds.h), as long
// as no leaf is closed. What differs after the last of them is worked off leaf
// by leaf, which ends whatever a side refuses.
inline constexpr uint32_t kMaxSearchesWithFinds = 3;

// Grammar of use, once Hello was said or received:
//   ( Build | Receive* EndTurn )* until over()
// A second comparison (VerifyTask) summarises nothing: its keys are listed at
// once.
class Comparison {
 public:
  // `hello`: of the initiator.
  Comparison(Role role, const PartContext& context, const Hello& hello,
             ExchangeSeries exchanges, SessionSnapshot snapshot);

  // What this side holds, the leaves of batches that are over as merged.
  const Digest& total() const { return location_.total(); }

  // Whether a message may follow on what was said last.
  bool Expects(MessageType type, uint8_t flags) const;
  // A message that is expected. No other may follow in a turn once answering().
  absl::Status Receive(MessageType type, uint8_t flags, std::string_view body);
  absl::Status EndTurn(MessageType last, bool idle);
  absl::Status Build(Turn* turn);
  // While the peer has its turn: the leaves of a batch that was proposed most
  // likely differ, and are read then.
  void ReadAhead();

  // The peer summarised, and it is for this side to answer.
  bool answering() const {
    return stage_ == Stage::kHelloReceived || stage_ == Stage::kBatchReceived ||
           stage_ == Stage::kFindsReceived || stage_ == Stage::kRoundReceived ||
           stage_ == Stage::kTotalReceived;
  }
  // After Build: the same turn may go on with another piece.
  bool more() const { return stage_ == Stage::kRound && rounds_->more(); }
  // After Build: nothing is left to send but answers to what comes.
  bool idle() const { return work() != nullptr && work()->idle(); }
  bool over() const { return stage_ == Stage::kOver; }
  // Why it is over, unless both sides hold the same.
  std::optional<EndReason> end() const { return end_; }

 private:
  // A summary that was said awaits the peer's answer; one that was received is
  // answered in this side's turn.
  enum class Stage : uint8_t {
    kHelloSaid,
    kHelloReceived,
    kLocating,  // an exchange runs over the leaves
    kChoosing,  // the side that has the turn proposes the next batch
    kBatchSaid,
    kBatchReceived,
    kFindsSaid,  // the batch is the whole set: found_by_search.h
    kFindsReceived,
    kRound,  // of the batch, which may be of all leaves and is known to differ
    kRoundSaid,
    kRoundReceived,
    kTotalSaid,
    kTotalReceived,
    kListing,  // a second look
    kOver,
  };

  // Summaries, and the whole sets.
  absl::Status Answer(Turn* turn);
  absl::Status AnswerHello(Turn* turn);
  absl::Status AnswerTotal(Turn* turn);
  absl::Status Summarise(Turn* turn);
  absl::Status ReceiveSummary(std::string_view body, uint8_t flags);
  absl::Status ReceiveEqual(std::string_view body);
  absl::Status SayEqual(Turn* turn);
  absl::Status Prove();
  absl::Status End(EndReason reason);

  // The leaves.
  // `expected`: see LeafLocator.
  void Locate(double expected, Turn* turn);
  absl::Status ReceiveLocate(std::string_view body, uint8_t flags);
  void Locating();
  // The peer says which leaves it has found, or that there are none.
  void StopSearching();

  // The whole set as a batch, of which a search has found what differs.
  absl::Status ProposeFinds(const std::vector<LeafDifference>& differences,
                            bool* proposed, Turn* turn);
  absl::Status ReceiveFinds(std::string_view body);
  absl::Status AnswerFinds(Turn* turn);
  bool MayProposeFinds() const {
    return location_.closed_leaves() == 0 &&
           locator_.locations() <= kMaxSearchesWithFinds;
  }
  void OpenWideRounds(std::vector<uint32_t> leaves);
  absl::Status BeginFoundRound();
  absl::Status AnswerWideRound(Turn* turn);
  absl::Status LocateAgain(Turn* turn);
  absl::Status EndWideRound();
  // About how many leaves differ after this round.
  double LeavesLeft() const {
    return found_.leaves_left() +
           (rounds_->exchanged() ? exchanges_.PlacesLeft() : 0);
  }
  void CloseWideRounds();
  bool wide() const { return rounds_ && rounds_->wide(); }

  // Batches of them.
  absl::Status Choose(Turn* turn);
  void Propose(Turn* turn);
  absl::Status ReceiveBatch(std::string_view body);
  // What the exchange that this side begins over the batch is told.
  void Expect();
  absl::Status AnswerBatch(Turn* turn);
  absl::Status BuildRound(Turn* turn);
  absl::Status AnswerRound(Turn* turn);
  absl::Status ReceiveDiffers(std::string_view body, uint8_t flags);
  absl::Status ReceiveDiffersInFinds(std::string_view body, uint8_t flags);
  absl::Status Differ(Turn* turn);
  void OpenRounds();
  void CloseBatch();
  std::vector<uint32_t> NextBatch() const {
    return location_.NextBatch(locator_.peer_total(),
                               context_.options->max_batch_elements);
  }
  Digest BatchDigest() const {
    return rounds_ ? rounds_->merged() : location_.Sum(leaves_);
  }

  absl::Status BuildSecondLook(Turn* turn);

  bool awaiting() const {
    return stage_ == Stage::kHelloSaid || stage_ == Stage::kBatchSaid ||
           stage_ == Stage::kFindsSaid || stage_ == Stage::kRoundSaid ||
           stage_ == Stage::kTotalSaid;
  }
  // Of what a summary or an answer to it is now.
  bool of_all() const { return !locating_ || !rounds_ || wide() || last(); }
  // A batch beside which all leaves are closed, and equal.
  bool last() const {
    return rounds_ && !wide() && !abandoned_ &&
           location_.closed_leaves() + leaves_.size() == location_.leaf_count();
  }
  // What this side holds beside the batch.
  Digest BesideBatch() const {
    return last() ? total() - location_.Sum(leaves_) : Digest{};
  }
  bool searching() const {
    return locator_.searching() && stage_ == Stage::kLocating;
  }
  bool exchanging() const {
    return rounds_ ? rounds_->exchanging() : stage_ == Stage::kLocating;
  }
  // Null unless something is shipped or listed.
  const RoundWork* work() const {
    return rounds_ ? rounds_->work() : second_look_.get();
  }
  bool TooLarge(uint64_t elements) const {
    return elements > context_.options->max_batch_elements;
  }

  const PartContext context_;
  ExchangeSeries exchanges_;
  SessionSnapshot snapshot_;
  Location location_;
  LeafLocator locator_;
  VerifyProgress verify_;

  Stage stage_ = Stage::kHelloSaid;
  std::optional<EndReason> end_;
  Digest peer_digest_;         // what the peer summarised,
  bool peer_refuses_ = false;  // and whether it kept a pair of the batch back
  bool locating_ = false;      // in batches of leaves, not all leaves at once
  bool abandoned_ = false;     // a batch was abandoned
  FoundBySearch found_;        // between finds and the answer to them
  std::vector<uint32_t> leaves_;  // of the batch that is proposed or open
  Expectation expected_;          // of them
  std::optional<LeafBatch> read_ahead_;  // of a batch that is proposed
  bool peer_narrows_ = false;            // one that was read ahead
  std::optional<Rounds> rounds_;  // of the batch, once it is known to differ
  std::unique_ptr<Listing> second_look_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_
