// The second half of a round in a session that only compares: each side claims
// what it holds of the keys that came to light, the responder answers the
// initiator's claims with what it holds itself, and so the initiator knows
// which keys differ, and how. Nothing is written.
//
// Every key that was claimed leaves the sets of both sides, whatever they hold
// of it. So if the digests of what is left are equal, every difference has been
// listed: the same proof as after shipping.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_LISTING_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_LISTING_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/protocol/difference.h"
#include "replication/protocol/exchange.h"
#include "replication/protocol/leaf_batch.h"
#include "replication/protocol/listing_coding.h"
#include "replication/protocol/round_work.h"
#include "replication/protocol/session.h"
#include "replication/protocol/storage_view.h"

namespace rocksync {

// A turn holds no more claims, so that the answers to it are bounded.
inline constexpr size_t kMaxClaimsPerTurn = size_t{1} << 16;

struct ListingContext {
  Role role = Role::kInitiator;
  StorageView* storage = nullptr;
  const StorageSnapshot* snapshot = nullptr;
  const std::function<bool()>* cancelled = nullptr;
  SessionReport* report = nullptr;
  const VerifyTask* task = nullptr;  // of the initiator
  // Of a leaf batch; null at a second look, which claims the keys of the task.
  LeafBatch* batch = nullptr;
  bool* enough = nullptr;   // set once the task wants to know no more
  uint64_t peer_count = 0;  // elements the peer has in the batch
};

// Memory: the claims of one turn.
class Listing final : public RoundWork {
 public:
  // `candidates`: ordinals into the leaf batch, ascending; empty without one.
  Listing(const ListingContext& context, std::vector<uint32_t> candidates);

  absl::Status Receive(MessageType type, std::string_view body) override;
  absl::Status EndTurn(bool idle) override;
  absl::Status Build(Turn* turn) override;
  bool idle() const override;
  bool complete() const override;
  bool may_end() const override;
  bool unsettled() const override { return unreadable_ > 0; }
  uint64_t entries() const override { return sent_ + received_; }

 private:
  absl::Status ReceiveClaims(std::string_view body);
  absl::Status ReceiveClaim(const Claim& claim);
  absl::Status ReceiveHoldings(std::string_view body);
  void BuildHoldings(Turn* turn);
  absl::Status BuildClaims(Turn* turn);
  // What is to be claimed next; nullopt: nothing any more.
  absl::StatusOr<std::optional<Difference>> NextClaim();
  // What this side holds for a key, which leaves its set.
  absl::StatusOr<Held> Take(uint32_t family, std::string_view key);
  void Found(Difference difference);
  bool reports() const { return context_.role == Role::kInitiator; }

  const ListingContext context_;
  const std::vector<uint32_t> candidates_;
  size_t next_candidate_ = 0;
  size_t next_key_ = 0;
  bool claimed_now_ = false;        // in this turn
  std::deque<Difference> claimed_;  // by the initiator, unanswered
  std::vector<Held> answers_;       // of the responder, to be sent
  size_t claims_of_turn_ = 0;       // of the peer
  bool peer_idle_ = false;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t unreadable_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_LISTING_H_
