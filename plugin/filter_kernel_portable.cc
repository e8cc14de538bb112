// Plain C++, for every processor.

#include "plugin/filter_kernel.h"
#include "plugin/filter_kernel_loops.h"

namespace rocksync {
namespace {

ROCKSYNC_INLINE bool Test(const char* line, uint32_t fingerprint,
                          uint32_t number, uint32_t probes) {
  for (const uint32_t end = number + probes; number != end; ++number) {
    const uint32_t bit = ProbeBit(fingerprint, number);
    if (((line[bit >> 3] >> (bit & 7)) & 1) == 0) return false;
  }
  return true;
}

ROCKSYNC_INLINE void Set(char* line, uint32_t fingerprint, uint32_t number,
                         uint32_t probes) {
  for (const uint32_t end = number + probes; number != end; ++number) {
    const uint32_t bit = ProbeBit(fingerprint, number);
    line[bit >> 3] = static_cast<char>(line[bit >> 3] | (1 << (bit & 7)));
  }
}

struct PortableLine {
  static bool TestFirst(const char* line, uint32_t fingerprint,
                        uint32_t probes) {
    return Test(line, fingerprint, 0, probes);
  }
  static bool TestSecond(const char* line, uint32_t fingerprint,
                         uint32_t probes) {
    return Test(line, fingerprint, 8, probes);
  }
  static void SetFirst(char* line, uint32_t fingerprint, uint32_t probes) {
    Set(line, fingerprint, 0, probes);
  }
  static void SetSecond(char* line, uint32_t fingerprint, uint32_t probes) {
    Set(line, fingerprint, 8, probes);
  }
};

bool TestOne(const FilterView& filter, uint64_t hash) {
  return TestHash<PortableLine>(filter, hash);
}

bool MayMatch(const FilterView& filter, const char* key, size_t size) {
  return TestOne(filter, HashFilterKey(key, size, filter.shape.seed));
}

void MayMatchBatch(const FilterView& filter, size_t count,
                   rocksdb::Slice** keys, bool* may_match) {
  TestBatch<PortableLine>(filter, count, keys, may_match);
}

void Add(char* lines, const FilterShape& shape, const uint64_t* hashes,
         size_t count) {
  AddHashes<PortableLine>(lines, shape, hashes, count);
}

}  // namespace

const FilterKernel& PortableFilterKernel() {
  static constexpr FilterKernel kKernel = {"portable", MayMatch, MayMatchBatch,
                                           TestOne, Add};
  return kKernel;
}

const FilterKernel& BestFilterKernel() {
  static const FilterKernel& best = *[] {
    if (const FilterKernel* kernel = Avx512FilterKernel()) return kernel;
    if (const FilterKernel* kernel = Avx2FilterKernel()) return kernel;
    return &PortableFilterKernel();
  }();
  return best;
}

}  // namespace rocksync
