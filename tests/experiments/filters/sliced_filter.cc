#include "tests/experiments/filters/sliced_filter.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace rocksync {
namespace {

double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// The probability that of `lost` slices exactly `here` are among one group's.
double LostInGroup(const SliceLayout& layout, uint32_t lost, uint32_t here) {
  const double all = layout.slices();
  const double own = layout.ranges;
  return std::exp(LogChoose(own, here) + LogChoose(all - own, lost - here) -
                  LogChoose(all, lost));
}

}  // namespace

SlicedMapping::SlicedMapping(const SliceLayout& layout, const MappingSeed& seed,
                             uint64_t round)
    : layout_(layout),
      probes_(seed, round, layout.filter.probes),
      group_(DeriveMapping(seed, kGroupPurpose, round)) {
  assert(layout.groups >= 1 && layout.ranges >= 1);
}

SlicedMapping::Position SlicedMapping::Probe(const ElementHash& hash,
                                             uint32_t i) const {
  const uint64_t slice_bits = layout_.slice_bits();
  const uint64_t group = Place(hash, group_, layout_.groups, Reduction::kMixed);
  const uint64_t bit = probes_.Probe(hash, i, layout_.ranges * slice_bits);
  return {static_cast<uint32_t>(group * layout_.ranges + bit / slice_bits),
          bit % slice_bits};
}

SlicedFilter::SlicedFilter(const SlicedMapping* mapping)
    : mapping_(mapping),
      slices_(mapping->layout().slices(),
              std::string((mapping->layout().slice_bits() + 7) / 8, '\0')) {}

void SlicedFilter::Add(const ElementHash& hash) {
  for (uint32_t i = 0; i < mapping_->layout().filter.probes; ++i) {
    const SlicedMapping::Position at = mapping_->Probe(hash, i);
    char& byte = slices_[at.slice][at.bit / 8];
    byte = static_cast<char>(byte | 1 << at.bit % 8);
  }
}

SliceAnswer TestSlice(const SlicedMapping& mapping, uint32_t index,
                      std::string_view slice, const ElementHash& hash) {
  assert(slice.size() == (mapping.layout().slice_bits() + 7) / 8);
  SliceAnswer answer;
  for (uint32_t i = 0; i < mapping.layout().filter.probes; ++i) {
    const SlicedMapping::Position at = mapping.Probe(hash, i);
    if (at.slice != index) continue;
    const bool set = slice[at.bit / 8] >> at.bit % 8 & 1;
    ++(set ? answer.ones : answer.zeros);
  }
  return answer;
}

double FalsePositiveRateWithLoss(uint64_t n, const SliceLayout& layout,
                                 uint32_t lost) {
  assert(lost <= layout.slices());
  const double k = layout.filter.probes;
  const double fill = -std::expm1(-k * static_cast<double>(n) /
                                  static_cast<double>(layout.filter.bits));
  const uint32_t elsewhere = layout.slices() - layout.ranges;
  double rate = 0;
  for (uint32_t here = lost > elsewhere ? lost - elsewhere : 0;
       here <= std::min(lost, layout.ranges); ++here) {
    const double q = static_cast<double>(here) / layout.ranges;
    rate += LostInGroup(layout, lost, here) * std::pow(q + (1 - q) * fill, k);
  }
  return rate;
}

}  // namespace rocksync
