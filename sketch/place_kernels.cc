#include "sketch/place_kernels.h"

#include <algorithm>
#include <bit>
#include <iterator>

#if ROCKSYNC_X86
#include <immintrin.h>
#endif

namespace rocksync {
namespace {

// Elements are streamed once, and between them a filter of hundreds of
// kilobytes is touched at random: they are asked for this many ahead.
constexpr size_t kAhead = 512;
constexpr size_t kElementsPerLine = 64 / sizeof(ElementHash);

// The vector kernels compute places of up to 31 bits, for filters of some
// bytes at least.
constexpr uint64_t kMaxVectorRange = uint64_t{1} << 31;
constexpr uint64_t kMinVectorRange = 64;

using MixFunction = void (*)(const ElementHash* elements, size_t n,
                             const MappingKey& key, uint64_t* out);

void MixPortable(const ElementHash* elements, size_t n, const MappingKey& key,
                 uint64_t* out) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kElementsPerLine == 0) __builtin_prefetch(elements + i + kAhead);
    out[i] = Mix(elements[i], key);
  }
}

// Calls visit(i, place) for all elements from `begin` on.
template <typename Visit>
void ForEachPlace(std::span<const ElementHash> elements, size_t begin,
                  const MappingKey& key, uint64_t m, MixFunction mix,
                  const Visit& visit) {
  uint64_t mixes[64];
  for (size_t at = begin; at < elements.size(); at += std::size(mixes)) {
    const size_t n = std::min(std::size(mixes), elements.size() - at);
    mix(elements.data() + at, n, key, mixes);
    for (size_t i = 0; i < n; ++i) visit(at + i, Scale(mixes[i], m));
  }
}

#if ROCKSYNC_X86
#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2")))
#define ROCKSYNC_AVX512                                    \
  __attribute__((                                          \
      target("avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq," \
             "avx512vl")))

// Both halves of the 128-bit products of lanes, XORed; from products of 32
// bits. `a_high` is a >> 32, and so is `b_high` of b.
ROCKSYNC_AVX2 inline __m256i FoldProducts(__m256i a, __m256i a_high, __m256i b,
                                          __m256i b_high) {
  const __m256i low_half = _mm256_set1_epi64x(0xffffffff);
  const __m256i low = _mm256_mul_epu32(a, b);
  const __m256i middle =
      _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_srli_epi64(low, 32));
  const __m256i middle2 = _mm256_add_epi64(_mm256_mul_epu32(a, b_high),
                                           _mm256_and_si256(middle, low_half));
  const __m256i high =
      _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(a_high, b_high),
                                        _mm256_srli_epi64(middle, 32)),
                       _mm256_srli_epi64(middle2, 32));
  return _mm256_xor_si256(
      high, _mm256_blend_epi32(low, _mm256_slli_epi64(middle2, 32), 0xaa));
}

// Four elements. Lanes hold 0, 2, 1, 3 of them.
ROCKSYNC_AVX2 inline __m256i MixFour(const ElementHash* elements, __m256i key) {
  const __m256i* const from = reinterpret_cast<const __m256i*>(elements);
  const __m256i x = _mm256_xor_si256(_mm256_loadu_si256(from), key);
  const __m256i y = _mm256_xor_si256(_mm256_loadu_si256(from + 1), key);
  const __m256i high = _mm256_unpacklo_epi64(x, y);
  const __m256i low = _mm256_unpackhi_epi64(x, y);
  const __m256i folded =
      _mm256_xor_si256(FoldProducts(high, _mm256_srli_epi64(high, 32), low,
                                    _mm256_srli_epi64(low, 32)),
                       _mm256_unpacklo_epi64(key, key));
  return FoldProducts(
      folded, _mm256_srli_epi64(folded, 32),
      _mm256_set1_epi64x(static_cast<int64_t>(kMixFactor)),
      _mm256_set1_epi64x(static_cast<int64_t>(kMixFactor >> 32)));
}

ROCKSYNC_AVX2 inline __m256i KeyOfFour(const MappingKey& key) {
  const int64_t high = static_cast<int64_t>(key.high);
  const int64_t low = static_cast<int64_t>(key.low);
  return _mm256_setr_epi64x(high, low, high, low);
}

