#include "sketch/pinsketch/power_sums.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "sketch/pinsketch/gram_blocks.h"
#include "sketch/pinsketch/gram_plan.h"
#include "sketch/pinsketch/gram_tables.h"
#include "sketch/pinsketch/power_sums_kernel.h"

namespace rocksync {
namespace {

using power_sums::Chunk;
using power_sums::GramTables;
using power_sums::Kernel;

// The most elements of a chunk: long groups are cut, so that the words of a
// vector share the work.
constexpr size_t kMaxChunk = 4096;
// The most bytes of sums that are gathered at a time, which keeps them small.
constexpr size_t kMaxDirectBytes = size_t{128} << 10;

// The most sums of a plan: finding one takes a time that grows with their cube.
constexpr uint32_t kMaxPlan = 128;
constexpr uint32_t kMaxTableRows = 6;
constexpr uint32_t kMaxBlockRows = 10;

struct Sums {
  const Field& field;
  uint32_t first;
  uint32_t count;
  const uint32_t* elements;
  std::span<const ElementRange> groups;
  uint32_t* out;  // a row of `stride` a group
  size_t stride;
};

template <typename Vector>
ROCKSYNC_INLINE void RunDirect(const Sums& sums,
                               const std::vector<Chunk>& chunks) {
  constexpr size_t kWords = Kernel<Vector>::kWords;
  const int bits = sums.field.bits();
  const auto most =
      static_cast<uint32_t>(kMaxDirectBytes / (sizeof(typename Vector::V) *
                                               static_cast<size_t>(bits)));
  for (uint32_t done = 0; done < sums.count; done += most) {
    Kernel<Vector> kernel(bits, sums.first + done,
                          std::min(most, sums.count - done));
    for (size_t c = 0; c < chunks.size(); c += kWords) {
      kernel.Run(sums.elements, &chunks[c], std::min(kWords, chunks.size() - c),
                 sums.out + done, sums.stride);
    }
  }
}

template <typename Vector, uint32_t kLane>
ROCKSYNC_INLINE void RunGram(const Sums& sums, const GramPlan& plan) {
  GramTables<Vector, kLane> kernel(sums.field, plan);
  kernel.Run(sums.elements, sums.groups, sums.stride, sums.out);
}

template <typename Vector>
ROCKSYNC_INLINE void RunAnyGram(const Sums& sums, const GramPlan& plan) {
  if (plan.powers.size() == 1) {
    RunGram<Vector, 1>(sums, plan);
  } else if (plan.powers.size() <= 4) {
    RunGram<Vector, 4>(sums, plan);
  } else {
    RunGram<Vector, 8>(sums, plan);
  }
}

// The entry points of each instruction set.
struct Kernels {
  void (*direct)(const Sums& sums, const std::vector<Chunk>& chunks);
  void (*gram)(const Sums& sums, const GramPlan& plan);
  size_t words;  // of a vector
  bool blocks;   // `gram` multiplies blocks of bits; it uses no tables
};

void DirectPortable(const Sums& sums, const std::vector<Chunk>& chunks) {
  RunDirect<power_sums::Portable>(sums, chunks);
}
void GramPortable(const Sums& sums, const GramPlan& plan) {
  RunAnyGram<power_sums::Portable>(sums, plan);
}
#if ROCKSYNC_X86
ROCKSYNC_AVX2 void DirectAvx2(const Sums& sums,
                              const std::vector<Chunk>& chunks) {
  RunDirect<power_sums::Avx2>(sums, chunks);
}
ROCKSYNC_AVX2 void GramAvx2(const Sums& sums, const GramPlan& plan) {
  RunAnyGram<power_sums::Avx2>(sums, plan);
}
ROCKSYNC_GFNI void DirectGfni(const Sums& sums,
                              const std::vector<Chunk>& chunks) {
  RunDirect<power_sums::Avx512>(sums, chunks);
}
ROCKSYNC_GFNI void GramGfni(const Sums& sums, const GramPlan& plan) {
  power_sums::GramBlocks kernel(sums.field, plan);
  kernel.Run(sums.elements, sums.groups, sums.stride, sums.out);
}
#endif

Kernels KernelsOf(CpuLevel level) {
#if ROCKSYNC_X86
  if (level == CpuLevel::kGfni) return {DirectGfni, GramGfni, 8, true};
  if (level == CpuLevel::kAvx2) return {DirectAvx2, GramAvx2, 4, false};
#endif
  return {DirectPortable, GramPortable, 1, false};
}

// Returns the cost of an element, about, in additions of a record to a table.
double GramCost(const GramPlan& plan, int bits, const Kernels& kernels) {
  const double powers = static_cast<double>(plan.powers.size());
  const double lanes = 64.0 * static_cast<double>(kernels.words);
  const double bytes = std::ceil(bits / 8.0);
  double squarings = 0;
  for (const GramPlan::Product& step : plan.steps) squarings += step.shift;
  const double computing =
      (1.3 * (powers - 1) * bits * bits + 3 * squarings * bits) / lanes;
  if (kernels.blocks) {
    return computing + bytes * powers * (24 + 12 * bytes * plan.rows) / lanes;
  }
  const double planes = std::ceil(powers / 8);
  return computing + powers * (0.5 + 200 / lanes) + planes * plan.rows * bytes;
}

GramPlan BestPlan(uint32_t first, uint32_t count, int bits,
                  const Kernels& kernels) {
  GramPlan best = PlanGram(first, count, 1);
  double best_cost = GramCost(best, bits, kernels);
  const uint32_t max_rows = kernels.blocks ? kMaxBlockRows : kMaxTableRows;
  for (uint32_t rows = 2; rows <= max_rows && count > 8; ++rows) {
    GramPlan plan = PlanGram(first, count, rows);
    const double cost = GramCost(plan, bits, kernels);
    if (cost < best_cost) {
      best = std::move(plan);
      best_cost = cost;
    }
  }
  return best;
}

void SumByGram(const Sums& sums, const Kernels& kernels) {
  Sums part = sums;
  for (uint32_t done = 0; done < sums.count; done += part.count) {
    part.count = std::min(sums.count - done, kMaxPlan);
    part.first = sums.first + done;
    part.out = sums.out + done;
    kernels.gram(part,
                 BestPlan(part.first, part.count, sums.field.bits(), kernels));
  }
}

void SumDirectly(const Sums& sums, const Kernels& kernels) {
  std::vector<Chunk> chunks;
  chunks.reserve(sums.groups.size());
  for (size_t g = 0; g < sums.groups.size(); ++g) {
    const ElementRange& group = sums.groups[g];
    for (size_t at = group.begin; at < group.end; at += kMaxChunk) {
      chunks.push_back({at, std::min(at + kMaxChunk, group.end), g});
    }
  }
  kernels.direct(sums, chunks);
}

}  // namespace

void OddPowerSums(int bits, uint32_t first, uint32_t count,
                  std::span<const uint32_t> elements,
                  std::span<const ElementRange> groups,
                  std::vector<uint32_t>* out, CpuLevel level) {
  out->assign(groups.size() * size_t{count}, 0);
  if (count == 0) return;
  size_t total = 0;
  for (const ElementRange& group : groups) {
    assert(group.end <= elements.size());
    total += group.end - group.begin;
  }
  const Field field(bits, level);
  const Sums sums = {field,  first,       count, elements.data(),
                     groups, out->data(), count};
  const Kernels kernels = KernelsOf(level);
  if (total >= kGramElements * groups.size()) {
    SumByGram(sums, kernels);
  } else {
    SumDirectly(sums, kernels);
  }
}

}  // namespace rocksync
