#include "sketch/filter/place_kernels.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "sketch/element/mix_kernels.h"

#if ROCKSYNC_X86
#include <immintrin.h>
#endif

namespace rocksync {
namespace {

// Elements are streamed once, and between them a filter of hundreds of
// kilobytes is touched at random: they are asked for this many ahead.
constexpr size_t kAhead = 512;
constexpr size_t kElementsPerLine = 64 / sizeof(ElementHash);

// Elements whose places are computed before the first bit is touched: bits are
// then as independent of each other as the processor can use. With larger
// blocks places and bits overlap less.
constexpr size_t kBlock = 64;

// What is done with the places: their bits are set, or elements whose bits are
// not set are found.
struct Task {
  uint8_t* set = nullptr;           // if not null; else
  const uint8_t* tested = nullptr;  // of `size` bytes
  uint64_t size = 0;
  uint32_t first = 0;  // ordinal of the first element
  uint32_t* ordinals = nullptr;
};

// Below, of each instruction set: PlaceX() computes the places of a block in a
// short range; FindX() puts the ordinals of a block's elements that are not
// set where `ordinals` points to and returns their number; RunX() does a task.
// The former two are inlined into the latter, which then keeps what is constant
// in registers.
#if defined(__GNUC__)
#define ROCKSYNC_INLINE inline __attribute__((always_inline))
#else
#define ROCKSYNC_INLINE inline
#endif

ROCKSYNC_INLINE void PlacePortable(const ElementHash* elements, size_t n,
                                   const MappingKey& key, uint32_t m,
                                   uint32_t* places) {
  for (size_t i = 0; i < n; ++i) {
    if (i % kElementsPerLine == 0) __builtin_prefetch(elements + i + kAhead);
    places[i] = ShortScale(ShortMix(elements[i], key), m);
  }
}

// `bytes` by value: what is written to bytes could be the pointer itself, which
// would be read again for every bit.
template <typename Number>
ROCKSYNC_INLINE void SetBits(const Number* places, size_t n, uint8_t* bytes) {
#pragma GCC unroll 8
  for (size_t i = 0; i < n; ++i) {
    const Number p = places[i];
    bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | 1 << p % 8);
  }
}

// Without branches: half the answers of a half full filter would be
// mispredicted.
ROCKSYNC_INLINE size_t FindPortable(const uint32_t* places, size_t n,
                                    const uint8_t* bytes, uint32_t first,
                                    uint32_t* ordinals) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t p = places[i];
    ordinals[count] = first + static_cast<uint32_t>(i);
    count += ~static_cast<size_t>(bytes[p / 8] >> p % 8) & 1;
  }
  return count;
}

size_t RunPortable(std::span<const ElementHash> elements, const MappingKey& key,
                   uint32_t m, const Task& task) {
  uint32_t places[kBlock];
  size_t found = 0;
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    PlacePortable(elements.data() + at, n, key, m, places);
    if (task.set != nullptr) {
      SetBits(places, n, task.set);
    } else {
      found += FindPortable(places, n, task.tested,
                            task.first + static_cast<uint32_t>(at),
                            task.ordinals + found);
    }
  }
  return found;
}

#if ROCKSYNC_X86
#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2")))
#define ROCKSYNC_AVX512                                    \
  __attribute__((                                          \
      target("avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq," \
             "avx512vl")))

// The products of both halves of each lane.
ROCKSYNC_AVX2 inline __m256i MultiplyHalves(__m256i a) {
  return _mm256_mul_epu32(a, _mm256_srli_epi64(a, 32));
}

// The places of four elements in the upper halves of the lanes, which hold
// elements 0, 2, 1, 3.
ROCKSYNC_AVX2 inline __m256i PlaceFour(const ElementHash* elements, __m256i key,
                                       __m256i m) {
  const __m256i* const from = reinterpret_cast<const __m256i*>(elements);
  const __m256i x =
      MultiplyHalves(_mm256_xor_si256(_mm256_loadu_si256(from), key));
  const __m256i y =
      MultiplyHalves(_mm256_xor_si256(_mm256_loadu_si256(from + 1), key));
  const __m256i product = MultiplyHalves(_mm256_add_epi64(
      _mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y)));
  return _mm256_mul_epu32(
      _mm256_xor_si256(product, _mm256_srli_epi64(product, 32)), m);
}

