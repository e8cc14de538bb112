// AVX-512 (F alone): a whole line in one register. Functions are compiled for
// it one by one, so that no flag of this file can leak into shared inline code.

#include "plugin/filter_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#if !defined(__clang__)
// GCC 12 warns of the undefined registers in its own intrinsics (PR 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "plugin/filter_kernel_loops.h"

#define ROCKSYNC_AVX512 __attribute__((target("avx512f,bmi2")))

namespace rocksync {
namespace {

ROCKSYNC_AVX512 inline __m512i Products(uint32_t fingerprint) {
  return _mm512_mullo_epi32(_mm512_set1_epi32(static_cast<int>(fingerprint)),
                            _mm512_load_si512(kProbeMultipliers));
}

// One bit a lane: the bit that the lane's probe means in its 32-bit word.
// Rotation counts modulo 32, as wanted.
ROCKSYNC_AVX512 inline __m512i Bits(__m512i products) {
  return _mm512_rolv_epi32(_mm512_set1_epi32(1),
                           _mm512_srli_epi32(products, 23));
}

ROCKSYNC_AVX512 inline bool TestLine(const char* line, uint32_t fingerprint,
                                     uint32_t lanes) {
  const __m512i products = Products(fingerprint);
  const __m512i words = _mm512_permutexvar_epi32(
      _mm512_srli_epi32(products, 28), _mm512_loadu_si512(line));
  return (_mm512_testn_epi32_mask(words, Bits(products)) & lanes) == 0;
}

ROCKSYNC_INLINE void SetWords(char* line, const uint32_t* words,
                              const uint32_t* bits, uint32_t probes) {
  for (uint32_t i = 0; i < probes; ++i) {
    char* at = line + size_t{words[i]} * 4;
    uint32_t word;
    __builtin_memcpy(&word, at, 4);
    word |= bits[i];
    __builtin_memcpy(at, &word, 4);
  }
}

struct Avx512Lines {
  static constexpr uint32_t kNearLines = kSecondCacheLines;

  ROCKSYNC_AVX512 static inline bool TestBoth(const FilterView& filter,
                                              const char* first,
                                              const char* second,
                                              uint32_t fingerprint) {
    const __m512i products = Products(fingerprint);
    // The upper eight lanes, probes 8 and on, look into the second line.
    const __m512i second_line = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 16,
                                                  16, 16, 16, 16, 16, 16, 16);
    const __m512i words = _mm512_permutex2var_epi32(
        _mm512_loadu_si512(first),
        _mm512_or_epi32(_mm512_srli_epi32(products, 28), second_line),
        _mm512_loadu_si512(second));
    const uint32_t lanes = filter.first_lanes | filter.second_lanes;
    return (_mm512_testn_epi32_mask(words, Bits(products)) & lanes) == 0;
  }
  ROCKSYNC_AVX512 static inline bool TestFirst(const FilterView& filter,
                                               const char* line,
                                               uint32_t fingerprint) {
    return TestLine(line, fingerprint, filter.first_lanes);
  }
  ROCKSYNC_AVX512 static inline bool TestSecond(const FilterView& filter,
                                                const char* line,
                                                uint32_t fingerprint) {
    return TestLine(line, fingerprint, filter.second_lanes);
  }
  // Word by word: two probes of a key may mean the same one.
  ROCKSYNC_AVX512 static inline void SetBoth(char* first, char* second,
                                             uint32_t fingerprint,
                                             uint32_t first_probes,
                                             uint32_t second_probes) {
    alignas(64) uint32_t words[kMaxProbes];
    alignas(64) uint32_t bits[kMaxProbes];
    const __m512i products = Products(fingerprint);
    _mm512_store_si512(words, _mm512_srli_epi32(products, 28));
    _mm512_store_si512(bits, Bits(products));
    SetWords(first, words, bits, first_probes);
    SetWords(second, words + kSecondProbe, bits + kSecondProbe, second_probes);
  }
};

ROCKSYNC_DEFINE_KERNEL_FUNCTIONS(Avx512Lines, ROCKSYNC_AVX512)

}  // namespace

const FilterKernel* Avx512FilterKernel() {
  static constexpr FilterKernel kKernel = {"avx512", MayMatch, MayMatchBatch,
                                           Test, Add};
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2")
             ? &kKernel
             : nullptr;
}

}  // namespace rocksync

#else

namespace rocksync {
const FilterKernel* Avx512FilterKernel() { return nullptr; }
}  // namespace rocksync

#endif
