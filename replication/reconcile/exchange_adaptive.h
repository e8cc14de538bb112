// The adaptive exchange: a small sketch first; if that does not decode, an
// estimate, then filters where they pay, then the exact finish.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_

#include <memory>
#include <span>

#include "replication/reconcile/exchange.h"

namespace rocksync {

// One side plans and sends power sums, the other decodes and answers:
//   planner                          answerer
//   probe                         -> kAnswer (the end)
//                                  | kPartial (more sums) | kEstimate
//   kExtend | kSketch             -> kAnswer | kPartial
//   kFilter kSlice*               -> kFilter kSlice* | kFound
//   kAskFilter                    -> kFilter kSlice*
// The initiator plans, with two exceptions. If it holds more elements, so much
// that no small sketch will do, it opens as the answerer (its surplus need not
// be named then) with its estimate, or with nothing if it has many times
// more. And if round trips matter, the estimate travels with the probe, and
// whoever cannot decode the probe is the planner from then on.
// See docs/exchange.md. If a side is empty nothing is sent at all.
std::unique_ptr<Exchange> NewAdaptiveExchange(
    Role role, const ExchangeOptions& options, const MappingSeed& seed,
    std::span<const ElementHash> mine, uint64_t peer_count,
    std::span<const uint64_t> positions, uint64_t own_count);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_