ROCKSYNC_AVX2 void MixAvx2(const ElementHash* elements, size_t n,
                           const MappingKey& key, uint64_t* out) {
  const __m256i wide_key = KeyOfFour(key);
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    __builtin_prefetch(elements + i + kAhead);
    const __m256i mixes = MixFour(elements + i, wide_key);
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(out + i),
        _mm256_permute4x64_epi64(mixes, _MM_SHUFFLE(3, 1, 2, 0)));
  }
  MixPortable(elements + i, n - i, key, out + i);
}

// The plain intrinsics make GCC 12 warn of what they leave undefined.
constexpr __mmask8 kAll8 = 0xff;

ROCKSYNC_AVX512 inline __m512i HighHalves(__m512i a) {
  return _mm512_maskz_srli_epi64(kAll8, a, 32);
}

ROCKSYNC_AVX512 inline __m512i Multiply32(__m512i a, __m512i b) {
  return _mm512_maskz_mul_epu32(kAll8, a, b);
}

// As above.
ROCKSYNC_AVX512 inline __m512i FoldProducts(__m512i a, __m512i a_high,
                                            __m512i b, __m512i b_high) {
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i low = Multiply32(a, b);
  const __m512i middle =
      _mm512_add_epi64(Multiply32(a_high, b), HighHalves(low));
  const __m512i middle2 = _mm512_add_epi64(Multiply32(a, b_high),
                                           _mm512_and_si512(middle, low_half));
  const __m512i high = _mm512_add_epi64(
      _mm512_add_epi64(Multiply32(a_high, b_high), HighHalves(middle)),
      HighHalves(middle2));
  return _mm512_xor_si512(
      high, _mm512_mask_blend_epi32(
                0xaaaa, low, _mm512_maskz_slli_epi64(kAll8, middle2, 32)));
}

// Eight elements. Lanes hold 0, 4, 1, 5, 2, 6, 3, 7 of them.
ROCKSYNC_AVX512 inline __m512i MixEight(const ElementHash* elements,
                                        __m512i key) {
  const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(elements), key);
  const __m512i y = _mm512_xor_si512(_mm512_loadu_si512(elements + 4), key);
  const __m512i high = _mm512_maskz_unpacklo_epi64(kAll8, x, y);
  const __m512i low = _mm512_maskz_unpackhi_epi64(kAll8, x, y);
  const __m512i folded = _mm512_xor_si512(
      FoldProducts(high, HighHalves(high), low, HighHalves(low)),
      _mm512_maskz_unpacklo_epi64(kAll8, key, key));
  return FoldProducts(
      folded, HighHalves(folded),
      _mm512_set1_epi64(static_cast<int64_t>(kMixFactor)),
      _mm512_set1_epi64(static_cast<int64_t>(kMixFactor >> 32)));
}

ROCKSYNC_AVX512 inline __m512i KeyOfEight(const MappingKey& key) {
  const int64_t high = static_cast<int64_t>(key.high);
  const int64_t low = static_cast<int64_t>(key.low);
  return _mm512_setr_epi64(high, low, high, low, high, low, high, low);
}

// Scale(), for m up to 32 bits: both halves of the number times m.
ROCKSYNC_AVX512 inline __m512i ScaleEight(__m512i mixes, __m512i m) {
  return HighHalves(_mm512_add_epi64(Multiply32(HighHalves(mixes), m),
                                     HighHalves(Multiply32(mixes, m))));
}

ROCKSYNC_AVX512 void MixAvx512(const ElementHash* elements, size_t n,
                               const MappingKey& key, uint64_t* out) {
  const __m512i wide_key = KeyOfEight(key);
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(elements + i + kAhead);
    __builtin_prefetch(elements + i + kAhead + kElementsPerLine);
    const __m512i mixes = MixEight(elements + i, wide_key);
    _mm512_storeu_si512(out + i,
                        _mm512_maskz_permutexvar_epi64(kAll8, order, mixes));
  }
  MixPortable(elements + i, n - i, key, out + i);
}