ROCKSYNC_AVX2 ROCKSYNC_INLINE void PlaceAvx2(const ElementHash* elements,
                                             size_t n, const MappingKey& key,
                                             uint32_t m, uint32_t* places) {
  const int64_t high = static_cast<int64_t>(key.high);
  const int64_t low = static_cast<int64_t>(key.low);
  const __m256i wide_key = _mm256_setr_epi64x(high, low, high, low);
  const __m256i wide_m = _mm256_set1_epi64x(m);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_prefetch(elements + i + kAhead);
    __builtin_prefetch(elements + i + kAhead + kElementsPerLine);
    const __m256 x =
        _mm256_castsi256_ps(PlaceFour(elements + i, wide_key, wide_m));
    const __m256 y =
        _mm256_castsi256_ps(PlaceFour(elements + i + 4, wide_key, wide_m));
    const __m256i upper =
        _mm256_castps_si256(_mm256_shuffle_ps(x, y, _MM_SHUFFLE(3, 1, 3, 1)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places + i),
                        _mm256_permutevar8x32_epi32(upper, order));
  }
  PlacePortable(elements + i, n - i, key, m, places + i);
}

ROCKSYNC_AVX2 size_t RunAvx2(std::span<const ElementHash> elements,
                             const MappingKey& key, uint32_t m,
                             const Task& task) {
  alignas(32) uint32_t places[kBlock];
  size_t found = 0;
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    PlaceAvx2(elements.data() + at, n, key, m, places);
    if (task.set != nullptr) {
      SetBits(places, n, task.set);
    } else {
      found += FindPortable(places, n, task.tested,
                            task.first + static_cast<uint32_t>(at),
                            task.ordinals + found);
    }
  }
  return found;
}

// The plain intrinsics make GCC 12 warn of what they leave undefined.
constexpr __mmask8 kAll8 = 0xff;
constexpr __mmask16 kAll16 = 0xffff;

ROCKSYNC_AVX512 inline __m512i HighHalves(__m512i a) {
  return _mm512_maskz_srli_epi64(kAll8, a, 32);
}

ROCKSYNC_AVX512 inline __m512i MultiplyHalves(__m512i a) {
  return _mm512_maskz_mul_epu32(kAll8, a, HighHalves(a));
}

// As above, of eight elements; the lanes hold 0, 4, 1, 5, 2, 6, 3, 7.
ROCKSYNC_AVX512 inline __m512i PlaceEight(const ElementHash* elements,
                                          __m512i key, __m512i m) {
  const __m512i x =
      MultiplyHalves(_mm512_xor_si512(_mm512_loadu_si512(elements), key));
  const __m512i y =
      MultiplyHalves(_mm512_xor_si512(_mm512_loadu_si512(elements + 4), key));
  const __m512i product = MultiplyHalves(
      _mm512_add_epi64(_mm512_maskz_unpacklo_epi64(kAll8, x, y),
                       _mm512_maskz_unpackhi_epi64(kAll8, x, y)));
  return _mm512_maskz_mul_epu32(
      kAll8, _mm512_xor_si512(product, HighHalves(product)), m);
}

ROCKSYNC_AVX512 ROCKSYNC_INLINE void PlaceAvx512(const ElementHash* elements,
                                                 size_t n,
                                                 const MappingKey& key,
                                                 uint32_t m, uint32_t* places) {
  const int64_t high = static_cast<int64_t>(key.high);
  const int64_t low = static_cast<int64_t>(key.low);
  const __m512i wide_key =
      _mm512_setr_epi64(high, low, high, low, high, low, high, low);
  const __m512i wide_m = _mm512_set1_epi64(m);
  // Upper halves, in the elements' order.
  const __m512i order = _mm512_setr_epi32(1, 5, 9, 13, 3, 7, 11, 15,  //
                                          17, 21, 25, 29, 19, 23, 27, 31);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t line = 0; line < 16; line += kElementsPerLine) {
      __builtin_prefetch(elements + i + kAhead + line);
    }
    _mm512_storeu_si512(places + i,
                        _mm512_permutex2var_epi32(
                            PlaceEight(elements + i, wide_key, wide_m), order,
                            PlaceEight(elements + i + 8, wide_key, wide_m)));
  }
  PlacePortable(elements + i, n - i, key, m, places + i);
}

