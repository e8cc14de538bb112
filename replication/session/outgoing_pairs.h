// Outgoing pairs, those that this side offers or sends: candidates, which are
// offered or sent unasked; winners, which answer an offer of the peer; and
// pairs that the peer wants. A pair that cannot be read, or is too large for a
// peer, is left out and counted.

#ifndef ROCKSYNC_REPLICATION_SESSION_OUTGOING_PAIRS_H_
#define ROCKSYNC_REPLICATION_SESSION_OUTGOING_PAIRS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/candidate_reader.h"
#include "replication/session/pair_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"
#include "replication/session/turn.h"

namespace rocksync {

// Larger values are cut into chunks of this size.
inline constexpr size_t kChunkBytes = size_t{256} << 10;
static_assert(kChunkBytes >= kLeastChunkBytes);

// How candidates may be sent now.
struct SendMode {
  bool as_pairs = false;           // at once, without offers
  std::optional<uint64_t> before;  // only those at positions before this
};

// Sends the pairs of a round. Memory: the offers and values of one piece of a
// turn, four bytes for each candidate and winner, and, less than their exchange
// took, either values that are read ahead and kept until they are wanted, or
// entries in order of their keys (CandidateReader::NextByKey).
class OutgoingPairs {
 public:
  // `candidates`: ordinals of the leaf batch, in order of position. `options`
  // must outlive this object.
  OutgoingPairs(const RoundContext& context, const SessionOptions* options,
                std::vector<uint32_t> candidates);

  // Adds a winner: an element of the batch that beats what the peer offered, or
  // probably does. With `contested`, at equal versions, the peer compares and
  // may answer with its own pair. A winner is sent unasked.
  void AddWinner(uint32_t ordinal, bool contested) {
    winners_.push_back({ordinal, contested});
  }

  // Takes the peer's answer to the offers of the last turn.
  absl::Status ReceiveWants(std::string_view body);

  // Builds a piece of a turn: values that the peer wants, then pairs, then
  // offers. A pair that has begun goes on before all others, since chunks name
  // no pair. `turn_begins`: this is the first piece.
  absl::Status Build(const SendMode& terms, bool turn_begins, Turn* turn);

  // True after Build if the piece was full before all was sent.
  bool more() const { return more_; }
  // True if nothing is left to be sent.
  bool idle() const {
    return owed_.empty() && winners_.empty() && !begun_ &&
           candidates_.all_are_covered();
  }
  // True if offers of the last turn are unanswered.
  bool unanswered() const { return !offered_.empty(); }
  // True if the last turn sent something that the peer may answer.
  bool awaits_answer() const { return awaits_answer_; }

  uint64_t entries() const { return entries_; }  // sent, in whatever form
  uint64_t in_vain() const { return in_vain_; }  // offers not wanted
  uint64_t left_out() const { return left_out_; }

 private:
  OutgoingPairs(const RoundContext& context, const SessionOptions* options,
                std::vector<uint32_t> candidates, size_t max_bytes);

  // A pair that is being sent.
  struct Outgoing {
    IndexEntry entry;
    std::string value;
    bool cached = false;      // `value` is in memory
    bool on_request = false;  // the value was not in the offer
    bool contested = false;   // the peer may answer with its own pair
    size_t sent = 0;          // bytes of the value that went as chunks

    std::string_view rest() const {
      return std::string_view(value).substr(sent);
    }
  };
  struct Winner {
    uint32_t ordinal = 0;
    bool contested = false;
  };

  absl::Status BuildValues(Turn* turn);
  absl::Status BuildPairs(const SendMode& terms, Turn* turn);
  absl::Status BuildOffers(const SendMode& terms, Turn* turn);
  absl::StatusOr<bool> NextPair(const SendMode& terms, Outgoing* pair);
  absl::StatusOr<bool> Offer(uint32_t ordinal, PairEncoder* encoder);
  // Sends chunks until a tail of at most kChunkBytes is left; returns false if
  // the turn was full before.
  bool SendChunks(Outgoing* pair, Turn* turn);

  // Reads an element. Returns false if it cannot be read or is too large: it is
  // then left out.
  absl::StatusOr<bool> Fetch(uint32_t ordinal, Outgoing* out);
  absl::StatusOr<bool> FetchValue(Outgoing* out);
  absl::StatusOr<bool> TakeValue(absl::StatusOr<std::string> value,
                                 Outgoing* out);
  bool IsOversized(const Outgoing& pair) const;
  // Counts a pair that cannot be read as left out; returns false.
  bool Unread();

  const RoundContext context_;
  const SessionOptions* const options_;
  const size_t max_kept_;  // bytes of values in offered_ and owed_
  CandidateReader candidates_;
  std::deque<Winner> winners_;
  std::deque<Outgoing> offered_;   // in the last turn, unanswered
  std::deque<Outgoing> owed_;      // wanted, to be sent
  size_t cached_bytes_ = 0;        // of values kept in offered_ and owed_
  std::optional<Outgoing> begun_;  // the pair of which chunks have gone
  uint64_t entries_ = 0;
  uint64_t in_vain_ = 0;
  uint64_t left_out_ = 0;
  bool awaits_answer_ = false;
  bool more_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_OUTGOING_PAIRS_H_
