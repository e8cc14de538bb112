// A peer that sends arbitrary payloads, in either role: the exchange refuses
// them or ends, its answers are ordinals of its own elements, and it neither
// talks without end nor remembers more than it was sent.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "replication/reconcile/exchange.h"

namespace {

std::vector<rocksync::ElementHash> Elements(size_t n) {
  std::vector<rocksync::ElementHash> elements(n);
  uint64_t state = 1;
  for (rocksync::ElementHash& e : elements) {
    for (uint64_t* half : {&e.high, &e.low}) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      *half = state ^ state >> 29;
    }
  }
  return elements;
}

}  // namespace

// data: role and options (1), size of this side (1), claim of the peer (1),
// then payloads, each after its length (2).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const rocksync::Role role = (data[0] & 1) != 0 ? rocksync::Role::kInitiator
                                                 : rocksync::Role::kResponder;
  rocksync::ExchangeOptions options;
  if ((data[0] & 2) != 0) options.mode = rocksync::ExchangeMode::kBloom;
  if ((data[0] & 4) != 0) options.prefer = rocksync::Prefer::kRoundTrips;
  if ((data[0] & 8) != 0) options.max_payload_bytes = 100;
  const std::vector<rocksync::ElementHash> mine = Elements(size_t{data[1]} * 4);
  const uint64_t claim = uint64_t{1} << (data[2] % 64);
  std::vector<uint64_t> positions;
  for (size_t i = 0; (data[0] & 16) != 0 && i < mine.size(); ++i) {
    positions.push_back(mine[i].low ^ i);
  }
  const auto exchange =
      rocksync::NewExchange(role, options, {}, mine, claim, positions);
  std::string_view input(reinterpret_cast<const char*>(data) + 3, size - 3);
  std::string out;
  while (true) {
    size_t sent = 0;
    while (exchange->NextPayload(&out)) {
      out.clear();
      if (++sent > 100'000) std::abort();
    }
    if (exchange->done() || input.size() < 2) break;
    const size_t length = static_cast<uint8_t>(input[0]) * size_t{256} +
                          static_cast<uint8_t>(input[1]);
    input.remove_prefix(2);
    const std::string_view payload = input.substr(0, length);
    input.remove_prefix(payload.size());
    if (!exchange->Receive(payload).ok()) return 0;
  }
  if (!exchange->done()) return 0;
  const std::vector<uint32_t>& missing = exchange->missing_there();
  if (!std::is_sorted(missing.begin(), missing.end())) std::abort();
  if (!missing.empty() && missing.back() >= mine.size()) std::abort();
  return 0;
}
