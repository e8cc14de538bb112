// The kernel of power_sums.cc for small groups and few sums: it computes each
// power of each element.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_KERNEL_H_
#define ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_KERNEL_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "sketch/pinsketch/bit_sliced.h"
#include "sketch/pinsketch/power_sums.h"

namespace rocksync::power_sums {

inline constexpr size_t kWordBits = 64;

// The part of a group that one lane of words works off.
struct Chunk {
  size_t begin = 0;
  size_t end = 0;
  size_t group = 0;
};

// Sets words[b] to bit b of up to 64 elements.
ROCKSYNC_INLINE void Slice64(const uint32_t* elements, size_t n,
                             uint64_t* words, int bits) {
  uint32_t low[32];
  uint32_t high[32];
  const size_t n_low = std::min<size_t>(n, 32);
  std::memcpy(low, elements, 4 * n_low);
  std::memset(low + n_low, 0, 4 * (32 - n_low));
  const size_t n_high = n - n_low;
  std::memcpy(high, elements + n_low, 4 * n_high);
  std::memset(high + n_high, 0, 4 * (32 - n_high));
  Transpose32<uint32_t, uint32_t>(low);
  Transpose32<uint32_t, uint32_t>(high);
  for (int b = 0; b < bits; ++b) {
    words[b] = uint64_t{high[b]} << 32 | low[b];
  }
}

// Computes power sums with 64 elements of a group as the bits of one word, and
// as many groups side by side as words fit a vector.
template <typename Vector>
class Kernel {
 public:
  using V = typename Vector::V;
  static constexpr size_t kWords = sizeof(V) / 8;

  ROCKSYNC_INLINE Kernel(int bits, uint32_t first, uint32_t count)
      : field_(bits), bits_(bits), first_(first), count_(count) {
    // A vector of V would not be aligned as V is inside the entry points.
    storage_.resize(size_t{count} * bits * kWords + kAlignment / 8);
    const uintptr_t address = reinterpret_cast<uintptr_t>(storage_.data());
    sums_ = reinterpret_cast<V*>((address + kAlignment - 1) / kAlignment *
                                 kAlignment);
  }

  // Adds the power sums of up to kWords chunks to their rows of `out`, which
  // are `stride` apart.
  ROCKSYNC_INLINE void Run(const uint32_t* elements, const Chunk* chunks,
                           size_t n_chunks, uint32_t* out, size_t stride) {
    std::memset(static_cast<void*>(sums_), 0,
                size_t{count_} * bits_ * sizeof(V));
    size_t longest = 0;
    for (size_t c = 0; c < n_chunks; ++c) {
      longest = std::max(longest, chunks[c].end - chunks[c].begin);
    }
    for (size_t at = 0; at < longest; at += kWordBits) {
      Step(elements, chunks, n_chunks, at);
    }
    for (size_t i = 0; i < count_; ++i) {
      for (size_t c = 0; c < n_chunks; ++c) {
        uint32_t value = 0;
        for (int b = 0; b < bits_; ++b) {
          const uint64_t word =
              reinterpret_cast<const Words*>(&sums_[i * bits_ + b])->word[c];
          value |= static_cast<uint32_t>(std::popcount(word) & 1) << b;
        }
        out[chunks[c].group * stride + i] ^= value;
      }
    }
  }

 private:
  struct __attribute__((may_alias)) Words {
    uint64_t word[kWords];
  };

  ROCKSYNC_INLINE void Step(const uint32_t* elements, const Chunk* chunks,
                            size_t n_chunks, size_t at) {
    alignas(64) uint64_t words[kWords][kMaxBits] = {};
    for (size_t c = 0; c < n_chunks; ++c) {
      const size_t begin = chunks[c].begin + at;
      if (begin >= chunks[c].end) continue;
      Slice64(elements + begin, std::min(kWordBits, chunks[c].end - begin),
              words[c], bits_);
    }
    V x[kMaxBits];
    for (int b = 0; b < bits_; ++b) {
      Words value;
      for (size_t c = 0; c < kWords; ++c) value.word[c] = words[c][b];
      std::memcpy(static_cast<void*>(&x[b]), &value, sizeof(V));
    }
    V square[kMaxBits];
    field_.Square(x, square);
    // `padded` holds a number with kTile zeros before and after it.
    V padded[kMaxBits + 2 * kTile];
    std::memset(static_cast<void*>(padded), 0, sizeof(padded));
    V* const power = padded + kTile;
    std::memcpy(static_cast<void*>(power), x, bits_ * sizeof(V));
    if (first_ > 0) RaiseTo(x, square, power);
    for (uint32_t i = 0;; ++i) {
      V* const sums = &sums_[size_t{i} * bits_];
      for (int b = 0; b < bits_; ++b) sums[b] ^= power[b];
      if (i + 1 == count_) break;
      field_.Multiply(square, power);
    }
  }

  // Sets `power` to x * square^first_, by repeated squaring from the top bit.
  ROCKSYNC_INLINE void RaiseTo(const V* x, const V* square, V* power) {
    V result[kMaxBits + 2 * kTile];
    std::memset(static_cast<void*>(result), 0, sizeof(result));
    V* const r = result + kTile;
    std::memcpy(static_cast<void*>(r), square, bits_ * sizeof(V));
    for (int bit = std::bit_width(first_) - 2; bit >= 0; --bit) {
      V squared[kMaxBits];
      field_.Square(r, squared);
      std::memcpy(static_cast<void*>(r), squared, bits_ * sizeof(V));
      if (first_ >> bit & 1) field_.Multiply(square, r);
    }
    field_.Multiply(x, r);
    std::memcpy(static_cast<void*>(power), r, bits_ * sizeof(V));
  }

  const BitSlicedField<Vector> field_;
  const int bits_;
  const uint32_t first_;
  const uint32_t count_;
  std::vector<uint64_t> storage_;
  V* sums_;  // count_ rows of bits_, in storage_
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_PINSKETCH_POWER_SUMS_KERNEL_H_
