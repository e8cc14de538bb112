#include "sketch/parities/coupled_parities.h"

#include <algorithm>
#include <cassert>

#include "sketch/element/bit_stream.h"

namespace rocksync {
namespace {

// The usual numbers of windows. Fewer lose more to the segments at the ends,
// which have fewer elements a cell; more take more sweeps. Measured:
// docs/journal/exchange.md.
constexpr uint64_t kFewWindows = 40;
constexpr uint64_t kUsualWindows = 60;
// The cells of a segment: smaller segments stray too far from their mean.
constexpr uint64_t kFewCells = 512;

constexpr int kWindowBits = 24;
constexpr int kCellBits = 20;

uint32_t ScaleField(uint64_t bits, int width, uint32_t m) {
  return static_cast<uint32_t>((bits * m) >> width);
}

}  // namespace

CoupledShape ShapeCoupled(uint64_t total) {
  uint64_t windows = std::clamp(total / kFewCells, kFewWindows, kUsualWindows);
  const uint64_t most = kMaxSegmentCells;
  windows = std::max(windows, (total + most - 1) / most);
  windows = std::min<uint64_t>(windows, kMaxCoupledWindows);
  const uint64_t segments = windows + kCoupledCells - 1;
  const uint64_t cells = (total + segments - 1) / segments;
  return {static_cast<uint32_t>(windows),
          static_cast<uint32_t>(std::clamp<uint64_t>(cells, 1, most))};
}

CoupledPlace PlaceCoupled(const ElementHash& hash, const CoupledKeys& keys,
                          const CoupledShape& shape) {
  static_assert(kWindowBits + 2 * kCellBits == 64 && kCoupledCells == 5);
  const uint64_t a = Mix(hash, keys[0]);
  const uint64_t b = Mix(hash, keys[1]);
  const uint64_t fields[kCoupledCells] = {
      a >> kCellBits, a, b >> (64 - kCellBits), b >> (64 - 2 * kCellBits),
      b >> (64 - 3 * kCellBits)};
  CoupledPlace place;
  place.window =
      ScaleField(a >> (64 - kWindowBits), kWindowBits, shape.windows);
  for (uint32_t j = 0; j < kCoupledCells; ++j) {
    const uint64_t field = fields[j] & ((uint64_t{1} << kCellBits) - 1);
    place.cell[j] = static_cast<uint16_t>(
        ScaleField(field >> 1, kCellBits - 1, shape.cells));
    place.second_half |= static_cast<uint8_t>((field & 1) << j);
  }
  return place;
}

CoupledKeys DeriveCoupledKeys(const MappingSeed& seed) {
  return {DeriveMapping(seed, kCoupledPurpose, 0),
          DeriveMapping(seed, kCoupledPurpose, 1)};
}

CoupledKeys DerivePlaneKeys(const MappingSeed& seed, uint32_t plane) {
  return {DeriveMapping(seed, kCoupledPurpose, 2 + 2 * plane),
          DeriveMapping(seed, kCoupledPurpose, 3 + 2 * plane)};
}

CoupledParities::CoupledParities(const CoupledMembers& members,
                                 const CoupledKeys& keys,
                                 const CoupledShape& shape)
    : shape_(shape), odd_(2 * shape.total_cells(), 0) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members.HasCells(i) || !members.Counts(i)) continue;
    const CoupledPlace place = PlaceCoupled(members.Placed(i), keys, shape);
    for (uint32_t j = 0; j < kCoupledCells; ++j) {
      const uint64_t row =
          (uint64_t{place.window} + j) * 2 + (place.second_half >> j & 1);
      odd_[row * shape.cells + place.cell[j]] ^= 1;
    }
  }
}

void CoupledParities::AppendCells(std::string* out) const {
  BitWriter writer(out);
  for (uint32_t segment = 0; segment < shape_.segments(); ++segment) {
    for (uint32_t cell = 0; cell < shape_.cells; ++cell) {
      writer.Put(half(segment, 0, cell) ^ half(segment, 1, cell), 1);
    }
  }
}

void CoupledParities::AppendSplits(uint32_t from, uint32_t to,
                                   std::string* out) const {
  assert(from <= to && to <= shape_.cells);
  BitWriter writer(out);
  for (uint32_t segment = 0; segment < shape_.segments(); ++segment) {
    for (uint32_t cell = from; cell < to; ++cell) {
      writer.Put(half(segment, 1, cell), 1);
    }
  }
}

}  // namespace rocksync
