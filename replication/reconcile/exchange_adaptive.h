// The adaptive exchange sends a small sketch first. If that does not decode, an
// estimate follows, then filters or parities where they pay, then a sketch
// of what is undecided.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_

#include <memory>
#include <span>

#include "replication/reconcile/exchange.h"

namespace rocksync {

// Makes one side of an adaptive exchange. The planner plans and sends power
// sums, the answerer decodes and answers:
//   planner                          answerer
//   probe                         -> kAnswer (the end)
//                                  | kPartial (more sums) | kEstimate
//   kExtend | kSketch             -> kAnswer | kPartial
//   kFilter kSlice*               -> kFilter kSlice* | kFound
//   kAskFilter                    -> kFilter kSlice*
//   kParities | kSplits           -> kMoreParities | kExplained
//   kKeyParities                  -> kMoreParities | kExplained
// The initiator plans, with two exceptions. It opens as the answerer if no
// small sketch will do, because it holds many more elements (its surplus need
// not be named then), or because many differ and it holds hardly fewer. It
// opens with its estimate, or with nothing if it has many times more. And if
// round trips matter, the estimate travels with the probe, and the side that
// cannot decode the probe is the planner from then on. See docs/exchange.md.
// Nothing is sent if a side is empty.
std::unique_ptr<Exchange> NewAdaptiveExchange(
    Role role, const ExchangeOptions& options, const MappingSeed& seed,
    std::span<const ElementHash> mine, uint64_t peer_count,
    std::span<const uint64_t> positions, uint64_t own_count);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ADAPTIVE_H_