// Of a multiple of eight elements.
ROCKSYNC_AVX512 void SetAvx512(const ElementHash* elements, size_t n,
                               const MappingKey& key, uint64_t m,
                               uint8_t* bytes) {
  const __m512i wide_key = KeyOfEight(key);
  const __m512i wide_m = _mm512_set1_epi64(static_cast<int64_t>(m));
  for (size_t i = 0; i < n; i += 8) {
    __builtin_prefetch(elements + i + kAhead);
    __builtin_prefetch(elements + i + kAhead + kElementsPerLine);
    alignas(64) uint64_t places[8];
    _mm512_store_si512(places,
                       ScaleEight(MixEight(elements + i, wide_key), wide_m));
#pragma GCC unroll 8
    for (const uint64_t p : places) {
      bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | 1 << p % 8);
    }
  }
}

// Of a multiple of eight elements.
ROCKSYNC_AVX512 size_t FindAvx512(const ElementHash* elements, size_t n,
                                  const MappingKey& key, uint64_t m,
                                  const uint8_t* bytes, uint32_t first,
                                  uint32_t* ordinals) {
  const __m512i wide_key = KeyOfEight(key);
  const __m512i wide_m = _mm512_set1_epi64(static_cast<int64_t>(m));
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  // Four bytes are read from where the place is, or from the end.
  const __m256i last = _mm256_set1_epi32(static_cast<int>((m + 7) / 8 - 4));
  const __m256i one = _mm256_set1_epi32(1);
  __m256i ordinal =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                       _mm256_set1_epi32(static_cast<int>(first)));
  size_t count = 0;
  for (size_t i = 0; i < n; i += 8) {
    __builtin_prefetch(elements + i + kAhead);
    __builtin_prefetch(elements + i + kAhead + kElementsPerLine);
    const __m512i wide_places =
        ScaleEight(MixEight(elements + i, wide_key), wide_m);
    const __m256i places = _mm512_maskz_cvtepi64_epi32(
        kAll8, _mm512_maskz_permutexvar_epi64(kAll8, order, wide_places));
    const __m256i at = _mm256_min_epu32(_mm256_srli_epi32(places, 3), last);
    const __m256i words =
        _mm256_i32gather_epi32(reinterpret_cast<const int*>(bytes), at, 1);
    const __m256i bits = _mm256_sllv_epi32(
        one, _mm256_sub_epi32(places, _mm256_slli_epi32(at, 3)));
    const __mmask8 unset = _mm256_testn_epi32_mask(words, bits);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(ordinals + count),
                        _mm256_maskz_compress_epi32(unset, ordinal));
    count += static_cast<size_t>(std::popcount(unset));
    ordinal = _mm256_add_epi32(ordinal, _mm256_set1_epi32(8));
  }
  return count;
}

bool FitsVectors(uint64_t m) {
  return m >= kMinVectorRange && m <= kMaxVectorRange;
}
#endif

MixFunction MixOf(CpuLevel level) {
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512) return MixAvx512;
  if (level == CpuLevel::kAvx2) return MixAvx2;
#endif
  return MixPortable;
}

}  // namespace

void MixAll(std::span<const ElementHash> elements, const MappingKey& key,
            uint64_t* out, CpuLevel level) {
  MixOf(level)(elements.data(), elements.size(), key, out);
}

void SetPlaces(std::span<const ElementHash> elements, const MappingKey& key,
               uint64_t m, uint8_t* bytes, CpuLevel level) {
  size_t done = 0;
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512 && FitsVectors(m)) {
    done = elements.size() / 8 * 8;
    SetAvx512(elements.data(), done, key, m, bytes);
  }
#endif
  ForEachPlace(elements, done, key, m, MixOf(level), [&](size_t, uint64_t p) {
    bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | 1 << p % 8);
  });
}

// Without branches: half the answers of a half full filter would be
// mispredicted.
size_t FindUnsetPlaces(std::span<const ElementHash> elements,
                       const MappingKey& key, uint64_t m, const uint8_t* bytes,
                       uint32_t first, uint32_t* ordinals, CpuLevel level) {
  size_t done = 0;
  size_t count = 0;
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512 && FitsVectors(m)) {
    done = elements.size() / 8 * 8;
    count = FindAvx512(elements.data(), done, key, m, bytes, first, ordinals);
  }
#endif
  ForEachPlace(elements, done, key, m, MixOf(level), [&](size_t i, uint64_t p) {
    ordinals[count] = first + static_cast<uint32_t>(i);
    count += ~static_cast<size_t>(bytes[p / 8] >> p % 8) & 1;
  });
  return count;
}

}  // namespace rocksync
