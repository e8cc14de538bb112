// The paper's exchange: one Distributed Bloom Filter each way.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_BLOOM_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_BLOOM_H_

#include <memory>
#include <span>

#include "replication/reconcile/exchange.h"

namespace rocksync {

// Makes one side of a Bloom exchange. One exchange is one round: the initiator
// sends a filter of its elements, the responder another of its own, and each
// learns which of its elements are surely missing at the peer. What the filters
// hide is left to the caller's next round. Payloads (see docs/exchange.md):
//   initiator's first = 0x01 | false positive rate (8, IEEE 754 big-endian)
//                       | slice
//   any other         = slice
// where the slices of a filter, each at most max_payload_bytes, are its bytes
// in order. Sizes of filters follow from the counts both sides know.
std::unique_ptr<Exchange> NewBloomExchange(Role role,
                                           const ExchangeOptions& options,
                                           const MappingSeed& seed,
                                           std::span<const ElementHash> mine,
                                           uint64_t peer_count);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_BLOOM_H_
