// The first bytes of the initiator's first payload: its options.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_HEADER_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_HEADER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "replication/protocol/exchange.h"

namespace rocksync {

// One byte:
//   0x00  adaptive, prefer bytes
//   0x10  adaptive, prefer round trips
//   0x01  Bloom; the false positive rate follows (8, IEEE 754 big-endian)
// and 0x20 added to an adaptive mode if a message follows in the payload, not
// the power sums of the first sketch.
void PutExchangeHeader(std::string* out, const ExchangeOptions& options,
                       bool message_follows = false);

// Consumes the header and sets mode, prefer and false_positive_rate of
// `*options`. InvalidArgument if it is unknown, truncated or out of range.
absl::Status GetExchangeHeader(std::string_view* input,
                               ExchangeOptions* options, bool* message_follows);

// The mode a first payload asks for, without consuming anything; false if the
// payload is empty or the mode unknown.
bool PeekExchangeMode(std::string_view payload, ExchangeMode* mode);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_HEADER_H_
