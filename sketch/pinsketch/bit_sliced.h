// Bit-sliced numbers of GF(2^bits): bit b of many elements is one vector, so
// that one operation on vectors works on a bit of each. The code is generic in
// the width of a vector; all of it is inlined into entry points that carry the
// target attribute.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_BIT_SLICED_H_
#define ROCKSYNC_SKETCH_PINSKETCH_BIT_SLICED_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "sketch/element/cpu_features.h"
#include "sketch/pinsketch/field.h"

namespace rocksync::power_sums {

#define ROCKSYNC_INLINE inline __attribute__((always_inline))

inline constexpr int kMaxBits = kMaxFieldBits;
// How many outputs of a product are kept in registers at once.
inline constexpr int kTile = 8;
inline constexpr size_t kAlignment = 64;

// Vectors of 64-bit words; `AddAnd` adds a product of bits.
struct Portable {
  using V = uint64_t;
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};
#if ROCKSYNC_X86
#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2,popcnt")))
#define ROCKSYNC_GFNI                                      \
  __attribute__((                                          \
      target("avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq," \
             "avx512vl,gfni")))
struct Avx2 {
  typedef uint64_t V __attribute__((vector_size(32)));
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};
struct Avx512 {
  typedef uint64_t V __attribute__((vector_size(64)));
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};
#endif

// Takes one step of Transpose32: swaps blocks of kWidth bits.
template <int kWidth, typename T>
ROCKSYNC_INLINE void SwapBlocks(T* rows, const T& select) {
#pragma GCC unroll 16
  for (int pair = 0; pair < 16; ++pair) {
    const int k = (pair & ~(kWidth - 1)) << 1 | (pair & (kWidth - 1));
    const T swap = ((rows[k] >> kWidth) ^ rows[k + kWidth]) & select;
    rows[k] ^= swap << kWidth;
    rows[k + kWidth] ^= swap;
  }
}

// Transposes 32 x 32 bit matrices in place (Warren, "Hacker's Delight", 7-3),
// one in each 32-bit lane of T, which is made of words: afterwards bit i of row
// b is what was bit b of row i.
template <typename T, typename Word>
ROCKSYNC_INLINE void Transpose32(T* rows) {
  SwapBlocks<16>(rows, T{} + static_cast<Word>(0x0000ffff0000ffff));
  SwapBlocks<8>(rows, T{} + static_cast<Word>(0x00ff00ff00ff00ff));
  SwapBlocks<4>(rows, T{} + static_cast<Word>(0x0f0f0f0f0f0f0f0f));
  SwapBlocks<2>(rows, T{} + static_cast<Word>(0x3333333333333333));
  SwapBlocks<1>(rows, T{} + static_cast<Word>(0x5555555555555555));
}

// Arithmetic on bit-sliced numbers. A number is `bits` vectors.
template <typename Vector>
class BitSlicedField {
 public:
  using V = typename Vector::V;

  explicit BitSlicedField(int bits) : bits_(bits) {
    for (int k = bits; k <= 2 * bits - 2; ++k) {
      AddTerm(k, Residue(k), &reduction_);
    }
    for (int k = 0; k < bits; ++k) AddTerm(k, Residue(2 * k), &square_);
  }

  int bits() const { return bits_; }

  // Sets `out` to the square of `a`; `out` must not be `a`.
  ROCKSYNC_INLINE void Square(const V* a, V* out) const {
    for (int b = 0; b < bits_; ++b) {
      V sum{};
      for (int t = 0; t < square_.count[b]; ++t) sum ^= a[square_.term[b][t]];
      out[b] = sum;
    }
  }

  // Multiplies `b` by `a`. `b` has kTile zeros before it and kTile after its
  // bits.
  ROCKSYNC_INLINE void Multiply(const V* a, V* b) const {
    V wide[2 * kMaxBits + kTile];
    for (int k = 0; k < 2 * bits_ - 1; k += kTile) {
      V c[kTile];
#pragma GCC unroll 8
      for (int j = 0; j < kTile; ++j) c[j] = V{};
      const int from = std::max(0, k - bits_ + 1);
      const int to = std::min(bits_ - 1, k + kTile - 1);
      for (int i = from; i <= to; ++i) {
        const V factor = a[i];
        const V* const row = b + k - i;
#pragma GCC unroll 8
        for (int j = 0; j < kTile; ++j) Vector::AddAnd(&c[j], factor, row[j]);
      }
#pragma GCC unroll 8
      for (int j = 0; j < kTile; ++j) wide[k + j] = c[j];
    }
    for (int k = 0; k < bits_; ++k) {
      V sum = wide[k];
      for (int t = 0; t < reduction_.count[k]; ++t) {
        sum ^= wide[reduction_.term[k][t]];
      }
      b[k] = sum;
    }
  }

 private:
  // A linear map: bit b of the result is the sum of these bits.
  struct Map {
    uint8_t count[kMaxBits] = {};
    uint8_t term[kMaxBits][kMaxBits];
  };

  // Returns z^k, reduced.
  uint32_t Residue(int k) const {
    uint64_t power = 1;
    for (; k > 0; --k) {
      power <<= 1;
      if (power >> bits_ & 1) {
        power ^= uint64_t{1} << bits_ ^ FieldPolynomial(bits_);
      }
    }
    return static_cast<uint32_t>(power);
  }

  static void AddTerm(int term, uint32_t residue, Map* map) {
    for (; residue != 0; residue &= residue - 1) {
      const int b = std::countr_zero(residue);
      map->term[b][map->count[b]++] = static_cast<uint8_t>(term);
    }
  }

  const int bits_;
  Map reduction_;  // of z^k for k = bits_ .. 2 bits_ - 2
  Map square_;
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_PINSKETCH_BIT_SLICED_H_
