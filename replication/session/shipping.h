// Shipping, the second half of a round. Both sides know candidates, elements of
// theirs that the peer probably lacks. These are offered by key and version,
// and only what wins travels.
//
// The side that sends first leads: it offers its candidates in order of
// position. The other side follows: it answers each turn's offers by what it
// wants and by its own winners, and then sends its remaining candidates up to
// the position that the offers have reached, without those that an offer
// supersedes. It sends them as pairs if the exchange was exact; else it offers
// them, too, since the leader may hold newer ones that the filters hid. To a
// peer that holds nothing, or has no candidates, pairs are sent without offers.

#ifndef ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_
#define ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/exchange_series.h"
#include "replication/session/incoming_pairs.h"
#include "replication/session/incoming_values.h"
#include "replication/session/outgoing_pairs.h"
#include "replication/session/pair_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"
#include "replication/session/turn.h"

namespace rocksync {

// Ships the candidates of a round. Memory: that of incoming and outgoing pairs
// and values, and one bit for each offer of the peer's last turn.
class Shipping final : public RoundWork {
 public:
  // `candidates` are of the leaf batch. `options` must outlive this object.
  Shipping(const RoundContext& context, const SessionOptions* options,
           Candidates candidates);

  absl::Status Receive(MessageType type, std::string_view body) override;
  absl::Status EndTurn(bool idle) override;
  absl::Status Build(Turn* turn) override;
  bool more() const override { return outgoing_.more(); }
  bool idle() const override { return outgoing_.idle(); }
  bool complete() const override;
  bool may_end() const override;
  bool refused() const override {
    return outgoing_.left_out() > 0 || incoming_.refused() > 0;
  }
  uint64_t entries() const override {
    return outgoing_.entries() + incoming_.judged();
  }
  uint64_t in_vain() const override { return in_vain_ + outgoing_.in_vain(); }

 private:
  enum class Part : uint8_t { kUndecided, kLeads, kFollows };

  absl::Status ReceiveOffers(std::string_view body);
  absl::Status ReceiveOffer(const WirePair& pair);
  absl::Status CheckOrder(const WirePair& pair);
  absl::Status ReceivePairs(std::string_view body);
  absl::Status ReceivePair(WirePair pair);
  void CoverOwn(const Judgement& judgement);
  void BuildWants(Turn* turn);
  SendMode Terms() const;

  const RoundContext context_;
  const bool exact_;      // this side's candidates are all that the peer lacks
  const bool one_sided_;  // and the peer has nothing that beats them
  Part part_ = Part::kUndecided;

  IncomingPairs incoming_;
  IncomingValues values_;
  OutgoingPairs outgoing_;

  // The peer's offers.
  std::vector<bool> wants_;  // which ones of its last turn this side wants
  uint64_t in_vain_ = 0;     // offers that were not wanted
  bool peer_idle_ = false;
  bool peer_done_offering_ = false;
  // The last offer.
  bool any_offer_ = false;
  uint64_t offer_position_ = 0;
  uint32_t offer_family_ = 0;
  std::string offer_key_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SHIPPING_H_
