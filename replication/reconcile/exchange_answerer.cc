#include "replication/reconcile/exchange_answerer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "replication/reconcile/exchange_header.h"
#include "sketch/element/coding.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/planning/cost_model.h"
#include "sketch/planning/difference_estimate.h"
#include "sketch/planning/sketch_schedule.h"

namespace rocksync {
namespace {

// The most passes over one sketch; what is left then is left to a retry.
constexpr uint32_t kMaxPasses = 10;
// If more hidden elements than kSureRetry are expected, there will be a retry
// anyway. The last groups, at most one of kLeaveShare, are then left to it.
constexpr double kSureRetry = 2;
constexpr uint32_t kLeaveShare = 16;
constexpr uint32_t kHurriedLeaveShare = 6;

}  // namespace

ExchangeAnswerer::ExchangeAnswerer(const ExchangeContext& context)
    : ExchangeSide(Role::kResponder, context) {}

absl::Status ExchangeAnswerer::ReceiveProbe(std::string_view payload,
                                            std::string_view* parities) {
  if (done()) return absl::InvalidArgumentError("payload after the end");
  report_.sketch_bytes += payload.size();
  std::string_view sums = payload;
  if (hurry()) {
    const size_t size = EstimateBytes();
    if (payload.size() < size) {
      return absl::InvalidArgumentError("exchange payload truncated");
    }
    sums = payload.substr(0, payload.size() - size);
    *parities = payload.substr(sums.size());
  }
  const uint64_t largest = std::max<uint64_t>(own_count_, peer_count_);
  current_sketch_ = std::make_unique<SketchDecoder>(
      open(), SingleGroupShape(largest, probe_slack()),
      static_cast<int64_t>(mine_.size()) - static_cast<int64_t>(peer_count_));
  probing_ = true;
  if (!sums.empty()) return ReceiveSums(sums);
  GiveUpProbe();
  return absl::OkStatus();
}

absl::Status ExchangeAnswerer::OnMessage(ExchangeKind kind,
                                         std::string_view body) {
  switch (kind) {
    case ExchangeKind::kSketch: {
      IdShape shape;
      const uint64_t total = open_count() + peer_count_;
      const uint32_t max_groups = static_cast<uint32_t>(
          std::min<uint64_t>(total + 1, kMaxKeyedElements));
      const absl::Status status = GetIdShape(&body, max_groups, &shape);
      if (!status.ok()) return status;
      parities_.reset();  // if they did not decode, they are given up
      key_parities_.reset();
      current_sketch_ =
          std::make_unique<SketchDecoder>(open(), shape, std::nullopt);
      probing_ = false;
      passes_ = 0;
      found_.clear();
      return ReceiveSums(body);
    }
    case ExchangeKind::kExtend:
      if (current_sketch_ == nullptr || current_sketch_->pending() == 0) {
        return absl::InvalidArgumentError("power sums without a sketch");
      }
      return ReceiveSums(body);
    case ExchangeKind::kParities:
    case ExchangeKind::kSplits:
      return ReceiveParities(kind, body);
    case ExchangeKind::kKeyParities:
      return ReceiveKeyParities(body);
    case ExchangeKind::kAskFilter: {
      uint8_t rate = 0;
      if (!GetFixed8(&body, &rate) || !body.empty() || filter_sent_) {
        return absl::InvalidArgumentError("wrong request for a filter");
      }
      probing_ = false;
      parities_.reset();
      key_parities_.reset();
      SendFilter(RateFromCode(rate));
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("message of the other role");
  }
}

absl::Status ExchangeAnswerer::ReceiveParities(ExchangeKind kind,
                                               std::string_view body) {
  const bool first = kind == ExchangeKind::kParities;
  if (first == (parities_ != nullptr) || key_parities_ != nullptr ||
      filter_sent_ || filter_received_ || found_by_filter_ > 0 || passes_ > 0) {
    return absl::InvalidArgumentError("unexpected parities");
  }
  if (first) {
    probing_ = false;
    current_sketch_.reset();
    ReleaseOpen();
    parities_ = std::make_unique<ParityReceiver>();
  }
  const absl::Status status =
      first ? parities_->First(body, mine_, closed(), DeriveCoupledKeys(seed_),
                               peer_count_)
            : parities_->Next(body);
  if (!status.ok()) return status;
  if (!parities_->decoded()) {
    std::string more;
    PutVarint64(&more, parities_->surplus());
    Send(ExchangeKind::kMoreParities, more);
    return absl::OkStatus();
  }
  const CoupledDecoder::Outcome outcome = parities_->outcome();
  parities_.reset();
  Close(outcome.missing);
  std::string reply;
  PutParityOutcome({.found = outcome.missing.size(),
                    .unexplained = outcome.unexplained_cells},
                   &reply);
  Send(ExchangeKind::kExplained, reply);
  if (outcome.unexplained_cells == 0) {
    report_.plan = "parities decoded";
    End({});
  }
  return absl::OkStatus();
}

absl::Status ExchangeAnswerer::ReceiveKeyParities(std::string_view body) {
  if (!has_keys() || parities_ != nullptr || filter_sent_ || filter_received_ ||
      found_by_filter_ > 0 || passes_ > 0) {
    return absl::InvalidArgumentError("unexpected parities of keys");
  }
  if (key_parities_ == nullptr) {
    probing_ = false;
    current_sketch_.reset();
    ReleaseOpen();
    key_parities_ = std::make_unique<KeyParityReceiver>(keyed(), peer_count_);
  }
  const absl::Status status = key_parities_->Take(body);
  if (!status.ok()) return status;
  if (!key_parities_->complete()) {
    std::string more;
    PutVarint64(&more, 2 * key_parities_->differing() +
                           (key_parities_->decoded() > 0 ? 1 : 0));
    Send(ExchangeKind::kMoreParities, more);
    return absl::OkStatus();
  }
  const ParityOutcome outcome{.found = key_parities_->found().size(),
                              .unexplained = key_parities_->decoded()};
  std::string reply;
  PutParityOutcome(outcome, &reply);
  Send(ExchangeKind::kExplained, reply);
  report_.plan = "parities of keys decoded";
  report_.leaves_keys = true;
  report_.expected_left =
      KeyElementsLeft(static_cast<double>(outcome.found), outcome.unexplained,
                      key_parities_->surplus());
  End(key_parities_->found());
  return absl::OkStatus();
}

absl::Status ExchangeAnswerer::ReceiveSums(std::string_view bytes) {
  if (++passes_ > kMaxPasses) {
    return absl::InvalidArgumentError("too many passes");
  }
  const absl::Status status = current_sketch_->ReceiveSums(bytes, &found_);
  if (!status.ok()) return status;
  for (const uint32_t size : current_sketch_->decoded_sizes()) decoded_ += size;
  const uint32_t failed = static_cast<uint32_t>(current_sketch_->pending());
  if (failed == 0) {
    Send(ExchangeKind::kAnswer, current_sketch_->Answer(false, 0));
    EndSketch();
    return absl::OkStatus();
  }
  report_.retries += failed;
  uint32_t next = 0;
  if (probing_ && !hurry() && current_sketch_->sums() < kLongProbeSums) {
    next = kLongProbeSums;
  } else if (probing_) {
    GiveUpProbe();
    return absl::OkStatus();
  } else {
    const bool filtered = filter_sent_ || filter_received_;
    const uint32_t aim = hurry()    ? kHurriedPasses
                         : filtered ? kPassesAfterFilters
                                    : options_.passes;
    const uint32_t left = aim > passes_ ? aim - passes_ : 1;
    next = NextSums(current_sketch_->sums(), current_sketch_->decoded_sizes(),
                    failed, ShareToDecode(left, hurry()), hurry(),
                    current_sketch_->shape().groups == 1);
    next = std::min(next, kMaxSums);
    const bool leave =
        passes_ >= aim &&
        (options_.passes == 1 || ExpectedLeft() > kSureRetry) &&
        failed < current_sketch_->shape().groups /
                     (hurry() ? kHurriedLeaveShare : kLeaveShare);
    if (leave || current_sketch_->sums() == kMaxSums || passes_ == kMaxPasses)
      next = 0;
  }
  Send(ExchangeKind::kPartial, current_sketch_->Answer(true, next));
  if (next == 0) EndSketch();
  return absl::OkStatus();
}

// An element is hidden if another one has its id.
double ExchangeAnswerer::ExpectedLeft() {
  const IdShape& shape = current_sketch_->shape();
  return static_cast<double>(decoded_) * static_cast<double>(open_count()) /
         shape.groups * std::exp2(-shape.bits);
}

void ExchangeAnswerer::GiveUpProbe() {
  gave_up_probe_ = hurry();
  if (!hurry()) SendEstimate();
}

void ExchangeAnswerer::SendEstimate() {
  probing_ = false;
  passes_ = 0;
  Send(ExchangeKind::kEstimate, EstimateParities());
}

absl::Status ExchangeAnswerer::OnFilter(const FilterHead& head) {
  current_sketch_.reset();  // was over all elements
  parities_.reset();        // given up
  key_parities_.reset();
  if (filter_sent_) {  // a filter is out: only the count follows
    std::string body;
    PutVarint64(&body, found_by_filter_);
    Send(ExchangeKind::kFound, body);
    return absl::OkStatus();
  }
  // The planner's filter let the common elements and a share of the missing
  // ones pass. So all but that share of the open elements are common, and the
  // planner's elements beyond these are missing here.
  const double found = static_cast<double>(found_by_filter_);
  const double rate = received_rate_;
  const double left = found * rate / std::max(1 - rate, 1e-9);
  const double common = std::max(static_cast<double>(open_count()) - left, 0.0);
  const double only_theirs =
      std::max(static_cast<double>(peer_count_) - common, 0.0);
  SendFilter(PlanLastFilter(static_cast<double>(open_count()), only_theirs,
                            left, ChooseSlack(options_.pair_bytes)));
  return absl::OkStatus();
}

void ExchangeAnswerer::EndSketch() {
  report_.plan = "answered";
  report_.expected_left =
      ExpectedLeft() + kLeftOfGroup *
                           static_cast<double>(current_sketch_->pending()) *
                           static_cast<double>(current_sketch_->sums());
  End(std::move(found_));
}

}  // namespace rocksync
