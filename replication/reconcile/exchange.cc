#include "replication/reconcile/exchange.h"

#include <cassert>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_adaptive.h"
#include "replication/reconcile/exchange_bloom.h"

namespace rocksync {

std::string Explain(const ExchangeReport& report) {
  std::string text = report.plan;
  absl::StrAppend(&text, ": ", report.filter_bytes + report.sketch_bytes, " B");
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
                                      uint64_t peer_count,
                                      std::span<const uint64_t> positions,
                                      std::optional<uint64_t> own_count) {
  assert(mine.size() <= kMaxExchangeElements);
  assert(positions.empty() || positions.size() == mine.size());
  return options.mode == ExchangeMode::kBloom
             ? NewBloomExchange(role, options, seed, mine, peer_count)
             : NewAdaptiveExchange(role, options, seed, mine, peer_count,
                                   positions, own_count.value_or(mine.size()));
}

}  // namespace rocksync
