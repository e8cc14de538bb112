#include "sketch/field.h"

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

// Carry-less product of two 32-bit polynomials.
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

constexpr Field::Operations kPortableOperations = {AddScaledPortable,
                                                   DotPortable};

#if ROCKSYNC_X86
#define ROCKSYNC_PCLMUL __attribute__((target("pclmul,sse4.1")))

ROCKSYNC_PCLMUL inline uint64_t Clmul(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(_mm_cvtsi128_si64(
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(a)),
                           _mm_cvtsi64_si128(static_cast<int64_t>(b)), 0)));
}

ROCKSYNC_PCLMUL uint32_t DotPclmul(const Field& field, const uint32_t* a,
                                   const uint32_t* b, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum ^= Clmul(a[i], b[i]);
  return field.Reduce(sum);
}

// The product is folded twice: FieldPolynomial has degree <= 7 for every
// width that matters, and the second fold takes care of what that leaves.
ROCKSYNC_PCLMUL void AddScaledPclmul(const Field& field, uint32_t factor,
                                     const uint32_t* from, uint32_t* to,
                                     size_t n) {
  const int bits = field.bits();
  const uint64_t mask = field.mask();
  const uint64_t tail = FieldPolynomial(bits);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t product = Clmul(factor, from[i]);
    const uint64_t once = Clmul(product >> bits, tail);
    const uint64_t twice = Clmul(once >> bits, tail);
    to[i] ^= static_cast<uint32_t>((product ^ once ^ twice) & mask);
  }
}

constexpr Field::Operations kPclmulOperations = {AddScaledPclmul, DotPclmul};

#define ROCKSYNC_VPCLMUL \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")))

// The plain intrinsics make GCC 12 warn of what they leave undefined.
constexpr __mmask8 kAll8 = 0xff;

// The products of eight 32-bit polynomials with the one in all words of `b`.
ROCKSYNC_VPCLMUL inline __m512i Clmul8(__m512i a, __m512i b) {
  return _mm512_maskz_unpacklo_epi64(kAll8,
                                     _mm512_clmulepi64_epi128(a, b, 0x00),
                                     _mm512_clmulepi64_epi128(a, b, 0x01));
}

// As AddScaledPclmul, eight at a time.
ROCKSYNC_VPCLMUL void AddScaledVpclmul(const Field& field, uint32_t factor,
                                       const uint32_t* from, uint32_t* to,
                                       size_t n) {
  const __m128i bits = _mm_cvtsi32_si128(field.bits());
  const __m512i tail = _mm512_set1_epi64(FieldPolynomial(field.bits()));
  const __m512i wide_factor = _mm512_set1_epi64(factor);
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(field.mask()));
  for (size_t i = 0; i < n; i += 8) {
    const size_t left = n - i;
    const __mmask8 valid =
        left >= 8 ? kAll8 : static_cast<__mmask8>((1 << left) - 1);
    const __m512i product =
        Clmul8(_mm512_maskz_cvtepu32_epi64(
                   kAll8, _mm256_maskz_loadu_epi32(valid, from + i)),
               wide_factor);
    const __m512i once =
        Clmul8(_mm512_maskz_srl_epi64(kAll8, product, bits), tail);
    const __m512i twice =
        Clmul8(_mm512_maskz_srl_epi64(kAll8, once, bits), tail);
    const __m256i sum = _mm512_maskz_cvtepi64_epi32(
        kAll8, _mm512_xor_si512(product, _mm512_xor_si512(once, twice)));
    const __m256i old = _mm256_maskz_loadu_epi32(valid, to + i);
    _mm256_mask_storeu_epi32(
        to + i, valid, _mm256_xor_si256(old, _mm256_and_si256(sum, mask)));
  }
}

constexpr Field::Operations kVpclmulOperations = {AddScaledVpclmul, DotPclmul};
#endif

const Field::Operations* OperationsOf(CpuLevel level) {
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512) return &kVpclmulOperations;
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

// Euclid's algorithm on polynomials over GF(2), keeping u * a = r mod p.
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
