// The adaptive exchange: a small sketch first; if that does not decode, an
// estimate, then filters where they pay, then the exact finish.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_ADAPTIVE_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_ADAPTIVE_H_

#include <memory>
#include <span>

#include "replication/protocol/exchange.h"

namespace rocksync {

// The initiator sends and plans, the responder decodes and answers:
//   initiator                        responder
//   probe                         -> kAnswer (the end)
//                                  | kPartial (more sums) | kEstimate
//                                  | kFilter (if it holds far fewer)
//   kExtend | kSketch             -> kAnswer | kPartial
//   kFilter kSlice*               -> kFilter kSlice*
//   kAskFilter                    -> kFilter kSlice*
// See docs/exchange.md. If a side is empty nothing is sent at all.
std::unique_ptr<Exchange> NewAdaptiveExchange(Role role,
                                              const ExchangeOptions& options,
                                              const MappingSeed& seed,
                                              std::span<const ElementHash> mine,
                                              uint64_t peer_count);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_ADAPTIVE_H_
