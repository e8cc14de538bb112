#include "replication/reconcile/exchange_header.h"

#include <bit>
#include <cstdint>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kAdaptiveBytes = 0x00;
constexpr uint8_t kBloomFilters = 0x01;
constexpr uint8_t kAdaptiveRoundTrips = 0x10;

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

absl::Status ReceiveExchangeHeader(const ExchangeOptions& options,
                                   std::string_view* input, Follows* follows) {
  constexpr uint8_t kFollows = static_cast<uint8_t>(Follows::kPlanner) |
                               static_cast<uint8_t>(Follows::kAnswerer);
  const uint8_t what =
      input->empty() ? 0 : static_cast<uint8_t>(input->front()) & kFollows;
  *follows = static_cast<Follows>(what);
  std::string header;
  PutExchangeHeader(&header, options, *follows);
  if (what == kFollows || !input->starts_with(header)) {
    return absl::InvalidArgumentError("not the exchange that was agreed upon");
  }
  input->remove_prefix(header.size());
  return absl::OkStatus();
}

}  // namespace rocksync
