// The rounds of one leaf batch. A round is an exchange, which finds what either
// side may lack, then shipping, or listing if the session only compares. Rounds
// follow until both sides hold the same, or it is clear that they will not.

#ifndef ROCKSYNC_REPLICATION_SESSION_ROUNDS_H_
#define ROCKSYNC_REPLICATION_SESSION_ROUNDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/exchange_series.h"
#include "replication/session/leaf_batch.h"
#include "replication/session/listing.h"
#include "replication/session/messages.h"
#include "replication/session/round_work.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Of one batch of leaves before the session gives up, and searches for leaves
// in one session: bounds against a peer that never agrees.
inline constexpr uint32_t kMaxRounds = 64;

// If an exchange leaves more, another round follows without asking whether the
// sides differ.
inline constexpr double kSurelyLeft = 1.5;

struct RoundsContext {
  PartContext part;
  SessionSnapshot* snapshot = nullptr;
  ExchangeSeries* exchanges = nullptr;
  VerifyProgress* verify = nullptr;
};

// Grammar of use:
//   ( ( Differ | DifferAgain | Begin | ReceiveDiffers | ReceiveDiffersAgain )
//     ( Build | Receive* EndTurn )* )*
// A round is over when complete(), or when the peer says so: EndRound.
class Rounds {
 public:
  // What to say to the peer's summary of a round.
  enum class Answer : uint8_t {
    kEqual,
    kDiffers,  // another round
    kRefused,  // all is there but what one side refuses or cannot read
    kGaveUp,
    kExpired,
  };

  // `leaves`: ascending, as changed by `changes`, which must outlive it.
  Rounds(const RoundsContext& context, std::vector<uint32_t> leaves,
         const MergedChanges* changes)
      : context_(context), leaves_(std::move(leaves)), changes_(changes) {}

  // Before the first round: the leaves as read ahead.
  void TakeBatch(LeafBatch batch) { read_ = std::move(batch); }

  // Before the first round: makes the batch the whole set, of this digest (the
  // peer's has `peer_total` elements, of which at most `peer_count` differ). An
  // exchange, if there is one, covers the leaves alone; `found` is shipped
  // without one. There is one round, and Decide is not asked.
  void CoverWholeSet(const Digest& total, uint64_t peer_total,
                     uint64_t peer_count, std::vector<PlacedElement> found);

  // Begins a round and says so. The peer has `peer_count` elements in the
  // batch. `failed`: what is said, instead of a count, of finds that failed.
  absl::Status Differ(uint64_t peer_count, std::string_view failed, Turn* turn);
  // After the first round: so much is probably left that another one follows at
  // once. Then one side begins it, DifferAgain, and the other is told so. The
  // exchange takes the two to have as many elements.
  bool may_differ_again() const { return rounds_ == 1; }
  bool surely_left() const;
  absl::Status DifferAgain(Turn* turn) {
    return Differ(batch_.merged().count, "", turn);
  }
  absl::Status ReceiveDiffersAgain(uint64_t count);
  // Begins one of which the peer has been told.
  absl::Status Begin(uint64_t peer_count);
  // The peer, which has `peer_count` elements in the batch, begins one.
  // `own_count`: see NewExchange.
  absl::Status ReceiveDiffers(uint64_t peer_count,
                              std::optional<uint64_t> own_count);
  // Both sides begin a round without an exchange: all is found.
  absl::Status BeginFound();

  // kPayload while an exchange goes on, else what RoundWork takes.
  absl::Status Receive(MessageType type, std::string_view body);
  absl::Status EndTurn(bool idle);
  absl::Status Build(Turn* turn);

  // An exchange goes on.
  bool exchanging() const { return exchanging_; }
  // A round had an exchange.
  bool exchanged() const { return exchanged_; }
  // Null unless something is shipped or listed.
  const RoundWork* work() const { return work_.get(); }
  // After Build: the same turn may go on with another piece.
  bool more() const { return work_ && work_->more(); }
  // After Build.
  bool complete() const { return work_ && work_->complete(); }
  // Once a whole-set round is over.
  MergedChanges Changes() const { return batch_.Changes(); }
  void EndRound();

  // What this side holds in the batch by now, once a round has begun.
  const Digest& merged() const { return batch_.merged(); }
  // In how many elements the two sides differed, between rounds: pairs that one
  // side lacked count once, pairs that were replaced twice.
  double Differences() const;
  // This side refused or could not read a pair.
  bool refused() const { return refused_; }
  // After a round, of which the peer says what it holds, and the same of pairs.
  Answer Decide(const Digest& peer, bool peer_refuses) const;

 private:
  absl::Status Prepare();
  void BeginExchange(Role role, uint64_t peer_count,
                     std::optional<uint64_t> own_count);
  void BeginWork();
  void BeginWork(Candidates candidates);
  void Foresee(const Candidates& candidates);
  // Elements that this side and the peer compare: of the batch, or of all.
  uint64_t mine() const {
    return found_ ? found_->total.count : batch_.hashes().size();
  }
  uint64_t theirs() const { return found_ ? found_->peer_total : peer_count_; }

  const RoundsContext context_;
  std::vector<uint32_t> leaves_;  // until the first round reads them
  std::optional<LeafBatch> read_;
  const MergedChanges* changes_;
  struct Found {
    Digest total;
    uint64_t peer_total = 0;
    uint64_t peer_count = 0;
    std::vector<PlacedElement> elements;
  };
  std::optional<Found> found_;  // of a whole-set round
  std::vector<uint32_t> found_ordinals_;
  LeafBatch batch_;
  bool exchanging_ = false;
  bool exchanged_ = false;
  uint64_t peer_count_ = 0;  // in the round that runs
  double both_counts_ = 0;   // before the first one
  uint64_t entries_ = 0;     // of the rounds that are over, but those in vain
  std::unique_ptr<RoundWork> work_;

  uint32_t rounds_ = 0;
  uint32_t idle_rounds_ = 0;  // the latest ones, in which no pair was sent
  bool refused_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ROUNDS_H_
