#include "sketch/power_sums.h"

#include <cassert>

#include "sketch/power_sums_kernel.h"

#if ROCKSYNC_X86
#include <immintrin.h>
#endif

namespace rocksync {
namespace {

using power_sums::Chunk;
using power_sums::Kernel;

// Long groups are cut, so that the words of a vector share the work.
constexpr size_t kMaxChunk = 4096;

struct Portable {
  using V = uint64_t;
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};

template <typename Vector>
ROCKSYNC_INLINE void RunAll(int bits, uint32_t first, uint32_t count,
                            const uint32_t* elements,
                            const std::vector<Chunk>& chunks, uint32_t* out) {
  Kernel<Vector> kernel(bits, first, count);
  constexpr size_t kWords = Kernel<Vector>::kWords;
  for (size_t c = 0; c < chunks.size(); c += kWords) {
    kernel.Run(elements, &chunks[c], std::min(kWords, chunks.size() - c), out);
  }
}

void RunPortable(int bits, uint32_t first, uint32_t count,
                 const uint32_t* elements, const std::vector<Chunk>& chunks,
                 uint32_t* out) {
  RunAll<Portable>(bits, first, count, elements, chunks, out);
}

#if ROCKSYNC_X86
#define ROCKSYNC_AVX2 __attribute__((target("avx2,bmi2,popcnt")))
#define ROCKSYNC_AVX512                                    \
  __attribute__((                                          \
      target("avx2,bmi2,popcnt,avx512f,avx512bw,avx512dq," \
             "avx512vl")))
struct Avx2 {
  typedef uint64_t V __attribute__((vector_size(32)));
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};

struct Avx512 {
  typedef uint64_t V __attribute__((vector_size(64)));
  ROCKSYNC_INLINE static void AddAnd(V* sum, const V& a, const V& b) {
    *sum ^= a & b;
  }
};

ROCKSYNC_AVX2 void RunAvx2(int bits, uint32_t first, uint32_t count,
                           const uint32_t* elements,
                           const std::vector<Chunk>& chunks, uint32_t* out) {
  RunAll<Avx2>(bits, first, count, elements, chunks, out);
}

ROCKSYNC_AVX512 void RunAvx512(int bits, uint32_t first, uint32_t count,
                               const uint32_t* elements,
                               const std::vector<Chunk>& chunks,
                               uint32_t* out) {
  RunAll<Avx512>(bits, first, count, elements, chunks, out);
}
#endif

}  // namespace

void OddPowerSums(int bits, uint32_t first, uint32_t count,
                  std::span<const uint32_t> elements,
                  std::span<const ElementRange> groups,
                  std::vector<uint32_t>* out, CpuLevel level) {
  out->assign(groups.size() * size_t{count}, 0);
  if (count == 0) return;
  std::vector<Chunk> chunks;
  chunks.reserve(groups.size() + elements.size() / kMaxChunk);
  for (size_t g = 0; g < groups.size(); ++g) {
    assert(groups[g].end <= elements.size());
    for (size_t at = groups[g].begin; at < groups[g].end; at += kMaxChunk) {
      chunks.push_back({at, std::min(at + kMaxChunk, groups[g].end), g});
    }
  }
#if ROCKSYNC_X86
  if (level == CpuLevel::kAvx512) {
    RunAvx512(bits, first, count, elements.data(), chunks, out->data());
    return;
  }
  if (level == CpuLevel::kAvx2) {
    RunAvx2(bits, first, count, elements.data(), chunks, out->data());
    return;
  }
#endif
  RunPortable(bits, first, count, elements.data(), chunks, out->data());
}

}  // namespace rocksync
