// The messages of an adaptive exchange as bytes. docs/exchange.md is the prose.
//
// A message is a kind byte and a body. One longer than max_payload_bytes
// travels in several payloads, each beginning with the kind byte and all but
// the last with kMoreFollows added to it.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_MESSAGES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_MESSAGES_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/parities/coupled_parities.h"
#include "sketch/pinsketch/keyed_set.h"

namespace rocksync {

enum class ExchangeKind : uint8_t {
  kSketch = 1,     // initiator: power sums of all groups of a new shape
  kExtend = 2,     // initiator: more power sums of the groups that failed
  kFilter = 3,     // either: the head and first slice of a filter
  kSlice = 4,      // either: a further slice
  kAskFilter = 5,  // initiator: send me a filter of this rate first
  kEstimate = 6,   // responder: parities; the probe did not decode
  kPartial = 7,    // responder: some groups decoded; more sums for the others
  kAnswer = 8,     // responder: what I lack of yours; the end
  kFound = 9,      // responder: found (varint), see FilterHead
  kParities = 10,  // initiator: coupled parities, see ParitySender
  kSplits = 11,    // initiator: cells are split, see ParitySender
  kMoreParities = 12,  // responder: not decoded; surplus (varint)
  kExplained = 13,     // responder: they do, see ParityOutcome
  kKeyParities = 14,   // initiator: parities of keys, see KeyParitySender
};
inline constexpr uint8_t kMaxExchangeKind = 14;
inline constexpr uint8_t kMoreFollows = 0x80;

// Messages on their way out, cut into payloads.
class ExchangeOutbox {
 public:
  explicit ExchangeOutbox(size_t max_payload_bytes);
  void Push(ExchangeKind kind, std::string_view body);
  bool empty() const { return payloads_.empty(); }
  std::string Pop();

 private:
  const size_t max_body_;
  std::deque<std::string> payloads_;
};

// Payloads coming in, put together.
class ExchangeInbox {
 public:
  // No message may be longer than `max_bytes`.
  explicit ExchangeInbox(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Takes a payload. `*complete` says whether `kind` and `body` are now a
  // message; they stay valid until the next call.
  absl::Status Add(std::string_view payload, bool* complete);
  ExchangeKind kind() const { return kind_; }
  std::string_view body() const { return body_; }

 private:
  const uint64_t max_bytes_;
  bool partial_ = false;
  ExchangeKind kind_ = ExchangeKind::kAnswer;
  std::string body_;
};

// Power sums as bits: `bits` each, row after row, least significant first.
void PackSums(const std::vector<uint32_t>& sums, int bits, std::string* out);
// The number of sums is the largest multiple of `rows` that fits;
// InvalidArgument if it is 0, above max_per_row * rows, or if the rest is a
// byte or more or not 0.
absl::Status UnpackSums(std::string_view bytes, int bits, uint64_t rows,
                        uint32_t max_per_row, std::vector<uint32_t>* sums);

// kSketch: groups (varint) | bits (1) | sums
void PutIdShape(const IdShape& shape, std::string* out);
absl::Status GetIdShape(std::string_view* input, uint32_t max_groups,
                        IdShape* shape);

// kFilter: found (varint) | slots (varint) [| slices - 1 (varint) | first
// slice]. `found`: how many of the sender's elements it has found missing so
// far. Without slots there is no filter.
struct FilterHead {
  uint64_t found = 0;
  uint64_t slots = 0;
  uint64_t slices = 1;
};
void PutFilterHead(const FilterHead& head, std::string* out);
absl::Status GetFilterHead(std::string_view* input, FilterHead* head);

// kParities: windows (varint) | cells (varint) | parities of the cells. No more
// than `max_cells` cells in all.
void PutCoupledShape(const CoupledShape& shape, std::string* out);
absl::Status GetCoupledShape(std::string_view* input, uint64_t max_cells,
                             CoupledShape* shape);

// kExplained: found (varint) | unexplained cells (varint). How many elements
// the responder found that the initiator lacks; without unexplained cells the
// exchange is over. Of parities of keys `unexplained` is how many planes were
// decoded, and the exchange is over anyway.
struct ParityOutcome {
  uint64_t found = 0;
  uint64_t unexplained = 0;
};
void PutParityOutcome(const ParityOutcome& outcome, std::string* out);
absl::Status GetParityOutcome(std::string_view input, ParityOutcome* outcome);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_MESSAGES_H_
