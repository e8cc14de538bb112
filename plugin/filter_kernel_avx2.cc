// The AVX2 kernel tests the eight probes of a line at once. Functions are
// compiled for AVX2 one by one, so that no flag of this file can leak into
// shared inline code.

#include "plugin/filter_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include "plugin/filter_kernel_loops.h"

#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2")))

namespace rocksync {
namespace {

// Returns one bit a lane: the bit that its probe means in its 32-bit word.
ROCKSYNC_AVX2 inline __m256i Bits(__m256i products) {
  const __m256i shift =
      _mm256_and_si256(_mm256_srli_epi32(products, 23), _mm256_set1_epi32(31));
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), shift);
}

ROCKSYNC_AVX2 inline __m256i Products(uint64_t hash,
                                      const uint32_t* multipliers) {
  return _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(hash)),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(multipliers)));
}

// Sets bits word by word: two probes of a key may mean the same word.
ROCKSYNC_AVX2 inline void SetLine(char* line, uint64_t hash,
                                  const uint32_t* multipliers,
                                  uint32_t probes) {
  alignas(32) uint32_t words[8];
  alignas(32) uint32_t bits[8];
  const __m256i products = Products(hash, multipliers);
  _mm256_store_si256(reinterpret_cast<__m256i*>(words),
                     _mm256_srli_epi32(products, 28));
  _mm256_store_si256(reinterpret_cast<__m256i*>(bits), Bits(products));
  for (uint32_t i = 0; i < probes; ++i) {
    char* at = line + size_t{words[i]} * 4;
    uint32_t word;
    __builtin_memcpy(&word, at, 4);
    word |= bits[i];
    __builtin_memcpy(at, &word, 4);
  }
}

struct Avx2Lines {
  static constexpr size_t kLocated = 4;

  ROCKSYNC_AVX2 static inline void Locate(uint64_t line_count, uint32_t window,
                                          size_t at, KeyBatch* batch) {
    const __m256i lines = _mm256_set1_epi64x(static_cast<int64_t>(line_count));
    const __m256i hashes =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(batch->hashes + at));
    const __m256i place =
        _mm256_mul_epu32(_mm256_srli_epi64(hashes, 32), lines);
    const __m256i first = _mm256_srli_epi64(place, 32);
    const __m256i fraction =
        _mm256_blend_epi32(place, _mm256_setzero_si256(), 0xaa);
    const __m256i distance = _mm256_srl_epi64(
        fraction, _mm_cvtsi32_si128(static_cast<int>(32 - window)));
    const __m256i second = _mm256_add_epi64(_mm256_add_epi64(first, distance),
                                            _mm256_set1_epi64x(1));
    // Below line_count the difference wraps around and is the larger one.
    const __m256i wrapped =
        _mm256_min_epu32(second, _mm256_sub_epi64(second, lines));
    _mm256_store_si256(reinterpret_cast<__m256i*>(batch->first + at),
                       _mm256_slli_epi64(first, 6));
    _mm256_store_si256(reinterpret_cast<__m256i*>(batch->second + at),
                       _mm256_slli_epi64(wrapped, 6));
  }
  ROCKSYNC_AVX2 static inline bool TestBoth(const char* first,
                                            const char* second, uint64_t hash,
                                            const uint32_t* multipliers) {
    const bool in_first = Test(first, hash, multipliers);
    return Test(second, hash, multipliers + kMaxLineProbes) & in_first;
  }
  ROCKSYNC_AVX2 static inline bool Test(const char* line, uint64_t hash,
                                        const uint32_t* multipliers) {
    const __m256i products = Products(hash, multipliers);
    // The top bit of a product chooses the half of the line, the next three
    // bits the word in it.
    const __m256i word = _mm256_srli_epi32(products, 28);
    const auto* halves = reinterpret_cast<const __m256i*>(line);
    const __m256i low =
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(halves), word);
    const __m256i high =
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(halves + 1), word);
    const __m256i words = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                         _mm256_castsi256_ps(products)));
    return _mm256_testc_si256(words, Bits(products)) != 0;
  }
  ROCKSYNC_AVX2 static inline void SetBoth(char* first, char* second,
                                           uint64_t hash, FilterProbes probes) {
    SetLine(first, hash, kProbeMultipliers, probes.first);
    SetLine(second, hash, kProbeMultipliers + kMaxLineProbes, probes.second);
  }
};

ROCKSYNC_DEFINE_FILTER_READER(Avx2Lines, ROCKSYNC_AVX2)
ROCKSYNC_DEFINE_FILTER_ADD(Avx2Lines, ROCKSYNC_AVX2)

constexpr FilterKernel kKernel = {"avx2", NewReader, Test, Add};

}  // namespace

const FilterKernel* Avx2FilterKernel() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
             ? &kKernel
             : nullptr;
}

}  // namespace rocksync

#else

namespace rocksync {
const FilterKernel* Avx2FilterKernel() { return nullptr; }
}  // namespace rocksync

#endif
