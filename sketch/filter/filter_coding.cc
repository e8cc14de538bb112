#include "sketch/filter/filter_coding.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// The coder's state is in [kLowest, kLowest * 2^32) between symbols.
constexpr uint64_t kLowest = uint64_t{1} << 31;
constexpr int kMaxLow = 40;
// The most low bits that go through the coder in one piece.
constexpr int kRawPiece = 16;

struct Parameters {
  int low = 0;
  uint16_t ratio = 0;
};

// Chooses parameters with a mean quotient of 4 to 8, where the uniform low bits
// cost hardly anything.
Parameters ChooseParameters(uint64_t count, uint64_t range) {
  if (count == 0) return {};
  const double p = static_cast<double>(count) / static_cast<double>(range);
  Parameters chosen;
  while (chosen.low < kMaxLow && std::ldexp(p, chosen.low) < 1.0 / 8) {
    ++chosen.low;
  }
  const double ratio =
      std::exp(std::log1p(-std::min(p, 1 - 1e-9)) * std::ldexp(1, chosen.low));
  chosen.ratio = static_cast<uint16_t>(std::clamp(ratio * 65536, 0.0, 65535.0));
  return chosen;
}

// Encodes backwards: the symbol that is put last is read first.
class Encoder {
 public:
  void Put(uint32_t begin, uint32_t size, int scale_bits) {
    const uint64_t limit = (kLowest >> scale_bits << 32) * size;
    if (state_ >= limit) {
      words_.push_back(static_cast<uint32_t>(state_));
      state_ >>= 32;
    }
    state_ = (state_ / size << scale_bits) + state_ % size + begin;
  }
  void Finish(std::string* out) const {
    PutFixed64(out, state_);
    for (auto word = words_.rbegin(); word != words_.rend(); ++word) {
      PutFixed32(out, *word);
    }
  }

 private:
  uint64_t state_ = kLowest;
  std::vector<uint32_t> words_;
};

}  // namespace

GapModel::GapModel(uint16_t ratio) {
  constexpr uint32_t kTotal = 1 << kScaleBits;
  begin_[0] = 0;
  uint64_t tail = uint64_t{1} << 32;  // ratio^symbol in 1/2^32
  for (uint32_t symbol = 0; symbol <= kEscape; ++symbol) {
    tail = tail * ratio >> 16;
    const uint32_t end =
        kTotal - static_cast<uint32_t>(tail >> (32 - kScaleBits));
    // Each symbol needs at least one unit, the later ones included.
    begin_[symbol + 1] =
        std::clamp(end, begin_[symbol] + 1, kTotal - (kEscape - symbol));
  }
  begin_[kEscape + 1] = kTotal;
  for (uint32_t symbol = 0; symbol <= kEscape; ++symbol) {
    for (uint32_t v = begin_[symbol]; v < begin_[symbol + 1]; ++v) {
      symbol_at_[v] = static_cast<uint8_t>(symbol);
    }
  }
}

void EncodeSlots(std::span<const uint64_t> slots, uint64_t range,
                 std::string* out) {
  const Parameters chosen = ChooseParameters(slots.size(), range);
  const GapModel model(chosen.ratio);
  PutVarint64(out, slots.size());
  PutFixed8(out, static_cast<uint8_t>(chosen.low));
  PutFixed16(out, chosen.ratio);
  Encoder encoder;
  for (size_t i = slots.size(); i-- > 0;) {
    const uint64_t gap = slots[i] - (i > 0 ? slots[i - 1] + 1 : 0);
    // Pieces are read lowest first.
    const int pieces = (chosen.low + kRawPiece - 1) / kRawPiece;
    for (int piece = pieces - 1; piece >= 0; --piece) {
      const int bits = std::min(kRawPiece, chosen.low - piece * kRawPiece);
      const uint64_t value =
          gap >> (piece * kRawPiece) & ((uint64_t{1} << bits) - 1);
      encoder.Put(static_cast<uint32_t>(value), 1, bits);
    }
    const uint64_t quotient = gap >> chosen.low;
    const uint32_t last = static_cast<uint32_t>(quotient % GapModel::kEscape);
    encoder.Put(model.Begin(last), model.Size(last), GapModel::kScaleBits);
    for (uint64_t e = quotient / GapModel::kEscape; e > 0; --e) {
      encoder.Put(model.Begin(GapModel::kEscape), model.Size(GapModel::kEscape),
                  GapModel::kScaleBits);
    }
  }
  encoder.Finish(out);
}

bool SlotReader::Open(std::string_view input, uint64_t range,
                      SlotReader* reader) {
  uint64_t count = 0;
  uint8_t low = 0;
  uint16_t ratio = 0;
  uint64_t state = 0;
  if (!GetVarint64(&input, range, &count) || !GetFixed8(&input, &low) ||
      low > kMaxLow || !GetFixed16(&input, &ratio) ||
      !GetFixed64(&input, &state) || input.size() % 4 != 0) {
    return false;
  }
  reader->input_ = input;
  reader->range_ = range;
  reader->count_ = count;
  reader->read_ = 0;
  reader->next_ = 0;
  reader->state_ = state;
  reader->low_ = low;
  reader->damaged_ = state < kLowest || state >= kLowest << 32;
  reader->model_ = GapModel(ratio);
  return true;
}

bool SlotReader::Refill() {
  if (state_ >= kLowest) return true;
  uint32_t word = 0;
  if (!GetFixed32(&input_, &word)) return false;
  state_ = state_ << 32 | word;
  return true;
}

bool SlotReader::Raw(int bits, uint64_t* value) {
  *value = state_ & ((uint64_t{1} << bits) - 1);
  state_ >>= bits;
  return Refill();
}

bool SlotReader::Next(uint64_t* slot) {
  if (damaged_ || read_ == count_) return false;
  damaged_ = true;  // until this slot is whole
  constexpr uint64_t kMask = (uint64_t{1} << GapModel::kScaleBits) - 1;
  uint64_t quotient = 0;
  uint32_t symbol = 0;
  do {
    const uint32_t value = static_cast<uint32_t>(state_ & kMask);
    symbol = model_.SymbolAt(value);
    state_ = model_.Size(symbol) * (state_ >> GapModel::kScaleBits) + value -
             model_.Begin(symbol);
    if (!Refill()) return false;
    quotient += symbol;
    if (quotient > range_ >> low_) return false;
  } while (symbol == GapModel::kEscape);
  uint64_t gap = quotient << low_;
  for (int shift = 0; shift < low_; shift += kRawPiece) {
    uint64_t piece = 0;
    if (!Raw(std::min(kRawPiece, low_ - shift), &piece)) return false;
    gap |= piece << shift;
  }
  if (gap >= range_ - next_) return false;
  *slot = next_ + gap;
  next_ += gap + 1;
  ++read_;
  damaged_ = false;
  return true;
}

bool SlotReader::ok() const {
  return !damaged_ && read_ == count_ && state_ == kLowest && input_.empty();
}

}  // namespace rocksync
