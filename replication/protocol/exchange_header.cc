#include "replication/protocol/exchange_header.h"

#include <bit>
#include <cstdint>

#include "sketch/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kAdaptiveBytes = 0x00;
constexpr uint8_t kBloomFilters = 0x01;
constexpr uint8_t kAdaptiveRoundTrips = 0x10;
constexpr uint8_t kMessageFollows = 0x20;

// Below this a filter's size has nothing to do with reconciliation any more.
constexpr double kMinFalsePositiveRate = 1e-12;

}  // namespace

void PutExchangeHeader(std::string* out, const ExchangeOptions& options,
                       bool message_follows) {
  if (options.mode == ExchangeMode::kBloom) {
    PutFixed8(out, kBloomFilters);
    PutFixed64(out, std::bit_cast<uint64_t>(options.false_positive_rate));
    return;
  }
  const uint8_t mode =
      options.prefer == Prefer::kBytes ? kAdaptiveBytes : kAdaptiveRoundTrips;
  PutFixed8(out, mode | (message_follows ? kMessageFollows : 0));
}

bool PeekExchangeMode(std::string_view payload, ExchangeMode* mode) {
  uint8_t byte = 0;
  if (!GetFixed8(&payload, &byte)) return false;
  switch (byte) {
    case kAdaptiveBytes:
    case kAdaptiveRoundTrips:
    case kAdaptiveBytes | kMessageFollows:
    case kAdaptiveRoundTrips | kMessageFollows:
      *mode = ExchangeMode::kAdaptive;
      return true;
    case kBloomFilters:
      *mode = ExchangeMode::kBloom;
      return true;
    default:
      return false;
  }
}

absl::Status GetExchangeHeader(std::string_view* input,
                               ExchangeOptions* options,
                               bool* message_follows) {
  if (!PeekExchangeMode(*input, &options->mode)) {
    return absl::InvalidArgumentError("unknown exchange mode");
  }
  uint8_t byte = 0;
  if (!GetFixed8(input, &byte)) {
    return absl::InvalidArgumentError("exchange header truncated");
  }
  options->prefer =
      (byte & kAdaptiveRoundTrips) != 0 ? Prefer::kRoundTrips : Prefer::kBytes;
  *message_follows = (byte & kMessageFollows) != 0;
  if (options->mode == ExchangeMode::kAdaptive) return absl::OkStatus();
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

}  // namespace rocksync
