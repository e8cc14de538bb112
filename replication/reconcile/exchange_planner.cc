#include "replication/reconcile/exchange_planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "replication/reconcile/exchange_header.h"
#include "sketch/element/coding.h"
#include "sketch/planning/cost_model.h"
#include "sketch/planning/difference_estimate.h"
#include "sketch/planning/sketch_schedule.h"

namespace rocksync {
namespace {

// Standard errors of the estimates (see difference_estimate.h).
constexpr double kEstimateError = 0.25;
constexpr double kFineEstimateError = 0.16;
// The most that the planner alone may have for parities to be tried, as a share
// of what the other side alone has.
constexpr double kMostlyOneSided = 0.045;
// Keys that both sides hold are looked for if their elements seem to be this
// share of what differs: both estimates are a third off, so a smaller share may
// be none.
constexpr double kMostlyOverwritten = 0.7;
// Where so many times more differ than a fine estimate says, it is chance: of
// very many differences half of its parities are odd.
constexpr double kFarMoreThanFine = 3;
// The error of an estimate by the odd cells of coupled parities.
constexpr double kParityEstimateError = 0.02;
// Asking for the answerer's filter must cost less than this share: it takes
// another round trip.
constexpr double kWorthAsking = 0.95;
// All planes of keys are sent at once if the expectation has an error below
// this.
constexpr double kSureEnough = 0.2;
// Parities must cost less than this share: they take many times a sketch's CPU.
constexpr double kWorthDecoding = 0.85;
// The cost of a sketch in one pass, relative to one in several.
constexpr double kHurriedSketchCost = 1.2;
// If round trips matter, filters must cost less than a sketch alone by this
// factor: they take another round trip.
constexpr double kWorthARoundTrip = 2;
// Additional bits of wide ids where a retry would be a search for leaves.
constexpr double kSlackInOneGo = 8;
// The most slack of an id.
constexpr int kMaxSlack = 23;
// Bits that ids are shorter where what they hide is searched for anyway.
constexpr int kSlackToSpare = 3;
// Additional bits of the ids of a retry.
constexpr int kRetrySlack = 5;
// An expectation up to this sizes the probe; a larger one replaces it.
constexpr double kMaxHintedProbe = 40;

std::string Text(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace

ExchangePlanner::ExchangePlanner(const ExchangeContext& context)
    : ExchangeSide(Role::kInitiator, context) {}

std::string ExchangePlanner::Open(Follows* follows) {
  if (done()) return "";
  *follows = Follows::kPlanner;
  if (IsLopsided(own_count_, peer_count_)) {
    StartLopsided();
    return "";
  }
  const double expected = options_.expected_differences;
  if (expected > kMaxHintedProbe) {
    StartAsExpected(expected);
    return "";
  }
  *follows = Follows::kProbe;
  probe_ = std::make_unique<SketchSender>(
      open(), SingleGroupShape(std::max<uint64_t>(own_count_, peer_count_),
                               probe_slack()));
  current_sketch_ = probe_.get();
  std::string probe;
  if (peer_count_ <= mine_.size() + kLongProbeSums) {
    double sums = hurry() ? kLongProbeSums : kProbeSums;
    if (expected > 0) {
      const double room =
          options_.retry || hurry()
              ? expected + 2.5 * std::sqrt(expected) + kProbeSums
              : expected + 0.5 * std::sqrt(expected) + 1;
      sums = std::max(sums, std::ceil(room));
    }
    probe_->AppendSums(static_cast<uint32_t>(sums), &probe);
    report_.plan = Text("sketch of %.0f", sums);
  } else {
    report_.plan = "estimate first";
  }
  if (hurry()) probe += EstimateParities();
  return probe;
}

// The expected number of differences stands for an estimate.
void ExchangePlanner::StartAsExpected(double expected) {
  const double error = 2.5 / std::sqrt(expected);
  if (options_.retry) {
    SendSketch(expected, error);
    return;
  }
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  report_.estimated_differences =
      std::clamp(expected, std::abs(n1 - n2), n1 + n2);
  report_.plan = Text("expected %.0f", report_.estimated_differences);
  overwritten_ = options_.expected_overwritten;
  Plan(options_.expected_error + error, true);
}

bool ExchangePlanner::IsAnswer(std::string_view payload) {
  if (payload.empty()) return false;
  const uint8_t kind =
      static_cast<uint8_t>(payload[0]) & static_cast<uint8_t>(~kMoreFollows);
  return kind == static_cast<uint8_t>(ExchangeKind::kAnswer) ||
         kind == static_cast<uint8_t>(ExchangeKind::kPartial);
}

// Guesses that all of the peer's surplus is missing here, and a fourth of our
// elements there.
void ExchangePlanner::StartLopsided() {
  const double n1 = static_cast<double>(mine_.size());
  only_mine_ = n1 / 4;
  only_theirs_ = peer_size() - n1 + only_mine_;
  const FilterPlan plan = PlanFilters(n1, only_mine_, peer_size(), only_theirs_,
                                      Slack(only_theirs_));
  if (plan.first_rate >= 1) {
    SendSketch(only_mine_ + only_theirs_, 0.3);
    return;
  }
  sent_rate_ = plan.first_rate;
  report_.plan = "far fewer here: filter " + Text("%.2g", sent_rate_);
  report_.predicted_bytes = plan.bits / 8;
  SendFilter(sent_rate_);
}

absl::Status ExchangePlanner::OnMessage(ExchangeKind kind,
                                        std::string_view body) {
  switch (kind) {
    case ExchangeKind::kEstimate:
      return ReceiveEstimate(body);
    case ExchangeKind::kPartial:
      return ReceiveAnswer(true, body);
    case ExchangeKind::kAnswer:
      return ReceiveAnswer(false, body);
    case ExchangeKind::kFound: {
      uint64_t found = 0;
      // `found` may exceed peer_count_, which may be a guess.
      if (!filter_sent_ || !GetVarint64(&body, kMaxKeyedElements, &found) ||
          !body.empty()) {
        return absl::InvalidArgumentError("unexpected count");
      }
      NoteFound(found);
      return absl::OkStatus();
    }
    case ExchangeKind::kMoreParities:
      return SendMoreParities(body);
    case ExchangeKind::kExplained:
      return ReceiveExplained(body);
    default:
      return absl::InvalidArgumentError("message of the other role");
  }
}

absl::Status ExchangePlanner::ReceiveAnswer(bool partial,
                                            std::string_view body) {
  if (current_sketch_ == nullptr || current_sketch_->sums() == 0 ||
      current_sketch_->pending() == 0) {
    return absl::InvalidArgumentError("answer without a question");
  }
  uint32_t more = 0;
  const uint32_t unconfirmed = current_sketch_->unconfirmed();
  const absl::Status status =
      current_sketch_->ReceiveAnswer(partial, body, &found_, &more);
  if (!status.ok()) return status;
  report_.unconfirmed += current_sketch_->unconfirmed() - unconfirmed;
  if (more == 0) {
    // Groups that were given up are left to the retry as a whole.
    report_.expected_left += kLeftOfGroup *
                             static_cast<double>(current_sketch_->pending()) *
                             static_cast<double>(current_sketch_->sums());
    End(std::move(found_));
    return absl::OkStatus();
  }
  if (more <= current_sketch_->sums() || current_sketch_->pending() == 0) {
    return absl::InvalidArgumentError("answer asks for nothing");
  }
  report_.retries += static_cast<uint32_t>(current_sketch_->pending());
  report_.plan += "+" + std::to_string(more - current_sketch_->sums());
  std::string sums;
  current_sketch_->AppendSums(more - current_sketch_->sums(), &sums);
  Send(ExchangeKind::kExtend, sums);
  return absl::OkStatus();
}

absl::Status ExchangePlanner::ReceiveEstimate(std::string_view parities) {
  if (report_.estimated_differences > 0 || filter_sent_ || sketch_ != nullptr) {
    return absl::InvalidArgumentError("unexpected estimate");
  }
  if (parities.size() != EstimateBytes()) {
    return absl::InvalidArgumentError("estimate of a wrong size");
  }
  const ParityShape shape = EstimateShape();
  const std::string mine = EstimateParities();
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  double error = hurry() ? kFineEstimateError : kEstimateError;
  double d =
      EstimateDifference(std::string_view(mine).substr(0, shape.bytes()),
                         parities.substr(0, shape.bytes()), shape, n1 + n2);
  if (EstimatesFinely()) {
    const FineShape fine = FineEstimateShape();
    const size_t at = shape.bytes();
    const double finely =
        EstimateFine(std::string_view(mine).substr(at, fine.bytes()),
                     parities.substr(at, fine.bytes()), fine);
    if (std::isfinite(finely) && d < kFarMoreThanFine * finely) {
      d = finely;
      error = 2.7 / std::sqrt(fine.buckets);
    }
  }
  // The sides differ at least by the surplus, and by more than a probe decodes.
  const double least =
      std::max(std::abs(n1 - n2), std::min(n1 + n2, kLongProbeSums + 1.0));
  report_.estimated_differences =
      std::clamp(d, least, std::max(n1 + n2, least));
  report_.plan += Text(", estimate %.0f", report_.estimated_differences);
  if (EstimatesKeys()) {
    const size_t size = KeyEstimateShape().bytes();
    EstimateKeys(std::string_view(mine).substr(mine.size() - size),
                 parities.substr(parities.size() - size));
  }
  Plan(error, true);
  return absl::OkStatus();
}

// A difference that is not a key of one side alone is an overwritten key, which
// has two elements.
void ExchangePlanner::EstimateKeys(std::string_view mine,
                                   std::string_view theirs) {
  const double n1 = static_cast<double>(mine_.size());
  const double keys = mine == theirs
                          ? 0
                          : EstimateDifference(mine, theirs, KeyEstimateShape(),
                                               n1 + peer_size());
  const double d = report_.estimated_differences;
  const double differing = std::max(0.0, d - keys);
  overwritten_ = differing < kMostlyOverwritten * d ? 0 : differing / 2;
}

void ExchangePlanner::Plan(double error, bool may_send_parities) {
  const double d = report_.estimated_differences;
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  only_mine_ = (d + n1 - n2) / 2;
  only_theirs_ = (d - n1 + n2) / 2;
  const int slack = hurry() ? WideSlack(d) : Slack(d);
  const FilterPlan mine_first =
      PlanFilters(n1, only_mine_, n2, only_theirs_, slack);
  const FilterPlan theirs_first =
      PlanFilters(n2, only_theirs_, n1, only_mine_, slack);
  const double best = std::min(mine_first.bits, theirs_first.bits);
  if (PlansRetry(d) &&
      kHurriedSketchCost * SketchBits(std::max(n1, n2), d, Slack(d)) < best) {
    SendSketch(d, kFineEstimateError);
    return;
  }
  if (hurry() && options_.passes < kPasses &&
      SketchBits(std::max(n1, n2), d, slack) < kWorthARoundTrip * best) {
    SendSketch(d, error);
    return;
  }
  if (may_send_parities && StartKeyParities(error, best)) return;
  if (may_send_parities && EstimatesFinely() && n1 < n2) {
    // The least surplus that is likely: more parities can follow, but those
    // sent are spent.
    const double least = std::max(0.0, (d * (1 - 1.5 * error) - n2 + n1) / 2);
    const double likely = std::max(0.0, (d * (1 - 0.75 * error) - n2 + n1) / 2);
    if (likely <= kMostlyOneSided * (n2 - n1 + likely) &&
        ParityPlanBits(n1, n2, least, slack) < kWorthDecoding * best) {
      StartParities(least);
      return;
    }
  }
  if (theirs_first.first_rate < 1 &&
      (mine_first.first_rate >= 1 ||
       theirs_first.bits < kWorthAsking * mine_first.bits)) {
    report_.predicted_bytes = theirs_first.bits / 8;
    report_.plan += ", their filter first";
    std::string body;
    PutFixed8(&body, RateCode(theirs_first.first_rate));
    Send(ExchangeKind::kAskFilter, body);
    return;
  }
  report_.predicted_bytes = mine_first.bits / 8;
  if (mine_first.first_rate < 1) {
    sent_rate_ = mine_first.first_rate;
    report_.plan += Text(", filter %.2g", sent_rate_);
    SendFilter(sent_rate_);
    return;
  }
  SendSketch(d, error);
}

void ExchangePlanner::StartParities(double surplus) {
  current_sketch_ = nullptr;  // the probe was over all elements of the peer
  probe_.reset();
  ReleaseOpen();
  parities_ = std::make_unique<ParitySender>(
      mine_, closed(), DeriveCoupledKeys(seed_), peer_size(), surplus);
  const std::string body = parities_->First();
  report_.predicted_bytes = static_cast<double>(body.size());
  report_.plan += Text(", parities %.0f B", report_.predicted_bytes);
  Send(ExchangeKind::kParities, body);
}

bool ExchangePlanner::StartKeyParities(double error, double other_bits) {
  if (!has_keys() || overwritten_ <= 0) return false;
  const double d = report_.estimated_differences;
  const double n1 = static_cast<double>(mine_.size());
  const double n2 = peer_size();
  const double alone = std::max(d - 2 * overwritten_, std::abs(n1 - n2));
  DifferingKeys difference{.differing = (d - alone) / 2 + (alone - n1 + n2) / 2,
                           .surplus = std::max(0.0, (alone + n1 - n2) / 2)};
  const KeyParityPlan plan =
      PlanKeyParities(n2, difference, Slack(d), options_.later_bits);
  const double all_parities =
      EstimatesFinely() && n1 < n2
          ? ParityPlanBits(n1, n2, std::max(0.0, (d - n2 + n1) / 2), Slack(d))
          : other_bits;
  const double left = KeyElementsLeft(difference.differing, plan.planes, 0);
  if (plan.bits - options_.later_bits * left >=
      kWorthDecoding * std::min(other_bits, all_parities)) {
    return false;
  }
  current_sketch_ = nullptr;  // the probe was over all elements of the peer
  probe_.reset();
  ReleaseOpen();
  // The first plane tells the receiver how many keys differ, and can be made
  // larger.
  const bool sure = error < kSureEnough;
  difference.differing *= sure ? 1 + error / 2 : 1 - error;
  key_surplus_ = difference.surplus;
  key_parities_ = std::make_unique<KeyParitySender>(keyed(), n2);
  const std::string body =
      key_parities_->First(difference, sure ? plan.planes : 1, sure);
  report_.predicted_bytes = plan.bits / 8;
  report_.plan += Text(", keys %.0f B", static_cast<double>(body.size()));
  Send(ExchangeKind::kKeyParities, body);
  return true;
}

absl::Status ExchangePlanner::SendMoreKeyParities(uint64_t differing,
                                                  bool decoded) {
  const double n2 = peer_size();
  const DifferingKeys difference{static_cast<double>(differing), key_surplus_};
  const double d = 2 * difference.differing;
  const KeyParityPlan plan =
      PlanKeyParities(n2, difference, Slack(d), options_.later_bits);
  const double other =
      SketchBits(std::max(n2, static_cast<double>(mine_.size())), d, Slack(d));
  std::string more;
  if (plan.bits - key_parities_->sent_bits() < kWorthDecoding * other &&
      key_parities_->Next(difference, decoded, plan.planes, &more)) {
    report_.plan += Text("+%.0f", static_cast<double>(more.size()));
    Send(ExchangeKind::kKeyParities, more);
    return absl::OkStatus();
  }
  GiveUpParities(differing > 0 ? d + key_surplus_
                               : report_.estimated_differences);
  return absl::OkStatus();
}

void ExchangePlanner::GiveUpParities(double differences) {
  parities_.reset();
  key_parities_.reset();
  report_.plan += ", given up";
  report_.estimated_differences = std::max(differences, 1.0);
  Plan(kParityEstimateError, false);
}

void ExchangePlanner::NoteKeysFound(const ParityOutcome& outcome) {
  report_.leaves_keys = true;
  report_.expected_left = KeyElementsLeft(static_cast<double>(outcome.found),
                                          outcome.unexplained, key_surplus_);
  End({});
}

absl::Status ExchangePlanner::SendMoreParities(std::string_view body) {
  uint64_t surplus = 0;
  if ((parities_ == nullptr && key_parities_ == nullptr) ||
      sketch_ != nullptr ||
      !GetVarint64(&body, 2 * kMaxKeyedElements + 1, &surplus) ||
      !body.empty()) {
    return absl::InvalidArgumentError("unexpected request for parities");
  }
  if (key_parities_ != nullptr) {
    return SendMoreKeyParities(surplus / 2, surplus % 2 != 0);
  }
  const double n1 = static_cast<double>(mine_.size());
  const double here = std::min(static_cast<double>(surplus), n1);
  const double there = peer_size() - n1 + here;
  const int slack = Slack(here + there);
  const double other = PlanFilters(n1, here, peer_size(), there, slack).bits;
  std::string more;
  if (parities_->Next(here, kWorthDecoding * other, slack, &more)) {
    report_.plan += Text("+%.0f", static_cast<double>(more.size()));
    Send(ExchangeKind::kSplits, more);
    return absl::OkStatus();
  }
  GiveUpParities(here + there);
  return absl::OkStatus();
}

absl::Status ExchangePlanner::ReceiveExplained(std::string_view body) {
  ParityOutcome outcome;
  const absl::Status status = GetParityOutcome(body, &outcome);
  if (!status.ok()) return status;
  if ((parities_ == nullptr && key_parities_ == nullptr) ||
      sketch_ != nullptr || outcome.found > kMaxKeyedElements) {
    return absl::InvalidArgumentError("unexpected outcome of parities");
  }
  found_there_ = std::min<uint64_t>(outcome.found, peer_count_);
  if (key_parities_ != nullptr) {
    NoteKeysFound(outcome);
    return absl::OkStatus();
  }
  if (outcome.unexplained == 0) {
    End({});
    return absl::OkStatus();
  }
  // Each element that only this side has leaves its cells unexplained (two
  // elements may share one), and so does each wrong judgement.
  const double left =
      1.1 * static_cast<double>(outcome.unexplained) / kCoupledCells + 1;
  SendSketch(left, 0.1 + 2 / std::sqrt(left + 1));
  return absl::OkStatus();
}

absl::Status ExchangePlanner::OnFilter(const FilterHead& head) {
  if ((current_sketch_ != nullptr && current_sketch_ != probe_.get()) ||
      parities_ != nullptr || key_parities_ != nullptr) {
    return absl::InvalidArgumentError("filter after a sketch");
  }
  current_sketch_ = nullptr;  // the probe was over all elements
  probe_.reset();
  report_.plan += head.slots > 0 ? Text(", theirs %.2g", received_rate_)
                                 : std::string(", none of theirs");
  if (filter_sent_) {
    NoteFound(head.found);
    return absl::OkStatus();
  }
  // An element that passed the answerer's filter and is not ours alone is
  // common; the rest of the answerer's elements are missing here.
  const double common =
      std::max(static_cast<double>(open_count()) - LeftHere(), 0.0);
  only_theirs_ = std::max(peer_size() - common, 0.0);
  sent_rate_ = PlanLastFilter(static_cast<double>(open_count()), only_theirs_,
                              LeftHere(), Slack(only_theirs_ + LeftHere()));
  if (sent_rate_ < 1 && open_count() > 0) {
    report_.plan += Text(", filter %.2g", sent_rate_);
    SendFilter(sent_rate_);
    return absl::OkStatus();
  }
  sent_rate_ = 1;
  const double d = LeftHere() + LeftThere();
  SendSketch(d, 0.02 + 2 / std::sqrt(d + 1));
  return absl::OkStatus();
}

void ExchangePlanner::NoteFound(uint64_t found) {
  found_there_ = std::min<uint64_t>(found, peer_count_);
  const double d = LeftHere() + LeftThere();
  SendSketch(d, 0.02 + 2 / std::sqrt(d + 1));
}

double ExchangePlanner::LeftHere() const {
  if (!filter_received_ || received_rate_ >= 1) return only_mine_;
  return static_cast<double>(found_by_filter_) * received_rate_ /
         std::max(1 - received_rate_, 1e-9);
}

double ExchangePlanner::LeftThere() const {
  if (sent_rate_ >= 1) return only_theirs_;
  return static_cast<double>(found_there_) * sent_rate_ / (1 - sent_rate_);
}

// If round trips matter, ids are so wide that a retry is unlikely. The
// exception is a retry that costs less than such ids and has a round trip left
// for it, as there is without filters.
int ExchangePlanner::Slack(double d) const {
  if (hurry() && !PlansRetry(d)) return WideSlack(d);
  const int slack = ChooseSlack(options_.pair_bytes);
  return hurry() || options_.passes > 1 ? slack : slack - kSlackToSpare;
}

int ExchangePlanner::WideSlack(double d) const {
  const double more = options_.passes < kPasses ? kSlackInOneGo : 0;
  const double wide = std::ceil(std::log2(std::max(d, 1.0)) + 1.5 + more);
  return std::clamp(static_cast<int>(wide), ChooseSlack(options_.pair_bytes),
                    kMaxSlack);
}

bool ExchangePlanner::PlansRetry(double d) const {
  return hurry() && options_.passes == kPasses && !filter_sent_ &&
         !filter_received_ &&
         d * std::exp2(-ChooseSlack(options_.pair_bytes)) > kHurriedRetry;
}

void ExchangePlanner::SendSketch(double d, double uncertainty) {
  const bool filtered = filter_sent_ || filter_received_;
  const uint64_t theirs = peer_count_ - found_there_;
  const uint64_t largest = std::max<uint64_t>(open_count(), theirs);
  // A retry is small: it should hide nothing, and be over at once.
  const bool retry = options_.retry;
  const int slack = Slack(d) + (retry ? kRetrySlack : 0);
  const IdShape shape = ChooseIdShape(largest, d, slack);
  const bool at_once = filtered || options_.passes < kPasses;
  const SumsMargin margin = retry || (hurry() && at_once) ? SumsMargin::kFinal
                            : hurry()                     ? SumsMargin::kAmple
                            : options_.passes == 1        ? SumsMargin::kMost
                            : options_.passes < kPasses   ? SumsMargin::kEven
                                                          : SumsMargin::kFrugal;
  const double mean = d / shape.groups;
  const uint32_t sums = std::min(
      FirstSums(mean, uncertainty, margin, shape.groups == 1), kMaxSums);
  report_.expected_left = d * std::exp2(-slack);
  if (shape.groups == 1 && !filtered && current_sketch_ == probe_.get() &&
      current_sketch_ != nullptr) {
    const uint32_t count =
        std::max(sums, current_sketch_->sums() + 1) - current_sketch_->sums();
    report_.plan += ", extended by " + std::to_string(count);
    std::string body;
    current_sketch_->AppendSums(count, &body);
    Send(ExchangeKind::kExtend, body);
    return;
  }
  report_.plan += Text(", sketch d~%.0f", d) + " in " +
                  std::to_string(shape.groups) + " groups of " +
                  std::to_string(shape.bits) + " bits, " + std::to_string(sums);
  sketch_ = std::make_unique<SketchSender>(open(), shape);
  current_sketch_ = sketch_.get();
  std::string body;
  PutIdShape(shape, &body);
  current_sketch_->AppendSums(sums, &body);
  Send(ExchangeKind::kSketch, body);
}

}  // namespace rocksync
