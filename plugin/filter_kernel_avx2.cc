// AVX2: the eight probes of a line at once. Functions are compiled for AVX2
// one by one, so that no flag of this file can leak into shared inline code.

#include "plugin/filter_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include "plugin/filter_kernel_loops.h"

#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2")))

namespace rocksync {
namespace {

// The first n of these eight are the lanes of n probes.
alignas(32) constexpr uint32_t kLanes[16] = {
    ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0, 0, 0, 0, 0};

// One bit a lane: the bit that the lane's probe means in its 32-bit word.
ROCKSYNC_AVX2 inline __m256i Bits(__m256i products) {
  const __m256i shift =
      _mm256_and_si256(_mm256_srli_epi32(products, 23), _mm256_set1_epi32(31));
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), shift);
}

ROCKSYNC_AVX2 inline __m256i Products(uint32_t fingerprint,
                                      const uint32_t* multipliers) {
  return _mm256_mullo_epi32(
      _mm256_set1_epi32(static_cast<int>(fingerprint)),
      _mm256_load_si256(reinterpret_cast<const __m256i*>(multipliers)));
}

ROCKSYNC_AVX2 inline __m256i Lanes(uint32_t probes) {
  return _mm256_loadu_si256(
      reinterpret_cast<const __m256i*>(kLanes + (8 - probes)));
}

// All bits set: the lanes' bits that the line lacks.
ROCKSYNC_AVX2 inline __m256i Lacking(const char* line, uint32_t fingerprint,
                                     const uint32_t* multipliers,
                                     uint32_t probes) {
  const __m256i products = Products(fingerprint, multipliers);
  // The top bit of a product chooses the half of the line, the next three the
  // word in it.
  const __m256i word = _mm256_srli_epi32(products, 28);
  const auto* halves = reinterpret_cast<const __m256i*>(line);
  const __m256i low =
      _mm256_permutevar8x32_epi32(_mm256_loadu_si256(halves), word);
  const __m256i high =
      _mm256_permutevar8x32_epi32(_mm256_loadu_si256(halves + 1), word);
  const __m256i words = _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                       _mm256_castsi256_ps(products)));
  return _mm256_andnot_si256(words,
                             _mm256_and_si256(Bits(products), Lanes(probes)));
}

ROCKSYNC_AVX2 inline bool IsZero(__m256i bits) {
  return _mm256_testz_si256(bits, bits);
}

// Word by word: two probes of a key may mean the same one.
ROCKSYNC_AVX2 inline void SetLine(char* line, uint32_t fingerprint,
                                  const uint32_t* multipliers,
                                  uint32_t probes) {
  alignas(32) uint32_t words[8];
  alignas(32) uint32_t bits[8];
  const __m256i products = Products(fingerprint, multipliers);
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
  static constexpr uint32_t kNearLines = kSecondCacheLines;

  ROCKSYNC_AVX2 static inline bool TestBoth(const FilterView& filter,
                                            const char* first,
                                            const char* second,
                                            uint32_t fingerprint) {
    return IsZero(_mm256_or_si256(
        Lacking(first, fingerprint, kProbeMultipliers, filter.first_probes),
        Lacking(second, fingerprint, kProbeMultipliers + kSecondProbe,
                filter.second_probes)));
  }
  ROCKSYNC_AVX2 static inline bool TestFirst(const FilterView& filter,
                                             const char* line,
                                             uint32_t fingerprint) {
    return IsZero(
        Lacking(line, fingerprint, kProbeMultipliers, filter.first_probes));
  }
  ROCKSYNC_AVX2 static inline bool TestSecond(const FilterView& filter,
                                              const char* line,
                                              uint32_t fingerprint) {
    return IsZero(Lacking(line, fingerprint, kProbeMultipliers + kSecondProbe,
                          filter.second_probes));
  }
  ROCKSYNC_AVX2 static inline void SetBoth(char* first, char* second,
                                           uint32_t fingerprint,
                                           uint32_t first_probes,
                                           uint32_t second_probes) {
    SetLine(first, fingerprint, kProbeMultipliers, first_probes);
    SetLine(second, fingerprint, kProbeMultipliers + kSecondProbe,
            second_probes);
  }
};

ROCKSYNC_DEFINE_KERNEL_FUNCTIONS(Avx2Lines, ROCKSYNC_AVX2)

}  // namespace

const FilterKernel* Avx2FilterKernel() {
  static constexpr FilterKernel kKernel = {"avx2", MayMatch, MayMatchBatch,
                                           Test, Add};
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
