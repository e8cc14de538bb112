// Codes the set slots of a sparse one-probe filter as bytes, within 2 % of
// m * H(p) (the compressed Bloom filter, Mitzenmacher 2001, with k = 1): gaps
// between set slots, which are geometric, through a range asymmetric numeral
// system (Duda, arXiv 1311.2540). They are decoded in a stream, in constant
// memory.
//
//   count (varint) | low (1) | ratio (2) | state (8) | words (4 each)
//
// A gap g (slots skipped before a set one) is (g >> low) in the symbols 0..62
// of a geometric model with ratio / 65536 between neighbours, 63 standing for
// "63 more", and then the low bits, uniform. Integers big-endian.

#ifndef ROCKSYNC_SKETCH_FILTER_FILTER_CODING_H_
#define ROCKSYNC_SKETCH_FILTER_FILTER_CODING_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rocksync {

// Appends `slots`, ascending, distinct, all below `range` (<= 2^40).
void EncodeSlots(std::span<const uint64_t> slots, uint64_t range,
                 std::string* out);

// A model of gaps: cumulative frequencies in 1/2^14, computed in integers and
// so the same on both sides.
class GapModel {
 public:
  static constexpr int kScaleBits = 14;
  static constexpr uint32_t kEscape = 63;

  // `ratio` in [0, 65535].
  explicit GapModel(uint16_t ratio);

  uint32_t Begin(uint32_t symbol) const { return begin_[symbol]; }
  uint32_t Size(uint32_t symbol) const {
    return begin_[symbol + 1] - begin_[symbol];
  }
  uint32_t SymbolAt(uint32_t value) const { return symbol_at_[value]; }

 private:
  std::array<uint32_t, kEscape + 2> begin_;
  std::array<uint8_t, 1 << kScaleBits> symbol_at_;
};

// Reads what EncodeSlots wrote. Damaged input yields false or other slots, but
// nothing beyond the input or the range is read.
class SlotReader {
 public:
  // Returns false if the head is truncated or out of range. `input` and its
  // bytes must outlive the reader.
  static bool Open(std::string_view input, uint64_t range, SlotReader* reader);

  uint64_t count() const { return count_; }

  // Reads the next slot. Returns false at the end and at the first sign of
  // damage.
  bool Next(uint64_t* slot);

  // Returns, after Next has returned false, whether all slots came, the coder
  // is back in its first state and no input is left over.
  bool ok() const;

 private:
  bool Refill();
  bool Raw(int bits, uint64_t* value);

  std::string_view input_;
  uint64_t range_ = 0;
  uint64_t count_ = 0;
  uint64_t read_ = 0;
  uint64_t next_ = 0;
  uint64_t state_ = 0;
  int low_ = 0;
  bool damaged_ = false;
  GapModel model_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_FILTER_FILTER_CODING_H_
