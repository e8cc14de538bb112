#include "sketch/element/mix_kernels.h"

#if ROCKSYNC_X86
#include <immintrin.h>
#endif

namespace rocksync {
namespace {

// Elements are streamed once, and between them places and tables are touched at
// random: they are asked for this many ahead.
constexpr size_t kAhead = 512;
constexpr size_t kElementsPerLine = 64 / sizeof(ElementHash);

void MixPortable(const ElementHash* elements, size_t n, const MappingKey& key,
                 uint64_t* out) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kElementsPerLine == 0) __builtin_prefetch(elements + i + kAhead);
    out[i] = Mix(elements[i], key);
  }
}

#if ROCKSYNC_X86
#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2")))
#define ROCKSYNC_AVX512 \
  __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512dq,avx512vl")))

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
#endif

}  // namespace

void MixAll(std::span<const ElementHash> elements, const MappingKey& key,
            uint64_t* out, CpuLevel level) {
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512) {
    return MixAvx512(elements.data(), elements.size(), key, out);
  }
  if (level == CpuLevel::kAvx2) {
    return MixAvx2(elements.data(), elements.size(), key, out);
  }
#endif
  (void)level;
  MixPortable(elements.data(), elements.size(), key, out);
}

}  // namespace rocksync
