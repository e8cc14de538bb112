// The second half of a round: both sides know candidates, elements of theirs
// that the peer probably lacks. They are offered by key and version, and only
// what wins travels.
//
// The side that sends first leads: it offers its candidates in order of
// position. The other answers each turn's offers by what it wants and by its
// own winners, and follows with its remaining candidates up to where the
// offers have come: those that an offer supersedes are left out. If the
// exchange was exact it sends them as pairs, else it offers them too, since
// the leader may hold newer ones that the filters hid. To a peer that holds
// nothing, or has no candidates, pairs are sent without offers.

#ifndef ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_
#define ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/candidate_reader.h"
#include "replication/session/exchange_series.h"
#include "replication/session/incoming_pairs.h"
#include "replication/session/pair_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"
#include "replication/session/turn.h"

namespace rocksync {

// Larger values are cut into chunks of this size.
inline constexpr size_t kChunkBytes = size_t{256} << 10;

// Memory: the offers and values of one piece of a turn, as much that is read
// ahead, one value of max_value_bytes, and four bytes for each candidate and
// winner.
class Shipping final : public RoundWork {
 public:
  // `candidates` are of the leaf batch. `options` must outlive it.
  Shipping(const RoundContext& context, const SessionOptions* options,
           Candidates candidates);

  absl::Status Receive(MessageType type, std::string_view body) override;
  absl::Status EndTurn(bool idle) override;
  absl::Status Build(Turn* turn) override;
  bool more() const override { return more_; }
  bool idle() const override;
  bool complete() const override;
  bool may_end() const override;
  bool refused() const override {
    return unreadable_ > 0 || oversized_ > 0 || incoming_.refused() > 0;
  }
  uint64_t entries() const override {
    return sent_entries_ + incoming_.judged();
  }
  uint64_t in_vain() const override { return in_vain_; }

 private:
  enum class Part : uint8_t { kUndecided, kLeads, kFollows };
  // One of my pairs on its way.
  struct Outgoing {
    IndexEntry entry;
    std::string value;
    bool cached = false;      // `value` is there
    bool on_request = false;  // the value was not in the offer
    bool contested = false;   // the peer may answer with its own pair
    size_t sent = 0;          // bytes of the value that went as chunks
  };
  // One of my elements that beats what the peer offered, or probably does: at
  // equal versions the peer compares, and may answer with its own.
  struct Winner {
    uint32_t ordinal = 0;
    bool contested = false;
  };
  // A pair whose value was asked for.
  struct Wanted {
    Pair pair;
    uint64_t value_size = 0;
    std::optional<uint32_t> own;
  };

  absl::Status ReceiveOffers(std::string_view body);
  absl::Status ReceiveOffer(const WirePair& pair);
  absl::Status ReceiveWants(std::string_view body);
  absl::Status ReceiveValues(std::string_view body);
  absl::Status ReceiveValue(std::string_view rest);
  absl::Status ReceiveChunk(std::string_view body);
  absl::Status ReceivePairs(std::string_view body);
  absl::Status CheckOrder(const WirePair& pair);
  void CoverOwn(const Judgement& judgement);

  void BuildWants(Turn* turn);
  absl::Status BuildValues(Turn* turn);
  absl::Status BuildPairs(Turn* turn);
  absl::Status BuildOffers(Turn* turn);
  // My candidates travel as pairs, unasked.
  bool direct() const {
    return context_.peer_count == 0 || one_sided_ ||
           (part_ == Part::kFollows && exact_);
  }
  absl::StatusOr<bool> NextPair(Outgoing* pair);
  absl::StatusOr<bool> Offer(uint32_t ordinal, PairEncoder* encoder);
  std::optional<uint32_t> NextCandidate();
  // False if the element does not read or is too large: it is then left out and
  // counted.
  absl::StatusOr<bool> Fetch(uint32_t ordinal, Outgoing* out);
  absl::StatusOr<bool> FetchValue(Outgoing* out);
  absl::StatusOr<bool> TakeValue(absl::StatusOr<std::string> value,
                                 Outgoing* out);
  bool IsOversized(const Outgoing& pair) const;
  // Sends chunks until a tail of at most kChunkBytes is left; false if the
  // turn was full before.
  bool SendChunks(Outgoing* pair, Turn* turn);
  // So many bytes of an offer, whose message was counted as a whole, are of a
  // key that is wanted and of a value.
  void CountOffered(size_t key_bytes, size_t value_bytes);

  const RoundContext context_;
  const SessionOptions* const options_;
  IncomingPairs incoming_;
  const bool exact_;      // candidates_ are all that the peer lacks
  const bool one_sided_;  // and the peer has nothing that beats them
  Part part_ = Part::kUndecided;

  // Mine, on their way out.
  CandidateReader candidates_;
  std::deque<Winner> winners_;
  std::deque<Outgoing> offered_;   // in my last turn, unanswered
  size_t cached_bytes_ = 0;        // of values kept in offered_ and owed_
  std::deque<Outgoing> owed_;      // wanted, to be sent
  std::optional<Outgoing> begun_;  // chunks of it have gone, as a pair
  uint64_t sent_entries_ = 0;
  uint64_t in_vain_ = 0;
  uint64_t unreadable_ = 0;
  uint64_t oversized_ = 0;
  bool awaits_answer_ = false;  // this turn sent what the peer may answer
  bool more_ = false;           // the piece was full before all was sent

  // The peer's, on their way in.
  std::vector<bool> wants_;  // of the offers of its last turn
  std::deque<Wanted> wanted_;
  size_t wanted_before_turn_ = 0;
  std::string chunks_;
  uint64_t chunk_bytes_ = 0;  // those that were thrown away included
  bool peer_idle_ = false;
  bool peer_done_offering_ = false;
  bool any_offer_ = false;
  uint64_t offer_position_ = 0;
  uint32_t offer_family_ = 0;
  std::string offer_key_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_