// As FindPortable(), of a filter of `size` bytes, at least 4.
ROCKSYNC_AVX512 ROCKSYNC_INLINE size_t FindAvx512(const uint32_t* places,
                                                  size_t n,
                                                  const uint8_t* bytes,
                                                  uint64_t size, uint32_t first,
                                                  uint32_t* ordinals) {
  // Four bytes are read from where the place is, or from the end.
  const __m512i last = _mm512_set1_epi32(static_cast<int>(size - 4));
  const __m512i word = _mm512_set1_epi32(~3);
  const __m512i one = _mm512_set1_epi32(1);
  const __m512i zero = _mm512_setzero_si512();
  __m512i ordinal = _mm512_add_epi32(
      _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
      _mm512_set1_epi32(static_cast<int>(first)));
  size_t count = 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i place = _mm512_loadu_si512(places + i);
    const __m512i at = _mm512_maskz_min_epu32(
        kAll16,
        _mm512_and_si512(_mm512_maskz_srli_epi32(kAll16, place, 3), word),
        last);
    const __m512i words =
        _mm512_mask_i32gather_epi32(zero, kAll16, at, bytes, 1);
    const __m512i bits = _mm512_maskz_sllv_epi32(
        kAll16, one,
        _mm512_sub_epi32(place, _mm512_maskz_slli_epi32(kAll16, at, 3)));
    const __mmask16 unset = _mm512_testn_epi32_mask(words, bits);
    // There is room: as many ordinals as elements before and in this vector.
    _mm512_storeu_si512(ordinals + count,
                        _mm512_maskz_compress_epi32(unset, ordinal));
    count += static_cast<size_t>(std::popcount(unset));
    ordinal = _mm512_add_epi32(ordinal, _mm512_set1_epi32(16));
  }
  return count + FindPortable(places + i, n - i, bytes,
                              first + static_cast<uint32_t>(i),
                              ordinals + count);
}

// Tests only: setting bits, one by one, takes longer after vectors of 64 bytes
// than after vectors of 32.
ROCKSYNC_AVX512 size_t TestAvx512(std::span<const ElementHash> elements,
                                  const MappingKey& key, uint32_t m,
                                  const Task& task) {
  alignas(64) uint32_t places[kBlock];
  size_t found = 0;
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    PlaceAvx512(elements.data() + at, n, key, m, places);
    found += FindAvx512(places, n, task.tested, task.size,
                        task.first + static_cast<uint32_t>(at),
                        task.ordinals + found);
  }
  return found;
}
#endif

size_t Run(std::span<const ElementHash> elements, const MappingKey& key,
           uint64_t m, const Task& task, CpuLevel level) {
  const uint32_t range = static_cast<uint32_t>(m);
#if ROCKSYNC_X86
  if (level >= CpuLevel::kAvx512 && task.set == nullptr && task.size >= 4) {
    return TestAvx512(elements, key, range, task);
  }
  if (level >= CpuLevel::kAvx2) return RunAvx2(elements, key, range, task);
#endif
  (void)level;
  return RunPortable(elements, key, range, task);
}

// Calls visit(i, place) for all elements, in a range of any size.
template <typename Visit>
void ForEachPlace(std::span<const ElementHash> elements, const MappingKey& key,
                  uint64_t m, CpuLevel level, const Visit& visit) {
  uint64_t mixes[kBlock];
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    MixAll(elements.subspan(at, n), key, mixes, level);
    for (size_t i = 0; i < n; ++i) visit(at + i, Scale(mixes[i], m));
  }
}

}  // namespace

void SetPlaces(std::span<const ElementHash> elements, const MappingKey& key,
               uint64_t m, uint8_t* bytes, CpuLevel level) {
  if (m > kMaxShortRange) {
    ForEachPlace(elements, key, m, level,
                 [&](size_t, uint64_t p) { SetBits(&p, 1, bytes); });
    return;
  }
  Run(elements, key, m, {.set = bytes}, level);
}

size_t FindUnsetPlaces(std::span<const ElementHash> elements,
                       const MappingKey& key, uint64_t m, const uint8_t* bytes,
                       uint32_t first, uint32_t* ordinals, CpuLevel level) {
  size_t count = 0;
  if (m > kMaxShortRange) {
    ForEachPlace(elements, key, m, level, [&](size_t i, uint64_t p) {
      ordinals[count] = first + static_cast<uint32_t>(i);
      count += ~static_cast<size_t>(bytes[p / 8] >> p % 8) & 1;
    });
    return count;
  }
  return Run(elements, key, m,
             {.tested = bytes,
              .size = (m + 7) / 8,
              .first = first,
              .ordinals = ordinals},
             level);
}

}  // namespace rocksync
