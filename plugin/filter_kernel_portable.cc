// Plain C++, for every processor.

#include "plugin/filter_kernel.h"
#include "plugin/filter_kernel_loops.h"

namespace rocksync {
namespace {

ROCKSYNC_INLINE bool TestLine(const char* line, uint32_t fingerprint,
                              uint32_t number, uint32_t probes) {
  for (const uint32_t end = number + probes; number != end; ++number) {
    const uint32_t bit = ProbeBit(fingerprint, number);
    if (((line[bit >> 3] >> (bit & 7)) & 1) == 0) return false;
  }
  return true;
}

ROCKSYNC_INLINE void SetLine(char* line, uint32_t fingerprint, uint32_t number,
                             uint32_t probes) {
  for (const uint32_t end = number + probes; number != end; ++number) {
    const uint32_t bit = ProbeBit(fingerprint, number);
    line[bit >> 3] = static_cast<char>(line[bit >> 3] | (1 << (bit & 7)));
  }
}

struct PortableLines {
  // Its tests branch, so that it cannot overlap queries by itself.
  static constexpr uint32_t kNearLines = 0;

  static bool TestBoth(const FilterView& filter, const char* first,
                       const char* second, uint32_t fingerprint) {
    return TestFirst(filter, first, fingerprint) &&
           TestSecond(filter, second, fingerprint);
  }
  static bool TestFirst(const FilterView& filter, const char* line,
                        uint32_t fingerprint) {
    return TestLine(line, fingerprint, 0, filter.first_probes);
  }
  static bool TestSecond(const FilterView& filter, const char* line,
                         uint32_t fingerprint) {
    return TestLine(line, fingerprint, kSecondProbe, filter.second_probes);
  }
  static void SetBoth(char* first, char* second, uint32_t fingerprint,
                      uint32_t first_probes, uint32_t second_probes) {
    SetLine(first, fingerprint, 0, first_probes);
    SetLine(second, fingerprint, kSecondProbe, second_probes);
  }
};

ROCKSYNC_DEFINE_KERNEL_FUNCTIONS(PortableLines, /*any processor*/)

}  // namespace

FilterView::FilterView(const char* filter, const FilterShape& shape)
    : lines(filter + shape.padding),
      seed(shape.seed),
      line_count(shape.line_count),
      window(FilterWindow(shape.line_count)),
      first_probes(shape.first_probes()),
      second_probes(shape.second_probes()),
      first_lanes((1u << first_probes) - 1),
      second_lanes(((1u << second_probes) - 1) << kSecondProbe) {}

const FilterKernel& PortableFilterKernel() {
  static constexpr FilterKernel kKernel = {"portable", MayMatch, MayMatchBatch,
                                           Test, Add};
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
