#include "sketch/pinsketch/field.h"

#include <array>
#include <bit>
#include <cassert>
#include <utility>

#if ROCKSYNC_X86
#include <immintrin.h>
#endif

namespace rocksync {
namespace {

constexpr std::array<uint32_t, kMaxFieldBits + 1> kPolynomials = {
    0,    0,    0,    0,     // below kMinFieldBits
    0x3,  0x5,  0x3,  0x3,   // 4
    0x1b, 0x3,  0x9,  0x5,   // 8
    0x9,  0x1b, 0x21, 0x3,   // 12
    0x2b, 0x9,  0x9,  0x27,  // 16
    0x9,  0x5,  0x3,  0x21,  // 20
    0x1b, 0x9,  0x1b, 0x27,  // 24
    0x3,  0x5,  0x3,  0x9,   // 28
    0x8d,                    // 32
};

// Returns the carry-less product of two 32-bit polynomials.
uint64_t MultiplyCarryless(uint32_t a, uint32_t b) {
  uint64_t product = 0;
  const uint64_t wide = a;
  for (; b != 0; b &= b - 1) product ^= wide << std::countr_zero(b);
  return product;
}

uint32_t DotPortable(const Field& field, const uint32_t* a, const uint32_t* b,
                     size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum ^= MultiplyCarryless(a[i], b[i]);
  return field.Reduce(sum);
}

// Multiplies by one factor through tables of its products with all nibbles.
void AddScaledPortable(const Field& field, uint32_t factor,
                       const uint32_t* from, uint32_t* to, size_t n) {
  const int nibbles = (field.bits() + 3) / 4;
  std::array<std::array<uint32_t, 16>, kMaxFieldBits / 4> table;
  uint32_t power = factor;
  for (int k = 0; k < nibbles; ++k) {
    table[k][0] = 0;
    for (int bit = 0; bit < 4; ++bit) {
      for (int low = 0; low < 1 << bit; ++low) {
        table[k][(1 << bit) + low] = table[k][low] ^ power;
      }
      power = field.Reduce(uint64_t{power} << 1);
    }
  }
  for (size_t i = 0; i < n; ++i) {
    uint32_t product = 0;
    for (int k = 0; k < nibbles; ++k) {
      product ^= table[k][from[i] >> (4 * k) & 15];
    }
    to[i] ^= product;
  }
}

void AddProductsPortable(const Field& field, const uint32_t* factors,
                         const uint32_t* rows, size_t stride, size_t n_rows,
                         uint32_t* to, size_t n) {
  for (size_t r = 0; r < n_rows; ++r) {
    if (factors[r] == 0) continue;
    AddScaledPortable(field, factors[r], rows + r * stride, to, n);
  }
}

uint32_t MultiplyEachPortable(const Field& field, const uint32_t* factors,
                              uint32_t* to, size_t n) {
  uint32_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    to[i] = field.Reduce(MultiplyCarryless(factors[i], to[i]));
    sum ^= to[i];
  }
  return sum;
}

constexpr Field::Operations kPortableOperations = {
    AddScaledPortable, AddProductsPortable, DotPortable, MultiplyEachPortable};

#if ROCKSYNC_X86
#define ROCKSYNC_PCLMUL __attribute__((target("pclmul,sse4.1")))

ROCKSYNC_PCLMUL inline uint64_t Clmul(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(a)),
                           _mm_cvtsi64_si128(static_cast<int64_t>(b)), 0)));
}

// Reduces a product, or a sum of products, by folding it twice: FieldPolynomial
// has degree <= 7 for every width that matters, and the second fold takes care
// of what that leaves.
ROCKSYNC_PCLMUL inline uint32_t FoldPclmul(const Field& field,
                                           uint64_t product) {
  const uint64_t tail = FieldPolynomial(field.bits());
  const uint64_t once = Clmul(product >> field.bits(), tail);
  const uint64_t twice = Clmul(once >> field.bits(), tail);
  return static_cast<uint32_t>(product ^ once ^ twice) & field.mask();
}

ROCKSYNC_PCLMUL uint32_t DotPclmul(const Field& field, const uint32_t* a,
                                   const uint32_t* b, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum ^= Clmul(a[i], b[i]);
  return FoldPclmul(field, sum);
}

ROCKSYNC_PCLMUL void AddScaledPclmul(const Field& field, uint32_t factor,
                                     const uint32_t* from, uint32_t* to,
                                     size_t n) {
  for (size_t i = 0; i < n; ++i) {
    to[i] ^= FoldPclmul(field, Clmul(factor, from[i]));
  }
}

ROCKSYNC_PCLMUL void AddProductsPclmul(const Field& field,
                                       const uint32_t* factors,
                                       const uint32_t* rows, size_t stride,
                                       size_t n_rows, uint32_t* to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t sum = 0;
    for (size_t r = 0; r < n_rows; ++r) {
      sum ^= Clmul(factors[r], rows[r * stride + i]);
    }
    to[i] ^= FoldPclmul(field, sum);
  }
}

ROCKSYNC_PCLMUL uint32_t MultiplyEachPclmul(const Field& field,
                                            const uint32_t* factors,
                                            uint32_t* to, size_t n) {
  uint32_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    to[i] = FoldPclmul(field, Clmul(factors[i], to[i]));
    sum ^= to[i];
  }
  return sum;
}

constexpr Field::Operations kPclmulOperations = {
    AddScaledPclmul, AddProductsPclmul, DotPclmul, MultiplyEachPclmul};
#endif

const Field::Operations* OperationsOf(CpuLevel level) {
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx2) return &kPclmulOperations;
#endif
  return &kPortableOperations;
}

}  // namespace

uint32_t FieldPolynomial(int bits) {
  assert(bits >= kMinFieldBits && bits <= kMaxFieldBits);
  return kPolynomials[bits];
}

Field::Field(int bits, CpuLevel level)
    : bits_(bits),
      mask_(static_cast<uint32_t>((uint64_t{1} << bits) - 1)),
      tail_(FieldPolynomial(bits)),
      operations_(OperationsOf(level)) {}

uint32_t Field::Reduce(uint64_t product) const {
  while (uint64_t high = product >> bits_) {
    product &= mask_;
    for (uint32_t tail = tail_; tail != 0; tail &= tail - 1) {
      product ^= high << std::countr_zero(tail);
    }
  }
  return static_cast<uint32_t>(product);
}

uint32_t Field::Square(uint32_t a) const {
  uint64_t x = a;  // spread the bits apart
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  x = (x | x << 1) & 0x5555555555555555;
  return Reduce(x);
}

// Applies Euclid's algorithm to polynomials over GF(2), keeping u * a = r mod
// p.
uint32_t Field::Inverse(uint32_t a) const {
  assert(a != 0);
  uint64_t r0 = uint64_t{1} << bits_ | tail_;
  uint64_t r1 = a;
  uint64_t u0 = 0;
  uint64_t u1 = 1;
  while (r1 != 1) {
    int shift = std::countl_zero(r1) - std::countl_zero(r0);
    while (shift >= 0) {
      r0 ^= r1 << shift;
      u0 ^= u1 << shift;
      shift = std::countl_zero(r1) - std::countl_zero(r0);
    }
    std::swap(r0, r1);
    std::swap(u0, u1);
  }
  return Reduce(u1);
}

}  // namespace rocksync
