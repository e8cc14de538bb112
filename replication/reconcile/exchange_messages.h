// The messages of an adaptive exchange as bytes; docs/exchange.md describes
// them.
//
// A message is a kind byte and a body. A message longer than max_payload_bytes
// travels in several payloads. Each begins with the kind byte, and all but the
// last add kMoreFollows to it.

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
  kSketch = 1,         // planner: power sums of all groups of a new shape
  kExtend = 2,         // planner: more power sums of the groups that failed
  kFilter = 3,         // either: the head and first slice of a filter
  kSlice = 4,          // either: a further slice
  kAskFilter = 5,      // planner: asks for a filter of this rate first
  kEstimate = 6,       // answerer: parities; the probe did not decode
  kPartial = 7,        // answerer: some groups decoded; asks for more sums
  kAnswer = 8,         // answerer: names what it lacks; the end
  kFound = 9,          // answerer: found (varint), see FilterHead
  kParities = 10,      // planner: coupled parities, see ParitySender
  kSplits = 11,        // planner: cells are split, see ParitySender
  kMoreParities = 12,  // answerer: not decoded; surplus (varint), or, of
                       // keys, 2 * differing + (plane 0 decoded)
  kExplained = 13,     // answerer: decoded; see ParityOutcome
  kKeyParities = 14,   // planner: parities of keys, see KeyParitySender
};
inline constexpr uint8_t kMaxExchangeKind = 14;
inline constexpr uint8_t kMoreFollows = 0x80;

// Cuts outgoing messages into payloads.
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

// Puts messages together from incoming payloads.
class ExchangeInbox {
 public:
  // `max_bytes` is the most bytes of a message.
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

// Appends power sums as bits: `bits` each, row after row, least significant
// first.
void PackSums(const std::vector<uint32_t>& sums, int bits, std::string* out);
// Reads the largest multiple of `rows` sums that fits. Returns InvalidArgument
// if that is 0 or above max_per_row * rows, or if the rest is a byte or more or
// not 0.
absl::Status UnpackSums(std::string_view bytes, int bits, uint64_t rows,
                        uint32_t max_per_row, std::vector<uint32_t>* sums);

// kSketch: groups (varint) | bits (1) | sums
void PutIdShape(const IdShape& shape, std::string* out);
absl::Status GetIdShape(std::string_view* input, uint32_t max_groups,
                        IdShape* shape);

// kFilter: found (varint) | slots (varint) [| slices - 1 (varint) | first
// slice]. `found` is how many of the sender's elements it has found missing so
// far. Zero slots mean that there is no filter.
struct FilterHead {
  uint64_t found = 0;
  uint64_t slots = 0;
  uint64_t slices = 1;
};
void PutFilterHead(const FilterHead& head, std::string* out);
absl::Status GetFilterHead(std::string_view* input, FilterHead* head);

// kParities: windows (varint) | cells (varint) | parities of the cells.
// GetCoupledShape refuses more than `max_cells` cells in all.
void PutCoupledShape(const CoupledShape& shape, std::string* out);
absl::Status GetCoupledShape(std::string_view* input, uint64_t max_cells,
                             CoupledShape* shape);

// kExplained: found (varint) | unexplained cells (varint). `found` is how many
// elements the answerer found that the planner lacks; without unexplained cells
// the exchange is over. For parities of keys `unexplained` is how many planes
// were decoded, and the exchange is over anyway.
struct ParityOutcome {
  uint64_t found = 0;
  uint64_t unexplained = 0;
};
void PutParityOutcome(const ParityOutcome& outcome, std::string* out);
absl::Status GetParityOutcome(std::string_view input, ParityOutcome* outcome);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_MESSAGES_H_
