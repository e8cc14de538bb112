#include "replication/reconcile/exchange_messages.h"

#include <algorithm>
#include <utility>

#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/pinsketch/field.h"

namespace rocksync {
namespace {

constexpr uint64_t kMaxSlices = 1 << 20;

}  // namespace

ExchangeOutbox::ExchangeOutbox(size_t max_payload_bytes)
    : max_body_(std::max<size_t>(max_payload_bytes, 64) - 2) {}

void ExchangeOutbox::Push(ExchangeKind kind, std::string_view body) {
  while (true) {
    const std::string_view piece = body.substr(0, max_body_);
    body.remove_prefix(piece.size());
    const uint8_t more = body.empty() ? 0 : kMoreFollows;
    std::string payload;
    payload.reserve(1 + piece.size());
    PutFixed8(&payload, static_cast<uint8_t>(kind) | more);
    payload.append(piece);
    payloads_.push_back(std::move(payload));
    if (body.empty()) return;
  }
}

std::string ExchangeOutbox::Pop() {
  std::string payload = std::move(payloads_.front());
  payloads_.pop_front();
  return payload;
}

absl::Status ExchangeInbox::Add(std::string_view payload, bool* complete) {
  *complete = false;
  uint8_t byte = 0;
  if (!GetFixed8(&payload, &byte)) {
    return absl::InvalidArgumentError("empty exchange payload");
  }
  const uint8_t kind = byte & ~kMoreFollows;
  if (kind == 0 || kind > kMaxExchangeKind) {
    return absl::InvalidArgumentError("unknown exchange message");
  }
  if (partial_ && static_cast<ExchangeKind>(kind) != kind_) {
    return absl::InvalidArgumentError("exchange message interrupted");
  }
  if (!partial_) body_.clear();
  if (payload.size() > max_bytes_ - body_.size()) {
    return absl::InvalidArgumentError("exchange message too long");
  }
  kind_ = static_cast<ExchangeKind>(kind);
  body_.append(payload);
  partial_ = (byte & kMoreFollows) != 0;
  *complete = !partial_;
  return absl::OkStatus();
}

void PackSums(const std::vector<uint32_t>& sums, int bits, std::string* out) {
  BitWriter writer(out);
  for (const uint32_t sum : sums) writer.Put(sum, bits);
}

absl::Status UnpackSums(std::string_view bytes, int bits, uint64_t rows,
                        uint32_t max_per_row, std::vector<uint32_t>* sums) {
  const uint64_t per_row = 8 * uint64_t{bytes.size()} / bits / rows;
  if (per_row == 0 || per_row > max_per_row) {
    return absl::InvalidArgumentError("wrong number of power sums");
  }
  const uint64_t count = per_row * rows;
  if (bytes.size() != (count * bits + 7) / 8) {
    return absl::InvalidArgumentError("power sums of a wrong size");
  }
  sums->resize(count);
  BitReader reader(bytes);
  for (uint32_t& sum : *sums) {
    uint64_t value = 0;
    if (!reader.Get(bits, &value)) {
      return absl::InvalidArgumentError("power sums truncated");
    }
    sum = static_cast<uint32_t>(value);
  }
  if (!reader.AtEnd()) {
    return absl::InvalidArgumentError("spare bits after power sums");
  }
  return absl::OkStatus();
}

void PutIdShape(const IdShape& shape, std::string* out) {
  PutVarint64(out, shape.groups);
  PutFixed8(out, static_cast<uint8_t>(shape.bits));
}

absl::Status GetIdShape(std::string_view* input, uint32_t max_groups,
                        IdShape* shape) {
  uint64_t groups = 0;
  uint8_t bits = 0;
  if (!GetVarint64(input, max_groups, &groups) || groups == 0) {
    return absl::InvalidArgumentError("sketch of too many groups");
  }
  if (!GetFixed8(input, &bits) || bits < kMinFieldBits ||
      bits > kMaxFieldBits) {
    return absl::InvalidArgumentError("sketch with ids of a wrong width");
  }
  shape->groups = static_cast<uint32_t>(groups);
  shape->bits = bits;
  return absl::OkStatus();
}

void PutCoupledShape(const CoupledShape& shape, std::string* out) {
  PutVarint64(out, shape.windows);
  PutVarint64(out, shape.cells);
}

absl::Status GetCoupledShape(std::string_view* input, uint64_t max_cells,
                             CoupledShape* shape) {
  uint64_t windows = 0;
  uint64_t cells = 0;
  if (!GetVarint64(input, kMaxCoupledWindows, &windows) || windows == 0 ||
      !GetVarint64(input, kMaxSegmentCells, &cells) || cells == 0) {
    return absl::InvalidArgumentError("parities out of range");
  }
  shape->windows = static_cast<uint32_t>(windows);
  shape->cells = static_cast<uint32_t>(cells);
  if (shape->total_cells() > max_cells) {
    return absl::InvalidArgumentError("more parities than elements call for");
  }
  return absl::OkStatus();
}

void PutParityOutcome(const ParityOutcome& outcome, std::string* out) {
  PutVarint64(out, outcome.found);
  PutVarint64(out, outcome.unexplained);
}

absl::Status GetParityOutcome(std::string_view input, ParityOutcome* outcome) {
  constexpr uint64_t kMaxCells =
      2 * uint64_t{kMaxCoupledWindows + kCoupledCells} * kMaxSegmentCells;
  if (!GetVarint64(&input, kMaxKeyedElements, &outcome->found) ||
      !GetVarint64(&input, kMaxCells, &outcome->unexplained) ||
      !input.empty()) {
    return absl::InvalidArgumentError("outcome of parities out of range");
  }
  return absl::OkStatus();
}

void PutFilterHead(const FilterHead& head, std::string* out) {
  PutVarint64(out, head.found);
  PutVarint64(out, head.slots);
  if (head.slots > 0) PutVarint64(out, head.slices - 1);
}

absl::Status GetFilterHead(std::string_view* input, FilterHead* head) {
  uint64_t more = 0;
  if (!GetVarint64(input, kMaxKeyedElements, &head->found) ||
      !GetVarint64(input, kMaxReductionRange, &head->slots)) {
    return absl::InvalidArgumentError("filter head out of range");
  }
  if (head->slots == 0) {
    if (!input->empty()) {
      return absl::InvalidArgumentError("bytes after an absent filter");
    }
    return absl::OkStatus();
  }
  if (!GetVarint64(input, kMaxSlices - 1, &more)) {
    return absl::InvalidArgumentError("filter of too many slices");
  }
  head->slices = more + 1;
  return absl::OkStatus();
}

}  // namespace rocksync
