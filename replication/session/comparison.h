// What two replicas differ in: summaries of the whole sets and the answers to
// them, down to the leaves in which the sets differ. These are worked off, and
// the whole is compared again. This moves from stage to stage (stages.h); what
// is said and merged there is the part's that handles the stage.

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
  const Digest& total() const { return parts_.location.total(); }

  // Unavailable: it cannot go on, as a family came or went.
  absl::Status CheckHolds() const {
    return parts_.snapshot.storage().CheckHolds();
  }

  // Whether a message may follow on what was said last.
  bool Expects(MessageType type, uint8_t flags) const;
  // A message that is expected. No other may follow in a turn once answering().
  absl::Status Receive(MessageType type, uint8_t flags, std::string_view body);
  absl::Status EndTurn(MessageType last, bool idle);
  absl::Status Build(Turn* turn);
  // While the peer has its turn.
  void ReadAhead() {
    if (stage_ == Stage::kBatchSent) batches_.ReadAhead();
  }

  // The peer summarised, and it is for this side to answer.
  bool answering() const { return Answers(stage_); }
  // After Build: the same turn may go on with another piece.
  bool more() const { return stage_ == Stage::kRound && rounds()->more(); }
  // After Build: nothing is left to send but answers to what comes.
  bool idle() const { return work() != nullptr && work()->idle(); }
  bool over() const { return stage_ == Stage::kOver; }
  // Why it is over, unless both sides hold the same.
  std::optional<EndReason> end() const { return end_; }

 private:
  absl::Status ReceiveLocate(std::string_view body, uint8_t flags);
  absl::Status ReceiveProposal(std::string_view body, uint8_t flags);
  absl::Status ReceiveDiffers(std::string_view body, uint8_t flags);

  // In this side's turn, one for each stage that is answered.
  absl::Status Answer(Turn* turn);
  absl::Status AnswerHello(Turn* turn);
  absl::Status AnswerTotal(Turn* turn);
  absl::Status AnswerProposal(Turn* turn);
  absl::Status AnswerRound(Turn* turn);

  // `expected`: see LeafLocator.
  absl::Status Locate(double expected, Turn* turn);
  // Unless the session has to end. A whole-set round is over.
  absl::Status LocateAgain(Turn* turn);
  absl::Status Choose(Turn* turn);
  absl::Status BuildRound(Turn* turn);
  absl::Status BuildSecondLook(Turn* turn);
  absl::Status Summarise(Turn* turn);
  absl::Status SendEqual(Turn* turn);
  absl::Status End(EndReason reason);

  // Those that are open, or null.
  Rounds* rounds() const {
    return whole_set_.rounds() ? whole_set_.rounds() : batches_.rounds();
  }
  // Null unless something is shipped or listed.
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
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_COMPARISON_H_
