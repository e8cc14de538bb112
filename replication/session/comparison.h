// The comparison of two replicas: summaries of the whole sets and the answers
// to them, down to the leaves in which the sets differ. The leaves are worked
// off, and the whole sets are compared again. A comparison moves from stage to
// stage (stages.h); the part that handles a stage decides what is said and
// merged there.

#ifndef ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_
#define ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/batches.h"
#include "replication/session/comparison_parts.h"
#include "replication/session/exchange_series.h"
#include "replication/session/listing.h"
#include "replication/session/messages.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/stages.h"
#include "replication/session/summaries.h"
#include "replication/session/turn.h"
#include "replication/session/whole_set_round.h"
#include "sketch/element/digest.h"

namespace rocksync {

// One side of a comparison. Grammar of use, once Hello was said or received:
//   ( Build | Receive* EndTurn )* until over()
// A second look (VerifyTask) needs no summaries: its keys are listed at once.
class Comparison {
 public:
  // `hello` is that of the initiator.
  Comparison(Role role, const PartContext& context, const Hello& hello,
             ExchangeSeries exchanges, SessionSnapshot snapshot);

  // The digest of what this side holds, with the leaves of closed batches as
  // merged.
  const Digest& total() const { return parts_.location.total(); }

  // Returns Unavailable if the comparison cannot go on, as a family was created
  // or dropped.
  absl::Status CheckHolds() const {
    return parts_.snapshot.storage().CheckHolds();
  }

  // Returns whether a message may follow on what was said last.
  bool Expects(MessageType type, uint8_t flags) const;
  // Takes a message that is expected. No other may follow in the same turn once
  // answering().
  absl::Status Receive(MessageType type, uint8_t flags, std::string_view body);
  absl::Status EndTurn(MessageType last, bool idle);
  absl::Status Build(Turn* turn);
  // Reads ahead while the peer has its turn.
  void ReadAhead() {
    if (stage_ == Stage::kBatchSent) batches_.ReadAhead();
  }

  // True if the peer has sent a summary that this side has to answer.
  bool answering() const { return Answers(stage_); }
  // True after Build if the same turn may go on with another piece.
  bool more() const { return stage_ == Stage::kRound && rounds()->more(); }
  // True after Build if nothing is left to send but answers to what comes.
  bool idle() const { return work() != nullptr && work()->idle(); }
  bool over() const { return stage_ == Stage::kOver; }
  // Why the comparison is over, unless both sides hold the same.
  std::optional<EndReason> end() const { return end_; }

 private:
  absl::Status ReceiveLocate(std::string_view body, uint8_t flags);
  absl::Status ReceiveFinerLocate(std::string_view body);
  absl::Status ReceiveProposal(std::string_view body, uint8_t flags);
  absl::Status ReceiveDiffers(std::string_view body, uint8_t flags);

  // Answer the peer in this side's turn, one function for each stage.
  absl::Status Answer(Turn* turn);
  absl::Status AnswerHello(Turn* turn);
  absl::Status AnswerTotal(Turn* turn);
  absl::Status AnswerProposal(Turn* turn);
  absl::Status AnswerRound(Turn* turn);

  // Says Locate. `expected`: see LeafLocator.
  absl::Status Locate(double expected, Turn* turn);
  // Says Locate again, unless the session has to end. Closes the whole-set
  // round, if one is open.
  absl::Status LocateAgain(Turn* turn);
  absl::Status Choose(Turn* turn);
  // Says Locate for a search in finer leaves, if that pays, and sets `*finer`.
  absl::Status LocateFiner(Turn* turn, bool* finer);
  absl::Status BuildRound(Turn* turn);
  absl::Status BuildSecondLook(Turn* turn);
  absl::Status Summarise(Turn* turn);
  absl::Status SendEqual(Turn* turn);
  absl::Status End(EndReason reason);

  // The rounds that are open, or null.
  Rounds* rounds() const {
    return whole_set_.rounds() ? whole_set_.rounds() : batches_.rounds();
  }
  // The work that ships or lists something now, or null.
  const RoundWork* work() const {
    return rounds() ? rounds()->work() : second_look_.get();
  }

  ComparisonParts parts_;
  Batches batches_;
  WholeSetRound whole_set_;
  Summaries summaries_;
  std::unique_ptr<Listing> second_look_;

  Stage stage_ = Stage::kHelloSent;
  std::optional<EndReason> end_;
  bool peer_batches_ = false;  // the initiator's set is too large for one batch
  // So many elements the initiator compares at once.
  uint64_t peer_batch_elements_ = uint64_t{1} << kAssumedBatchBits;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_
