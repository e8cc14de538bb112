// What both roles of an adaptive exchange share: messages in and out, filters
// sent and tested, and the elements still undecided.

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

// Purposes of the mappings of an exchange beside kFilterPurpose (see
// DeriveMapping); the index is 0.
inline constexpr uint32_t kShortIdPurpose = 2;
inline constexpr uint32_t kEstimatePurpose = 3;

// Slack of the ids of the first sketch, which both sides must know without
// being told; and the same for short round trips.
inline constexpr int kProbeSlack = 9;
inline constexpr int kHurriedProbeSlack = 14;
// Power sums of the first sketch, and how many before an estimate is asked.
inline constexpr uint32_t kProbeSums = 3;
inline constexpr uint32_t kLongProbeSums = 16;
// One side that holds this many times less than the other filters first.
inline constexpr uint64_t kLopsided = 4;

// True if the side with `few` elements should filter at once.
constexpr bool IsLopsided(uint64_t few, uint64_t many) {
  return few < many / kLopsided;
}

// What an exchange is about.
struct ExchangeContext {
  ExchangeOptions options;
  MappingSeed seed;
  std::span<const ElementHash> mine;
  // Both at most kMaxKeyedElements. The first: of `mine`, as the peer takes it.
  uint64_t own_count = 0;
  uint64_t peer_count = 0;
  std::span<const uint64_t> positions = {};  // of keys, or none
  bool hurry() const { return options.prefer == Prefer::kRoundTrips; }
};

class ExchangeSide : public Exchange {
 public:
  bool NextPayload(std::string* out) final;
  absl::Status Receive(std::string_view payload) final;
  bool done() const final { return finished_ && !Speaking(); }
  const std::vector<uint32_t>& missing_there() const final { return missing_; }
  const ExchangeReport& report() const final { return report_; }

 protected:
  // The planner has the mappings of Role::kInitiator.
  ExchangeSide(Role role, const ExchangeContext& context);

  // A whole message other than a filter.
  virtual absl::Status OnMessage(ExchangeKind kind, std::string_view body) = 0;
  // The peer's filter is done with; `head` was its head.
  virtual absl::Status OnFilter(const FilterHead& head) = 0;

  void Send(ExchangeKind kind, std::string_view body);
  // Sends a filter of the undecided elements, or its absence for a rate of 1.
  void SendFilter(double rate);
  // Elements that are known to lack over there take no further part.
  void Close(const std::vector<uint32_t>& ordinals);
  // Those that take none any more, by ordinal.
  const std::vector<bool>& closed() const { return filtered_; }
  // Gives back what the finish compares, until it is asked for again.
  void ReleaseOpen() { open_.reset(); }
  // The exchange ends once everything queued is sent: missing_there() becomes
  // what the filters found and `found`.
  void Finish(std::vector<uint32_t> found);

  // The parities of all elements that an estimate takes. Where one side has
  // much more, much depends on whether nearly all differences are on that side:
  // finer ones come on top.
  ParityShape EstimateShape() const;
  bool EstimatesFinely() const;
  // A rough estimate of how many keys only one side has comes last.
  bool EstimatesKeys() const;
  ParityShape KeyEstimateShape() const;
  FineShape FineEstimateShape() const;
  size_t EstimateBytes() const;
  std::string EstimateParities() const;
  std::string KeyEstimateParities() const;

  // Parities of keys are a choice.
  bool has_keys() const { return !positions_.empty() && !hurry(); }
  KeyedElements keyed() const { return {mine_, positions_, seed_}; }

  // The undecided elements, and these under the mapping of short ids. A filter
  // that has been tested voids the set.
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
  double received_rate_ = 1;  // its false positive rate
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
  std::vector<bool> filtered_;  // by ordinal: found missing before the finish
  std::unique_ptr<KeyedSet> open_;
  bool finished_ = false;
  std::vector<uint32_t> missing_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SIDE_H_
