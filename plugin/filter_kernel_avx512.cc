// The AVX-512 kernel (F and VL) has a whole line in one register. Functions are
// compiled for it one by one, so that no flag of this file can leak into shared
// inline code.

#include "plugin/filter_kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)

#if !defined(__clang__)
// GCC 12 warns of the undefined registers in its own intrinsics (PR 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "plugin/filter_kernel_loops.h"

#define ROCKSYNC_AVX512 __attribute__((target("avx512f,avx512vl,bmi2")))

namespace rocksync {
namespace {

// Returns one bit a lane: the bit that its probe means in its 32-bit word.
// Rotation counts modulo 32, as wanted.
ROCKSYNC_AVX512 inline __m512i Bits(__m512i products) {
  return _mm512_rolv_epi32(_mm512_set1_epi32(1),
                           _mm512_srli_epi32(products, 23));
}

struct Avx512Lines {
  static constexpr size_t kLocated = 8;

  ROCKSYNC_AVX512 static inline void Locate(uint64_t line_count,
                                            uint32_t window, size_t at,
                                            KeyBatch* batch) {
    const __m512i lines = _mm512_set1_epi64(static_cast<int64_t>(line_count));
    const __m512i hashes = _mm512_load_si512(batch->hashes + at);
    const __m512i place =
        _mm512_mul_epu32(_mm512_srli_epi64(hashes, 32), lines);
    const __m512i first = _mm512_srli_epi64(place, 32);
    const __m512i fraction = _mm512_maskz_mov_epi32(0x5555, place);
    const __m512i distance = _mm512_srl_epi64(
        fraction, _mm_cvtsi32_si128(static_cast<int>(32 - window)));
    const __m512i second = _mm512_add_epi64(_mm512_add_epi64(first, distance),
                                            _mm512_set1_epi64(1));
    // Below line_count the difference wraps around and is the larger one.
    const __m512i wrapped =
        _mm512_min_epu64(second, _mm512_sub_epi64(second, lines));
    _mm512_store_si512(batch->first + at, _mm512_slli_epi64(first, 6));
    _mm512_store_si512(batch->second + at, _mm512_slli_epi64(wrapped, 6));
  }
  ROCKSYNC_AVX512 static inline bool TestBoth(const char* first,
                                              const char* second, uint64_t hash,
                                              const uint32_t* multipliers) {
    const __m512i products =
        _mm512_mullo_epi32(_mm512_set1_epi32(static_cast<int>(hash)),
                           _mm512_load_si512(multipliers));
    // The upper eight lanes look into the second line.
    const __m512i second_line = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 16,
                                                  16, 16, 16, 16, 16, 16, 16);
    const __m512i words = _mm512_permutex2var_epi32(
        _mm512_loadu_si512(first),
        _mm512_or_epi32(_mm512_srli_epi32(products, 28), second_line),
        _mm512_loadu_si512(second));
    return _mm512_testn_epi32_mask(words, Bits(products)) == 0;
  }
  ROCKSYNC_AVX512 static inline bool Test(const char* line, uint64_t hash,
                                          const uint32_t* multipliers) {
    const __m256i products = _mm256_mullo_epi32(
        _mm256_set1_epi32(static_cast<int>(hash)),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(multipliers)));
    const auto* halves = reinterpret_cast<const __m256i*>(line);
    const __m256i words = _mm256_permutex2var_epi32(
        _mm256_loadu_si256(halves), _mm256_srli_epi32(products, 28),
        _mm256_loadu_si256(halves + 1));
    const __m256i bits = _mm256_rolv_epi32(_mm256_set1_epi32(1),
                                           _mm256_srli_epi32(products, 23));
    return _mm256_testn_epi32_mask(words, bits) == 0;
  }
};

ROCKSYNC_DEFINE_FILTER_READER(Avx512Lines, ROCKSYNC_AVX512)

}  // namespace

// The AVX2 kernel sets the bits: wider registers, taken apart word by word,
// take up to 1.6 times as long on Intel's processors.
const FilterKernel* Avx512FilterKernel() {
  const FilterKernel* const narrow = Avx2FilterKernel();
  if (narrow == nullptr || !__builtin_cpu_supports("avx512f") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("bmi2")) {
    return nullptr;
  }
  static const FilterKernel kernel = {"avx512", NewReader, Test, narrow->add};
  return &kernel;
}

}  // namespace rocksync

#else

namespace rocksync {
const FilterKernel* Avx512FilterKernel() { return nullptr; }
}  // namespace rocksync

#endif
