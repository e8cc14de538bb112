// The header of an exchange opens the initiator's first payload: the options,
// which both sides have agreed upon, and what follows.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_HEADER_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_HEADER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"

namespace rocksync {

// The header is one byte:
//   0x00  adaptive, prefer bytes
//   0x10  adaptive, prefer round trips
//   0x01  Bloom; the false positive rate follows (8, IEEE 754 big-endian)
// What follows is added to an adaptive mode: 0x20 a message of the initiator as
// the planner, 0x40 one of the initiator as the answerer, 0 the power sums of
// the first sketch.
enum class Follows : uint8_t { kProbe = 0, kPlanner = 0x20, kAnswerer = 0x40 };
void PutExchangeHeader(std::string* out, const ExchangeOptions& options,
                       Follows follows = Follows::kProbe);

// Consumes the header. Returns InvalidArgument if it is truncated, or not that
// of an exchange with these options.
absl::Status ReceiveExchangeHeader(const ExchangeOptions& options,
                                   std::string_view* input, Follows* follows);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_HEADER_H_
