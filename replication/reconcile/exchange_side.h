// What the planner and the answerer of an adaptive exchange share: messages in
// and out, filters sent and tested, and the elements still undecided.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SIDE_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SIDE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/exchange_filter.h"
#include "replication/reconcile/exchange_key_parities.h"
#include "replication/reconcile/exchange_messages.h"
#include "sketch/pinsketch/keyed_set.h"
#include "sketch/planning/difference_estimate.h"

namespace rocksync {

// Purposes of an exchange's mappings beside kFilterPurpose (see DeriveMapping).
// The index is 0; 1 for the fine estimate, 2 for that of keys.
inline constexpr uint32_t kShortIdPurpose = 2;
inline constexpr uint32_t kEstimatePurpose = 3;

// Slack of the ids of the first sketch, which both sides must know without
// being told: usually, and if round trips matter.
inline constexpr int kProbeSlack = 9;
inline constexpr int kHurriedProbeSlack = 14;
// Power sums of the first sketch, and how many come before an estimate.
inline constexpr uint32_t kProbeSums = 3;
inline constexpr uint32_t kLongProbeSums = 16;
// A side filters first if it has less than 1 / kLopsided of the other's
// elements.
inline constexpr uint64_t kLopsided = 4;

// Returns true if the side with `few` elements should filter at once.
constexpr bool IsLopsided(uint64_t few, uint64_t many) {
  return few < many / kLopsided;
}

// What one side of an exchange is given.
struct ExchangeContext {
  ExchangeOptions options;
  MappingSeed seed;
  std::span<const ElementHash> mine;
  // Both counts are at most kMaxKeyedElements. own_count is that of `mine`, as
  // the peer takes it.
  uint64_t own_count = 0;
  uint64_t peer_count = 0;
  std::span<const uint64_t> positions = {};  // of keys, or none
  bool hurry() const { return options.prefer == Prefer::kRoundTrips; }
};

class ExchangeSide : public Exchange {
 public:
  bool NextPayload(std::string* out) final;
  absl::Status Receive(std::string_view payload) final;
  bool done() const final { return ended_ && !Speaking(); }
  const std::vector<uint32_t>& missing_there() const final { return missing_; }
  const ExchangeReport& report() const final { return report_; }

 protected:
  // `role` chooses the mappings of filters: the planner has Role::kInitiator's.
  ExchangeSide(Role role, const ExchangeContext& context);

  // Takes a whole message other than a filter.
  virtual absl::Status OnMessage(ExchangeKind kind, std::string_view body) = 0;
  // Called when the peer's filter has been tested; `head` was its head.
  virtual absl::Status OnFilter(const FilterHead& head) = 0;

  void Send(ExchangeKind kind, std::string_view body);
  // Sends a filter of the undecided elements, or, for a rate of 1, its absence.
  void SendFilter(double rate);
  // Marks elements that are known to be missing at the peer: they take no
  // further part.
  void Close(const std::vector<uint32_t>& ordinals);
  // Marks, by ordinal, the elements that take no further part.
  const std::vector<bool>& closed() const { return filtered_; }
  // Releases the set that a sketch compares, until it is asked for again.
  void ReleaseOpen() { open_.reset(); }
  // Ends the exchange once everything queued is sent: missing_there() becomes
  // what the filters found and `found`.
  void End(std::vector<uint32_t> found);

  // An estimate begins with parities of all elements. If one side has much
  // more, much depends on whether nearly all differences are on that side:
  // finer parities follow then.
  ParityShape EstimateShape() const;
  bool EstimatesFinely() const;
  // A rough estimate of how many keys only one side has comes last.
  bool EstimatesKeys() const;
  ParityShape KeyEstimateShape() const;
  FineShape FineEstimateShape() const;
  size_t EstimateBytes() const;
  std::string EstimateParities() const;
  std::string KeyEstimateParities() const;

  // Returns true if parities of keys are a choice.
  bool has_keys() const { return !positions_.empty() && !hurry(); }
  KeyedElements keyed() const { return {mine_, positions_, seed_}; }

  // The undecided elements: their number, and the set of them under the mapping
  // of short ids. Testing a filter voids the set.
  uint64_t open_count() const { return mine_.size() - found_by_filter_; }
  KeyedSet* open();
  bool hurry() const { return options_.prefer == Prefer::kRoundTrips; }
  int probe_slack() const { return hurry() ? kHurriedProbeSlack : kProbeSlack; }

  const Role role_;
  const ExchangeOptions options_;
  const MappingSeed seed_;
  const std::span<const ElementHash> mine_;
  const std::span<const uint64_t> positions_;
  const uint64_t own_count_;
  const uint64_t peer_count_;
  uint64_t found_by_filter_ = 0;
  bool filter_received_ = false;
  double received_rate_ = 1;  // false positive rate of the peer's filter
  bool filter_sent_ = false;
  ExchangeReport report_;

 private:
  bool Speaking() const;
  MappingKey FilterKey(Role sender) const;
  absl::Status ReceiveFilter(ExchangeKind kind, std::string_view body);

  ExchangeOutbox outbox_;
  ExchangeInbox inbox_;
  std::unique_ptr<FilterSender> filter_out_;
  FilterHead filter_in_head_;
  std::unique_ptr<FilterTester> filter_in_;
  std::vector<bool> filtered_;  // by ordinal: found missing before the sketch
  std::unique_ptr<KeyedSet> open_;
  bool ended_ = false;
  std::vector<uint32_t> missing_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SIDE_H_
