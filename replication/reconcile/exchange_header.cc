#include "replication/reconcile/exchange_header.h"

#include <bit>
#include <cstdint>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kAdaptiveBytes = 0x00;
constexpr uint8_t kBloomFilters = 0x01;
constexpr uint8_t kAdaptiveRoundTrips = 0x10;

// Below this a filter's size has nothing to do with reconciliation any more.
constexpr double kMinFalsePositiveRate = 1e-12;

}  // namespace

void PutExchangeHeader(std::string* out, const ExchangeOptions& options,
                       Follows follows) {
  if (options.mode == ExchangeMode::kBloom) {
    PutFixed8(out, kBloomFilters);
    PutFixed64(out, std::bit_cast<uint64_t>(options.false_positive_rate));
    return;
  }
  const uint8_t mode =
      options.prefer == Prefer::kBytes ? kAdaptiveBytes : kAdaptiveRoundTrips;
  PutFixed8(out, mode | static_cast<uint8_t>(follows));
}

absl::Status GetExchangeHeader(std::string_view* input,
                               ExchangeOptions* options, Follows* follows) {
  uint8_t byte = 0;
  if (!GetFixed8(input, &byte)) {
    return absl::InvalidArgumentError("exchange header truncated");
  }
  if (byte == kBloomFilters) {
    options->mode = ExchangeMode::kBloom;
    uint64_t rate_bits = 0;
    if (!GetFixed64(input, &rate_bits)) {
      return absl::InvalidArgumentError("exchange header truncated");
    }
    const double rate = std::bit_cast<double>(rate_bits);
    if (!(rate >= kMinFalsePositiveRate && rate < 1)) {
      return absl::InvalidArgumentError("false positive rate out of range");
    }
    options->false_positive_rate = rate;
    return absl::OkStatus();
  }
  constexpr uint8_t kFollows = static_cast<uint8_t>(Follows::kPlanner) |
                               static_cast<uint8_t>(Follows::kAnswerer);
  *follows = static_cast<Follows>(byte & kFollows);
  const uint8_t mode = byte & static_cast<uint8_t>(~kFollows);
  if ((byte & kFollows) == kFollows ||
      (mode != kAdaptiveBytes && mode != kAdaptiveRoundTrips)) {
    return absl::InvalidArgumentError("unknown exchange mode");
  }
  options->mode = ExchangeMode::kAdaptive;
  options->prefer =
      mode == kAdaptiveRoundTrips ? Prefer::kRoundTrips : Prefer::kBytes;
  return absl::OkStatus();
}

}  // namespace rocksync
