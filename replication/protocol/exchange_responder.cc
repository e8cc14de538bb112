#include "replication/protocol/exchange_responder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "replication/protocol/exchange_header.h"
#include "sketch/coding.h"
#include "sketch/cost_model.h"
#include "sketch/difference_estimate.h"
#include "sketch/distributed_bloom_filter.h"
#include "sketch/sketch_schedule.h"

namespace rocksync {
namespace {

// After this many passes over one sketch the rest is left to a retry.
constexpr uint32_t kMaxPasses = 10;
// If that many hidden elements are expected, there will be a retry anyway, and
// the last groups, one of kLeaveShare at most, are left to it.
constexpr double kSureRetry = 2;
constexpr uint32_t kLeaveShare = 16;

}  // namespace

ExchangeResponder::ExchangeResponder(const ExchangeOptions& options,
                                     const MappingSeed& seed,
                                     std::span<const ElementHash> mine,
                                     uint64_t peer_count)
    : ExchangeSide(Role::kResponder, options, seed, mine, peer_count) {}

absl::Status ExchangeResponder::TakePreamble(std::string_view* payload) {
  bool message_follows = false;
  const absl::Status status =
      GetExchangeHeader(payload, &options_, &message_follows);
  if (!status.ok()) return status;
  if (options_.mode != ExchangeMode::kAdaptive) {
    return absl::InvalidArgumentError("unexpected exchange mode");
  }
  if (message_follows) {
    if (payload->empty()) {
      return absl::InvalidArgumentError("exchange payload truncated");
    }
    return absl::OkStatus();
  }
  const uint64_t largest = std::max<uint64_t>(
      mine_.size(), std::min<uint64_t>(peer_count_, kMaxKeyedElements));
  finish_ = std::make_unique<FinishDecoder>(
      open(), SingleGroupShape(largest, probe_slack()),
      static_cast<int64_t>(mine_.size()) -
          static_cast<int64_t>(
              std::min<uint64_t>(peer_count_, kMaxKeyedElements)));
  probing_ = true;
  if (payload->empty()) {
    SendEstimate();
    return absl::OkStatus();
  }
  const std::string_view sums = *payload;
  payload->remove_prefix(payload->size());
  return TakeSums(sums);
}

absl::Status ExchangeResponder::OnMessage(ExchangeKind kind,
                                          std::string_view body) {
  switch (kind) {
    case ExchangeKind::kSketch: {
      IdShape shape;
      const uint64_t total = open()->size() + peer_count_;
      const uint32_t max_groups = static_cast<uint32_t>(
          std::min<uint64_t>(total, kMaxKeyedElements) + 1);
      const absl::Status status = GetIdShape(&body, max_groups, &shape);
      if (!status.ok()) return status;
      finish_ = std::make_unique<FinishDecoder>(open(), shape, std::nullopt);
      probing_ = false;
      passes_ = 0;
      found_.clear();
      return TakeSums(body);
    }
    case ExchangeKind::kExtend:
      if (finish_ == nullptr || finish_->pending() == 0) {
        return absl::InvalidArgumentError("power sums without a sketch");
      }
      return TakeSums(body);
    case ExchangeKind::kAskFilter: {
      uint8_t rate = 0;
      if (!GetFixed8(&body, &rate) || !body.empty() || filter_sent_) {
        return absl::InvalidArgumentError("wrong request for a filter");
      }
      probing_ = false;
      SendFilter(RateFromCode(rate));
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("message of the other role");
  }
}

absl::Status ExchangeResponder::TakeSums(std::string_view bytes) {
  if (++passes_ > kMaxPasses) {
    return absl::InvalidArgumentError("too many passes");
  }
  const absl::Status status = finish_->TakeSums(bytes, &found_);
  if (!status.ok()) return status;
  for (const uint32_t size : finish_->decoded_sizes()) decoded_ += size;
  const uint32_t failed = static_cast<uint32_t>(finish_->pending());
  if (failed == 0) {
    Send(ExchangeKind::kAnswer, finish_->Answer(false, 0));
    EndFinish();
    return absl::OkStatus();
  }
  report_.retries += failed;
  uint32_t next = 0;
  if (probing_ && finish_->sums() < kLongProbeSums) {
    next = kLongProbeSums;
  } else if (probing_) {
    SendEstimate();
    return absl::OkStatus();
  } else {
    const uint32_t aim =
        filter_sent_ || filter_received_ ? kPassesAfterFilters : kPasses;
    const uint32_t left = aim > passes_ ? aim - passes_ : 1;
    next = NextSums(finish_->sums(), finish_->decoded_sizes(), failed, left,
                    hurry());
    next = std::min(next, kMaxSums);
    const bool leave = passes_ >= aim && ExpectedLeft() > kSureRetry &&
                       failed < finish_->shape().groups / kLeaveShare;
    if (leave || finish_->sums() == kMaxSums || passes_ == kMaxPasses) next = 0;
  }
  Send(ExchangeKind::kPartial, finish_->Answer(true, next));
  if (next == 0) EndFinish();
  return absl::OkStatus();
}

// An element is hidden if another has its id.
double ExchangeResponder::ExpectedLeft() {
  const IdShape& shape = finish_->shape();
  return static_cast<double>(decoded_) * static_cast<double>(open()->size()) /
         shape.groups * std::exp2(-shape.bits);
}

void ExchangeResponder::SendEstimate() {
  probing_ = false;
  passes_ = 0;
  if (mine_.size() < peer_count_ / kLopsided) {
    // All of the peer's surplus is missing here: filter at once.
    const double n1 = static_cast<double>(mine_.size());
    const double n2 = static_cast<double>(peer_count_);
    const FilterPlan plan = PlanFilters(n1, n1 / 4, n2, n2 - 0.75 * n1,
                                        ChooseSlack(options_.pair_bytes));
    if (plan.first_rate < 1) {
      SendFilter(plan.first_rate);
      return;
    }
  }
  const ParityShape shape =
      ShapeParities(mine_.size() + peer_count_, estimate_buckets());
  Send(ExchangeKind::kEstimate,
       Parities(mine_, DeriveMapping(seed_, kEstimatePurpose, 0), shape));
}

absl::Status ExchangeResponder::OnFilter(const FilterHead& head) {
  if (filter_sent_) {  // it was asked for, or sent on our own: only the count
    std::string body;
    PutVarint64(&body, found_by_filter_);
    Send(ExchangeKind::kFound, body);
    return absl::OkStatus();
  }
  // The initiator's filter was passed by the common elements and a share of
  // the missing ones. What is open beyond its count is missing for sure.
  const double found = static_cast<double>(found_by_filter_);
  const double rate = received_rate_;
  const double left = found * rate / std::max(1 - rate, 1e-9);
  const double common =
      std::max(static_cast<double>(open()->size()) - left, 0.0);
  const double missing_there =
      std::max(static_cast<double>(peer_count_) - common, 0.0);
  SendFilter(PlanLastFilter(static_cast<double>(open()->size()), missing_there,
                            left, ChooseSlack(options_.pair_bytes)));
  return absl::OkStatus();
}

void ExchangeResponder::EndFinish() {
  report_.plan = "answered";
  report_.expected_left =
      ExpectedLeft() + 1.1 * static_cast<double>(finish_->pending()) *
                           static_cast<double>(finish_->sums());
  Finish(std::move(found_));
}

}  // namespace rocksync
