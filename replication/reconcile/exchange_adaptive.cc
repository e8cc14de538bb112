#include "replication/reconcile/exchange_adaptive.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "replication/reconcile/exchange_answerer.h"
#include "replication/reconcile/exchange_header.h"
#include "replication/reconcile/exchange_planner.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// The initiator plans if its surplus is at most this share of the expected
// differences.
constexpr double kFewMoreOfExpected = 0.25;
// If the responder's surplus is below this share of the initiator's elements,
// it is as well found with the other differences.
constexpr double kFewMore = 0.001;

// One side of an exchange whose roles may change hands once.
class AdaptiveExchange final : public Exchange {
 public:
  AdaptiveExchange(Role role, const ExchangeContext& context)
      : context_(context) {
    if (role == Role::kInitiator) {
      Open();
    } else {
      awaits_header_ = true;
      Join(Follows::kProbe);  // most likely
    }
  }

  bool NextPayload(std::string* out) override {
    if (opens_) {
      opens_ = false;
      const size_t before = out->size();
      out->append(header_);
      out->append(probe_);
      own_bytes_ += out->size() - before;
      if (!probe_.empty()) return true;
      side_->NextPayload(out);
      return true;
    }
    return side_->NextPayload(out);
  }

  absl::Status Receive(std::string_view payload) override {
    if (awaits_header_) {
      awaits_header_ = false;
      own_bytes_ = payload.size();
      Follows follows = Follows::kProbe;
      const absl::Status status =
          ReceiveExchangeHeader(context_.options, &payload, &follows);
      if (!status.ok()) return status;
      own_bytes_ -= payload.size();
      if (follows != Follows::kProbe) Join(follows);
    }
    if (joins_) {  // the initiator sent nothing but its header
      joins_ = false;
      if (payload.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError("bytes after an exchange header");
    }
    if (answerer_ != nullptr) {
      ExchangeAnswerer* const answerer = std::exchange(answerer_, nullptr);
      std::string_view parities;
      absl::Status status = answerer->ReceiveProbe(payload, &parities);
      if (!status.ok() || !answerer->gave_up_probe()) return status;
      auto planner = std::make_unique<ExchangePlanner>(context_);
      status = planner->ReceiveEstimate(parities);
      side_ = std::move(planner);
      return status;
    }
    if (awaits_handover_) {
      awaits_handover_ = false;
      if (!ExchangePlanner::IsAnswer(payload)) {
        side_ = std::make_unique<ExchangeAnswerer>(context_);
      }
    }
    return side_->Receive(payload);
  }

  bool done() const override { return !opens_ && side_->done(); }
  const std::vector<uint32_t>& missing_there() const override {
    return side_->missing_there();
  }
  const ExchangeReport& report() const override {
    report_ = side_->report();
    report_.sketch_bytes += own_bytes_;
    return report_;
  }

 private:
  // Chooses the initiator's role, and makes the bytes before its first message.
  void Open() {
    Follows follows = Follows::kProbe;
    const double mine = static_cast<double>(context_.own_count);
    const double theirs = static_cast<double>(context_.peer_count);
    // Elements that only the answerer holds need not be named. Knowing about
    // how many elements differ saves the planner more, unless they are mostly
    // these.
    const bool knows =
        mine - theirs <=
        kFewMoreOfExpected * context_.options.expected_differences;
    // A probe would be in vain, and parities are needed, which the side with
    // fewer elements sends only if the other has many more.
    const bool many = context_.options.many_differ && !knows_about() &&
                      theirs - mine < kFewMore * mine;
    if (context_.peer_count > 0 &&
        (many || (mine > theirs + kLongProbeSums && !knows))) {
      follows = Follows::kAnswerer;
      auto answerer = std::make_unique<ExchangeAnswerer>(context_);
      if (!IsLopsided(context_.peer_count, context_.own_count)) {
        answerer->SendEstimate();
      }
      side_ = std::move(answerer);
    } else {
      auto planner = std::make_unique<ExchangePlanner>(context_);
      probe_ = planner->Open(&follows);
      awaits_handover_ = context_.hurry() && follows == Follows::kProbe;
      side_ = std::move(planner);
    }
    PutExchangeHeader(&header_, context_.options, follows);
    opens_ = !side_->done();
  }

  bool knows_about() const { return context_.options.expected_differences > 0; }

  void Join(Follows follows) {
    answerer_ = nullptr;
    if (follows == Follows::kAnswerer) {
      auto planner = std::make_unique<ExchangePlanner>(context_);
      if (IsLopsided(context_.own_count, context_.peer_count)) {
        planner->StartLopsided();
      }
      side_ = std::move(planner);
      joins_ = IsLopsided(context_.own_count, context_.peer_count);
    } else {
      auto answerer = std::make_unique<ExchangeAnswerer>(context_);
      if (follows == Follows::kProbe) answerer_ = answerer.get();
      side_ = std::move(answerer);
    }
  }

  const ExchangeContext context_;
  std::unique_ptr<ExchangeSide> side_;
  std::string header_;
  std::string probe_;
  bool opens_ = false;
  bool awaits_header_ = false;
  bool joins_ = false;
  bool awaits_handover_ = false;
  ExchangeAnswerer* answerer_ = nullptr;  // side_, until it has the probe
  uint64_t own_bytes_ = 0;                // bytes outside of side_'s messages
  mutable ExchangeReport report_;
};

}  // namespace

std::unique_ptr<Exchange> NewAdaptiveExchange(
    Role role, const ExchangeOptions& options, const MappingSeed& seed,
    std::span<const ElementHash> mine, uint64_t peer_count,
    std::span<const uint64_t> positions, uint64_t own_count) {
  return std::make_unique<AdaptiveExchange>(
      role, ExchangeContext{
                .options = options,
                .seed = seed,
                .mine = mine,
                .own_count = std::min<uint64_t>(own_count, kMaxKeyedElements),
                .peer_count = std::min<uint64_t>(peer_count, kMaxKeyedElements),
                .positions = positions});
}

}  // namespace rocksync
