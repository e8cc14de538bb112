// Listing, the second half of a round in a session that only compares. Each
// side claims what it holds of the keys that came to light, and the responder
// answers the initiator's claims with what it holds itself. So the initiator
// knows which keys differ, and how. Nothing is written.
//
// Every key that was claimed leaves the sets of both sides, whatever they hold
// of it. So if the digests of what is left are equal, every difference has been
// listed: the same proof as after shipping.

#ifndef ROCKSYNC_REPLICATION_SESSION_LISTING_H_
#define ROCKSYNC_REPLICATION_SESSION_LISTING_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/session/difference.h"
#include "replication/session/listing_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/storage_view.h"

namespace rocksync {

// Most claims in a turn, so that the answers to it are bounded.
inline constexpr size_t kMaxClaimsPerTurn = size_t{1} << 16;

// The initiator's task, and whether it knows enough.
struct VerifyProgress {
  const VerifyTask* task = nullptr;  // null for the responder
  bool enough = false;
};

// Lists the candidates of a round. Memory: the claims of one turn.
class Listing final : public RoundWork {
 public:
  // `candidates`: ordinals of the leaf batch, in order of position. At a second
  // look, which has no batch, the keys of the task are claimed instead.
  // `progress` must outlive this object.
  Listing(const RoundContext& context, VerifyProgress* progress,
          std::vector<uint32_t> candidates);

  absl::Status Receive(MessageType type, std::string_view body) override;
  absl::Status EndTurn(bool idle) override;
  absl::Status Build(Turn* turn) override;
  bool idle() const override;
  bool complete() const override;
  bool may_end() const override;
  bool refused() const override { return unreadable_ > 0; }
  uint64_t entries() const override { return sent_ + received_; }

 private:
  absl::Status ReceiveClaims(std::string_view body);
  absl::Status ReceiveClaim(const Claim& claim);
  absl::Status ReceiveHoldings(std::string_view body);
  void BuildHoldings(Turn* turn);
  absl::Status BuildClaims(Turn* turn);
  // Returns what is to be claimed next; nullopt if nothing is left.
  absl::StatusOr<std::optional<Difference>> NextClaim();
  // Returns what this side holds for a key, and removes that from its set.
  absl::StatusOr<Held> Take(uint32_t family, std::string_view key);
  void Found(Difference difference);
  bool reports() const { return progress_->task != nullptr; }

  const RoundContext context_;
  VerifyProgress* const progress_;
  const std::vector<uint32_t> candidates_;
  size_t next_candidate_ = 0;
  size_t next_key_ = 0;
  bool claimed_now_ = false;        // claimed something in this turn
  std::deque<Difference> claimed_;  // claims of the initiator, unanswered
  std::vector<Held> answers_;       // answers of the responder, to be sent
  size_t claims_of_turn_ = 0;       // claims of the peer
  bool peer_idle_ = false;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t unreadable_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_LISTING_H_
