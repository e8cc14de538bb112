#include "replication/protocol/exchange_initiator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "replication/protocol/exchange_header.h"
#include "sketch/coding.h"
#include "sketch/cost_model.h"
#include "sketch/difference_estimate.h"
#include "sketch/sketch_schedule.h"

namespace rocksync {
namespace {

// Standard errors of the estimate (see difference_estimate.h).
constexpr double kEstimateError = 0.25;
constexpr double kHurriedEstimateError = 0.16;
// To hear the responder's filter first costs a round trip more.
constexpr double kWorthAsking = 0.95;
// A hint up to this sizes the probe, a larger one replaces it.
constexpr double kMaxHintedProbe = 40;

std::string Text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace

ExchangeInitiator::ExchangeInitiator(const ExchangeOptions& options,
                                     const MappingSeed& seed,
                                     std::span<const ElementHash> mine,
                                     uint64_t peer_count)
    : ExchangeSide(Role::kInitiator, options, seed, mine,
                   std::min<uint64_t>(peer_count, kMaxKeyedElements)) {
  if (mine_.empty() || peer_count_ == 0) return;
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  if (n1 < n2 / kLopsided) {
    missing_here_ = n1 / 4;
    missing_there_ = n2 - 0.75 * n1;
    const FilterPlan plan = PlanFilters(n1, missing_here_, n2, missing_there_,
                                        Slack(missing_there_));
    if (plan.first_rate < 1) {
      sent_rate_ = plan.first_rate;
      report_.plan = "far fewer here: filter " + Text("%.2g", sent_rate_);
      report_.predicted_bytes = plan.bits / 8;
      SendFilter(sent_rate_);
      return;
    }
  }
  probe_ = std::make_unique<FinishSender>(
      open(), SingleGroupShape(std::max<uint64_t>(mine_.size(), peer_count_),
                               probe_slack()));
  preamble_only_ = true;
  const double surplus = std::abs(n1 - n2);
  if (surplus > kLongProbeSums) {
    report_.plan = "estimate first";
    return;
  }
  first_sums_ = hurry() ? kLongProbeSums : kProbeSums;
  const double expected = options_.expected_differences;
  if (expected > kMaxHintedProbe) {
    preamble_only_ = false;
    StartFinish(expected, 2.5 / std::sqrt(expected));
    return;
  }
  if (expected > 0) {
    const double room = expected + 2.5 * std::sqrt(expected) + kProbeSums;
    first_sums_ = std::max(first_sums_, static_cast<uint32_t>(std::ceil(room)));
  }
  report_.plan = "sketch of " + std::to_string(first_sums_);
}

void ExchangeInitiator::PutPreamble(std::string* out) {
  PutExchangeHeader(out, options_, !preamble_only_);
  if (preamble_only_ && first_sums_ > 0) probe_->AppendSums(first_sums_, out);
  if (preamble_only_) finish_ = probe_.get();
}

absl::Status ExchangeInitiator::OnMessage(ExchangeKind kind,
                                          std::string_view body) {
  switch (kind) {
    case ExchangeKind::kEstimate:
      return TakeEstimate(body);
    case ExchangeKind::kPartial:
      return TakeAnswer(true, body);
    case ExchangeKind::kAnswer:
      return TakeAnswer(false, body);
    case ExchangeKind::kFound: {
      uint64_t found = 0;
      if (!filter_sent_ || !GetVarint64(&body, peer_count_, &found) ||
          !body.empty()) {
        return absl::InvalidArgumentError("unexpected count");
      }
      TakeFound(found);
      return absl::OkStatus();
    }
    default:
      return absl::InvalidArgumentError("message of the other role");
  }
}

absl::Status ExchangeInitiator::TakeAnswer(bool partial,
                                           std::string_view body) {
  if (finish_ == nullptr || finish_->sums() == 0 || finish_->pending() == 0) {
    return absl::InvalidArgumentError("answer without a question");
  }
  uint32_t more = 0;
  const uint32_t unconfirmed = finish_->unconfirmed();
  const absl::Status status =
      finish_->TakeAnswer(partial, body, &found_, &more);
  if (!status.ok()) return status;
  report_.unconfirmed += finish_->unconfirmed() - unconfirmed;
  if (more == 0) {
    Finish(std::move(found_));
    return absl::OkStatus();
  }
  if (more <= finish_->sums() || finish_->pending() == 0) {
    return absl::InvalidArgumentError("answer asks for nothing");
  }
  report_.retries += static_cast<uint32_t>(finish_->pending());
  report_.plan += "+" + std::to_string(more - finish_->sums());
  std::string sums;
  finish_->AppendSums(more - finish_->sums(), &sums);
  Send(ExchangeKind::kExtend, sums);
  return absl::OkStatus();
}

absl::Status ExchangeInitiator::TakeEstimate(std::string_view parities) {
  const ParityShape shape =
      ShapeParities(mine_.size() + peer_count_, estimate_buckets());
  if (probe_ == nullptr || report_.estimated_differences > 0 || filter_sent_ ||
      sketch_ != nullptr) {
    return absl::InvalidArgumentError("unexpected estimate");
  }
  if (parities.size() != shape.bytes()) {
    return absl::InvalidArgumentError("estimate of a wrong size");
  }
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  const double surplus = n1 - n2;
  double d = EstimateDifference(
      Parities(mine_, DeriveMapping(seed_, kEstimatePurpose, 0), shape),
      parities, shape, n1 + n2);
  // At least the surplus, and more than the probe could decode.
  const double least =
      std::max(std::abs(surplus), static_cast<double>(probe_->sums()) + 1);
  d = std::clamp(d, least, std::max(n1 + n2, least));
  report_.estimated_differences = d;
  report_.plan += Text(", estimate %.0f", d);
  missing_here_ = (d + surplus) / 2;
  missing_there_ = (d - surplus) / 2;
  const int slack = Slack(d);
  const FilterPlan mine_first =
      PlanFilters(n1, missing_here_, n2, missing_there_, slack);
  const FilterPlan theirs_first =
      PlanFilters(n2, missing_there_, n1, missing_here_, slack);
  if (theirs_first.first_rate < 1 &&
      (mine_first.first_rate >= 1 ||
       theirs_first.bits < kWorthAsking * mine_first.bits)) {
    report_.predicted_bytes = theirs_first.bits / 8;
    report_.plan += ", their filter first";
    std::string body;
    PutFixed8(&body, RateCode(theirs_first.first_rate));
    Send(ExchangeKind::kAskFilter, body);
    return absl::OkStatus();
  }
  report_.predicted_bytes = mine_first.bits / 8;
  if (mine_first.first_rate < 1) {
    sent_rate_ = mine_first.first_rate;
    report_.plan += Text(", filter %.2g", sent_rate_);
    SendFilter(sent_rate_);
    return absl::OkStatus();
  }
  StartFinish(d, hurry() ? kHurriedEstimateError : kEstimateError);
  return absl::OkStatus();
}

absl::Status ExchangeInitiator::OnFilter(const FilterHead& head) {
  if (finish_ != nullptr && finish_ != probe_.get()) {
    return absl::InvalidArgumentError("filter after a sketch");
  }
  report_.plan += head.slots > 0 ? Text(", theirs %.2g", received_rate_)
                                 : std::string(", none of theirs");
  if (filter_sent_) {
    TakeFound(head.found);
    return absl::OkStatus();
  }
  // What passed their filter and is not ours alone is common; the rest of
  // theirs is missing here.
  const double common =
      std::max(static_cast<double>(open()->size()) - LeftHere(), 0.0);
  missing_there_ = std::max(peer_size() - common, 0.0);
  sent_rate_ =
      PlanLastFilter(static_cast<double>(open()->size()), missing_there_,
                     LeftHere(), Slack(missing_there_ + LeftHere()));
  if (sent_rate_ < 1 && open()->size() > 0) {
    report_.plan += Text(", filter %.2g", sent_rate_);
    SendFilter(sent_rate_);
    return absl::OkStatus();
  }
  sent_rate_ = 1;
  const double d = LeftHere() + LeftThere();
  StartFinish(d, 0.02 + 2 / std::sqrt(d + 1));
  return absl::OkStatus();
}

void ExchangeInitiator::TakeFound(uint64_t found) {
  found_there_ = std::min<uint64_t>(found, peer_count_);
  const double d = LeftHere() + LeftThere();
  StartFinish(d, 0.02 + 2 / std::sqrt(d + 1));
}

double ExchangeInitiator::LeftHere() const {
  if (!filter_received_ || received_rate_ >= 1) return missing_here_;
  return static_cast<double>(found_by_filter_) * received_rate_ /
         std::max(1 - received_rate_, 1e-9);
}

double ExchangeInitiator::LeftThere() const {
  if (sent_rate_ >= 1) return missing_there_;
  return static_cast<double>(found_there_) * sent_rate_ / (1 - sent_rate_);
}

int ExchangeInitiator::Slack(double d) const {
  const int frugal = ChooseSlack(options_.pair_bytes);
  if (!hurry()) return frugal;
  // So wide that a retry is unlikely.
  const double wide = std::ceil(std::log2(std::max(d, 1.0)) + 1.5);
  return std::clamp(static_cast<int>(wide), frugal, 17);
}

void ExchangeInitiator::StartFinish(double d, double uncertainty) {
  const bool filtered = filter_sent_ || filter_received_;
  const uint64_t theirs = peer_count_ - found_there_;
  const uint64_t largest = std::max<uint64_t>(open()->size(), theirs);
  const IdShape shape = ChooseIdShape(largest, d, Slack(d));
  // A retry is small and should be over at once.
  const bool retry = options_.expected_differences > 0;
  const SumsMargin margin = retry || (hurry() && filtered) ? SumsMargin::kFinal
                            : hurry()                      ? SumsMargin::kAmple
                                      : SumsMargin::kFrugal;
  const double mean = d / shape.groups;
  const uint32_t sums = std::min(
      FirstSums(mean, uncertainty, margin, shape.groups == 1), kMaxSums);
  report_.expected_left = d * std::exp2(-Slack(d));
  if (shape.groups == 1 && !filtered && finish_ == probe_.get() &&
      finish_ != nullptr) {
    finish_ = probe_.get();
    const uint32_t count =
        std::max(sums, finish_->sums() + 1) - finish_->sums();
    report_.plan += ", extended by " + std::to_string(count);
    std::string body;
    finish_->AppendSums(count, &body);
    Send(ExchangeKind::kExtend, body);
    return;
  }
  report_.plan += Text(", finish d~%.0f", d) + " in " +
                  std::to_string(shape.groups) + " groups of " +
                  std::to_string(shape.bits) + " bits, " + std::to_string(sums);
  sketch_ = std::make_unique<FinishSender>(open(), shape);
  finish_ = sketch_.get();
  std::string body;
  PutIdShape(shape, &body);
  finish_->AppendSums(sums, &body);
  Send(ExchangeKind::kSketch, body);
}

}  // namespace rocksync
