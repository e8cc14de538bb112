// AVX2: the eight probes of a line at once. Functions are compiled for AVX2
// one by one, so that no flag of this file can leak into shared inline code.

#include "plugin/filter_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include "plugin/filter_kernel_loops.h"

#define ROCKSYNC_AVX2 __attribute__((target("avx2")))

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

ROCKSYNC_AVX2 inline bool Test(const char* line, uint32_t fingerprint,
                               const uint32_t* multipliers, uint32_t probes) {
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
  return _mm256_testc_si256(words,
                            _mm256_and_si256(Bits(products), Lanes(probes)));
}

ROCKSYNC_AVX2 inline void Set(char* line, uint32_t fingerprint,
                              const uint32_t* multipliers, uint32_t probes) {
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

struct Avx2Line {
  ROCKSYNC_AVX2 static inline bool TestFirst(const char* line,
                                             uint32_t fingerprint,
                                             uint32_t probes) {
    return Test(line, fingerprint, kProbeMultipliers, probes);
  }
  ROCKSYNC_AVX2 static inline bool TestSecond(const char* line,
                                              uint32_t fingerprint,
                                              uint32_t probes) {
    return Test(line, fingerprint, kProbeMultipliers + 8, probes);
  }
  ROCKSYNC_AVX2 static inline void SetFirst(char* line, uint32_t fingerprint,
                                            uint32_t probes) {
    Set(line, fingerprint, kProbeMultipliers, probes);
  }
  ROCKSYNC_AVX2 static inline void SetSecond(char* line, uint32_t fingerprint,
                                             uint32_t probes) {
    Set(line, fingerprint, kProbeMultipliers + 8, probes);
  }
};

ROCKSYNC_AVX2 bool TestOne(const FilterView& filter, uint64_t hash) {
  return TestHash<Avx2Line>(filter, hash);
}

ROCKSYNC_AVX2 bool MayMatch(const FilterView& filter, const char* key,
                            size_t size) {
  return TestHash<Avx2Line>(filter,
                            HashFilterKey(key, size, filter.shape.seed));
}

ROCKSYNC_AVX2 void MayMatchBatch(const FilterView& filter, size_t count,
                                 rocksdb::Slice** keys, bool* may_match) {
  TestBatch<Avx2Line>(filter, count, keys, may_match);
}

ROCKSYNC_AVX2 void Add(char* lines, const FilterShape& shape,
                       const uint64_t* hashes, size_t count) {
  AddHashes<Avx2Line>(lines, shape, hashes, count);
}

}  // namespace

const FilterKernel* Avx2FilterKernel() {
  static constexpr FilterKernel kKernel = {"avx2", MayMatch, MayMatchBatch,
                                           TestOne, Add};
  return __builtin_cpu_supports("avx2") ? &kKernel : nullptr;
}

}  // namespace rocksync

#else

namespace rocksync {
const FilterKernel* Avx2FilterKernel() { return nullptr; }
}  // namespace rocksync

#endif
