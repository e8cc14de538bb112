// The portable kernel: plain C++, for every processor.

#include "plugin/filter_kernel.h"
#include "plugin/filter_kernel_loops.h"

namespace rocksync {
namespace {

ROCKSYNC_INLINE void SetLine(char* line, uint64_t hash, uint32_t number,
                             uint32_t probes) {
  for (const uint32_t end = number + probes; number != end; ++number) {
    const uint32_t bit = ProbeBit(hash, number);
    line[bit >> 3] = static_cast<char>(line[bit >> 3] | (1 << (bit & 7)));
  }
}

struct PortableLines {
  static constexpr size_t kLocated = 1;

  static void Locate(uint64_t line_count, uint32_t window, size_t at,
                     KeyBatch* batch) {
    const FilterLines lines =
        LocateLines(batch->hashes[at], line_count, window);
    batch->first[at] = lines.first * kFilterLineBytes;
    batch->second[at] = lines.second * kFilterLineBytes;
  }
  static bool TestBoth(const char* first, const char* second, uint64_t hash,
                       const uint32_t* multipliers) {
    return Test(first, hash, multipliers) &&
           Test(second, hash, multipliers + kMaxLineProbes);
  }
  static bool Test(const char* line, uint64_t hash,
                   const uint32_t* multipliers) {
    for (uint32_t i = 0; i < kMaxLineProbes; ++i) {
      const uint32_t bit = (static_cast<uint32_t>(hash) * multipliers[i]) >> 23;
      if (((line[bit >> 3] >> (bit & 7)) & 1) == 0) return false;
    }
    return true;
  }
  static void SetBoth(char* first, char* second, uint64_t hash,
                      FilterProbes probes) {
    SetLine(first, hash, 0, probes.first);
    SetLine(second, hash, kMaxLineProbes, probes.second);
  }
};

ROCKSYNC_DEFINE_FILTER_READER(PortableLines, /*any processor*/)
ROCKSYNC_DEFINE_FILTER_ADD(PortableLines, /*any processor*/)

constexpr FilterKernel kKernel = {"portable", NewReader, Test, Add};

// The multipliers of a FilterView for each possible number of probes.
struct Multipliers {
  constexpr Multipliers() {
    for (uint32_t first = 1; first <= kMaxLineProbes; ++first) {
      for (uint32_t second = 1; second <= kMaxLineProbes; ++second) {
        for (uint32_t i = 0; i < kMaxLineProbes; ++i) {
          uint32_t* row = rows[first - 1][second - 1];
          row[i] = kProbeMultipliers[i % first];
          row[kMaxLineProbes + i] =
              kProbeMultipliers[kMaxLineProbes + i % second];
        }
      }
    }
  }
  alignas(64)
      uint32_t rows[kMaxLineProbes][kMaxLineProbes][2 * kMaxLineProbes] = {};
};
constexpr Multipliers kMultipliers;

}  // namespace

FilterView::FilterView(const char* filter, const TableFilterShape& shape)
    : lines(filter + shape.padding),
      line_count(shape.line_count),
      window(FilterWindow(shape.line_count)),
      multipliers(
          kMultipliers.rows[shape.probes.first - 1][shape.probes.second - 1]),
      hash(shape.seed) {}

const FilterKernel& PortableFilterKernel() { return kKernel; }

const FilterKernel& BestFilterKernel() {
  static const FilterKernel& best = *[] {
    if (const FilterKernel* kernel = Avx512FilterKernel()) return kernel;
    if (const FilterKernel* kernel = Avx2FilterKernel()) return kernel;
    return &PortableFilterKernel();
  }();
  return best;
}

}  // namespace rocksync
