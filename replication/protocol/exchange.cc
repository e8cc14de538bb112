#include "replication/protocol/exchange.h"

#include <cassert>

#include "replication/protocol/exchange_adaptive.h"
#include "replication/protocol/exchange_bloom.h"
#include "replication/protocol/exchange_header.h"

namespace rocksync {
namespace {

// A responder learns the mode from the first payload.
class UndecidedResponder final : public Exchange {
 public:
  UndecidedResponder(const ExchangeOptions& options, const MappingSeed& seed,
                     std::span<const ElementHash> mine, uint64_t peer_count)
      : options_(options),
        seed_(seed),
        mine_(mine),
        peer_count_(peer_count),
        exchange_(NewAdaptiveExchange(Role::kResponder, options, seed, mine,
                                      peer_count)) {}

  bool NextPayload(std::string* out) override {
    return exchange_->NextPayload(out);
  }
  absl::Status Receive(std::string_view payload) override {
    ExchangeMode mode = ExchangeMode::kAdaptive;
    if (!decided_ && PeekExchangeMode(payload, &mode) &&
        mode == ExchangeMode::kBloom) {
      exchange_ = NewBloomExchange(Role::kResponder, options_, seed_, mine_,
                                   peer_count_);
    }
    decided_ = true;
    return exchange_->Receive(payload);
  }
  bool done() const override { return exchange_->done(); }
  const std::vector<uint32_t>& missing_there() const override {
    return exchange_->missing_there();
  }
  const ExchangeReport& report() const override { return exchange_->report(); }

 private:
  const ExchangeOptions options_;
  const MappingSeed seed_;
  const std::span<const ElementHash> mine_;
  const uint64_t peer_count_;
  bool decided_ = false;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace

std::unique_ptr<Exchange> NewExchange(Role role, const ExchangeOptions& options,
                                      const MappingSeed& seed,
                                      std::span<const ElementHash> mine,
                                      uint64_t peer_count) {
  assert(mine.size() <= size_t{1} << 24);
  if (role == Role::kResponder) {
    return std::make_unique<UndecidedResponder>(options, seed, mine,
                                                peer_count);
  }
  if (options.mode == ExchangeMode::kBloom) {
    return NewBloomExchange(role, options, seed, mine, peer_count);
  }
  return NewAdaptiveExchange(role, options, seed, mine, peer_count);
}

}  // namespace rocksync
