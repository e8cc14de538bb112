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
#include "replication/session/message_type.h"
#include "replication/session/round_work.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"
#include "sketch/element/digest.h"

namespace rocksync {

// Most rounds of one leaf batch before the session gives up: a bound against a
// peer that never agrees.
inline constexpr uint32_t kMaxRounds = 64;

// If more differences than this are expected to be left, what follows begins
// without asking whether the sides differ: another round, or a search for
// leaves.
inline constexpr double kSurelyLeft = 1.5;

struct RoundsContext {
  PartContext part;
  SessionSnapshot* snapshot = nullptr;
  ExchangeSeries* exchanges = nullptr;
  VerifyProgress* verify = nullptr;
};

// The rounds of one side. Grammar of use:
//   ( ( Differ | DifferAgain | Begin | BeginFound | ReceiveDiffers |
//       ReceiveDiffersAgain ) ( Build | Receive* EndTurn )* )*
// A round is over when complete(), or when the peer says so: then EndRound.
class Rounds {
 public:
  // The answer to the peer's summary of a round.
  enum class Answer : uint8_t {
    kEqual,
    kDiffers,  // another round
    kRefused,  // both hold all but what one side refuses or cannot read
    kGaveUp,
    kExpired,
  };

  // `leaves` ascend. They are read as changed by `changes`, which must outlive
  // this object.
  Rounds(const RoundsContext& context, std::vector<uint32_t> leaves,
         const MergedChanges* changes)
      : context_(context), leaves_(std::move(leaves)), changes_(changes) {}

  // Takes the leaves as read ahead. REQUIRES: no round has begun.
  void TakeBatch(LeafBatch batch) { read_ = std::move(batch); }

  // Makes the batch the whole set, whose digest is `total`. The peer's set has
  // `peer_total` elements, of which at most `peer_count` differ. An exchange,
  // if there is one, covers the leaves alone; `found` is shipped without one.
  // There is one round, and of the answers of Decide only kEqual counts.
  // REQUIRES: no round has begun.
  void CoverWholeSet(const Digest& total, uint64_t peer_total,
                     uint64_t peer_count, std::vector<PlacedElement> found);

  // Begins a round and tells the peer, which has `peer_count` elements in the
  // batch. `failed`: the body about pure leaves that failed, sent instead of a
  // count unless it is empty.
  absl::Status Differ(uint64_t peer_count, std::string_view failed, Turn* turn);
  // After the first round another one follows at once if much is probably left
  // (kSurelyLeft). Then one side begins it (DifferAgain), and the other one is
  // told so (ReceiveDiffersAgain). The exchange takes both sides to have the
  // same number of elements.
  bool may_differ_again() const { return rounds_ == 1; }
  bool surely_left() const;
  absl::Status DifferAgain(Turn* turn) {
    return Differ(batch_.merged().count, "", turn);
  }
  absl::Status ReceiveDiffersAgain(uint64_t count);
  // Begins a round of which the peer has been told.
  absl::Status Begin(uint64_t peer_count);
  // Joins a round that the peer, which has `peer_count` elements in the batch,
  // begins. `own_count`: see NewExchange.
  absl::Status ReceiveDiffers(uint64_t peer_count,
                              std::optional<uint64_t> own_count);
  // Begins a round without an exchange, on both sides: all is found.
  absl::Status BeginFound();

  // Takes kPayload while an exchange runs, else what RoundWork takes.
  absl::Status Receive(MessageType type, std::string_view body);
  absl::Status EndTurn(bool idle);
  absl::Status Build(Turn* turn);

  // True while an exchange runs.
  bool exchanging() const { return exchanging_; }
  // True if a round had an exchange.
  bool exchanged() const { return exchanged_; }
  // The work that ships or lists something now, or null.
  const RoundWork* work() const { return work_.get(); }
  // True after Build if the same turn may go on with another piece.
  bool more() const { return work_ && work_->more(); }
  // True after Build if everything has been sent, and everything has come.
  bool complete() const { return work_ && work_->complete(); }
  // Returns what a whole-set round, which is over, has changed.
  MergedChanges Changes() const { return batch_.Changes(); }
  void EndRound();

  // The digest of what this side holds in the batch by now, once a round has
  // begun.
  const Digest& merged() const { return batch_.merged(); }
  // Returns in how many elements the two sides differed: pairs that one side
  // lacked count once, pairs that were replaced twice. REQUIRES: no round is
  // open.
  double Differences() const;
  // True if this side refused or could not read a pair.
  bool refused() const { return refused_; }
  // Decides the answer after a round: the peer says that it holds `peer`, and
  // whether it refused or could not read a pair.
  Answer Decide(const Digest& peer, bool peer_refuses) const;

 private:
  absl::Status Prepare();
  void BeginExchange(Role role, uint64_t peer_count,
                     std::optional<uint64_t> own_count);
  void BeginWork();
  void BeginWork(Candidates candidates);
  void Foresee(const Candidates& candidates);
  // The numbers of elements that this side and the peer compare: of the batch,
  // or of the whole set.
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
  double both_counts_ = 0;   // elements of both sides before the first one
  uint64_t entries_ = 0;     // of rounds that are over, less those in vain
  std::unique_ptr<RoundWork> work_;

  uint32_t rounds_ = 0;
  uint32_t idle_rounds_ = 0;  // the latest in a row without a pair sent
  bool refused_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_ROUNDS_H_
