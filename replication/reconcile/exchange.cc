#include "replication/reconcile/exchange.h"

#include <cassert>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_adaptive.h"
#include "replication/reconcile/exchange_bloom.h"
#include "replication/reconcile/exchange_header.h"

namespace rocksync {
namespace {

// A responder learns the mode from the first payload.
class Responder final : public Exchange {
 public:
  Responder(const ExchangeOptions& options, const MappingSeed& seed,
            std::span<const ElementHash> mine, uint64_t peer_count)
      : options_(options),
        seed_(seed),
        mine_(mine),
        peer_count_(peer_count),
        exchange_(JoinAdaptiveExchange(options, Follows::kProbe, seed, mine,
                                       peer_count)) {}

  bool NextPayload(std::string* out) override {
    return exchange_->NextPayload(out);
  }
  absl::Status Receive(std::string_view payload) override {
    if (!joined_) {
      joined_ = true;
      Follows follows = Follows::kProbe;
      header_bytes_ = payload.size();
      const absl::Status status =
          GetExchangeHeader(&payload, &options_, &follows);
      if (!status.ok()) return status;
      header_bytes_ -= payload.size();
      exchange_ = options_.mode == ExchangeMode::kBloom
                      ? NewBloomExchange(Role::kResponder, options_, seed_,
                                         mine_, peer_count_)
                      : JoinAdaptiveExchange(options_, follows, seed_, mine_,
                                             peer_count_);
    }
    return exchange_->Receive(payload);
  }
  bool done() const override { return exchange_->done(); }
  const std::vector<uint32_t>& missing_there() const override {
    return exchange_->missing_there();
  }
  const ExchangeReport& report() const override {
    report_ = exchange_->report();
    report_.finish_bytes += header_bytes_;
    return report_;
  }

 private:
  ExchangeOptions options_;
  const MappingSeed seed_;
  const std::span<const ElementHash> mine_;
  const uint64_t peer_count_;
  bool joined_ = false;
  size_t header_bytes_ = 0;
  std::unique_ptr<Exchange> exchange_;
  mutable ExchangeReport report_;
};

}  // namespace

std::string Explain(const ExchangeReport& report) {
  std::string text = report.plan;
  absl::StrAppend(&text, ": ", report.filter_bytes + report.finish_bytes, " B");
  if (report.predicted_bytes > 0) {
    absl::StrAppend(&text, ", ",
                    static_cast<uint64_t>(std::llround(report.predicted_bytes)),
                    " B predicted");
  }
  return text;
}

std::unique_ptr<Exchange> NewExchange(Role role, const ExchangeOptions& options,
                                      const MappingSeed& seed,
                                      std::span<const ElementHash> mine,
                                      uint64_t peer_count) {
  assert(mine.size() <= kMaxExchangeElements);
  if (role == Role::kResponder) {
    return std::make_unique<Responder>(options, seed, mine, peer_count);
  }
  if (options.mode == ExchangeMode::kBloom) {
    return NewBloomExchange(role, options, seed, mine, peer_count);
  }
  return OpenAdaptiveExchange(options, seed, mine, peer_count);
}

}  // namespace rocksync
