// Coupled parities are bits that tell a replica which of its own elements the
// peer lacks, where the peer has little or nothing that the replica lacks.
//
// The replica that asks knows the universe: its own elements. So the peer's set
// is a compression problem with side information (Slepian and Wolf, 1973). The
// peer sends the parity of its elements in each of many cells, and the replica
// adds its own. What remains are the parities of the few elements in question,
// which belief propagation finds among the known ones. With spatially coupled
// cells - each element has its kCoupledCells cells in as many consecutive
// segments, as in fuse filters - this succeeds close to the entropy bound
// (Kudekar, Richardson and Urbanke, 2011; Walzer, 2021).
// docs/journal/exchange.md has the measured thresholds.

#ifndef ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_
#define ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// The number of cells of an element.
inline constexpr uint32_t kCoupledCells = 5;

// Cells form segments 0 .. windows + kCoupledCells - 2 of `cells` cells each;
// an element of window w has a cell in each of the segments
// w .. w + kCoupledCells - 1. The segments at the ends have fewer elements a
// cell, so decoding begins there and works its way to the middle.
//
// A cell may be split in two later, if the first parities did not suffice: the
// parity of its second half then follows, and the first half's is the
// difference. Cells are split in order, the same number in each segment.
struct CoupledShape {
  uint32_t windows = 1;  // 1 .. kMaxCoupledWindows
  uint32_t cells = 1;    // 1 .. kMaxSegmentCells
  uint32_t segments() const { return windows + kCoupledCells - 1; }
  uint64_t total_cells() const { return uint64_t{segments()} * cells; }
  friend bool operator==(const CoupledShape&, const CoupledShape&) = default;
};
inline constexpr uint32_t kMaxCoupledWindows = 4096;
inline constexpr uint32_t kMaxSegmentCells = 1 << 14;

// Returns the shape of about `total` cells: at least one cell a segment and at
// most kMaxCoupledWindows windows of full segments.
CoupledShape ShapeCoupled(uint64_t total);

// The place of an element: its window, and in each of its segments its cell and
// whether it is in the cell's second half.
struct CoupledPlace {
  uint32_t window = 0;
  std::array<uint16_t, kCoupledCells> cell{};
  uint8_t second_half = 0;  // bit j: of cell j
};

// Returns the place of `hash`. With a = Mix(hash, keys[0]) and b = Mix(hash,
// keys[1]), the window is the highest 24 bits of a scaled to `windows`. Cells 0
// and 1 come from the next two groups of 20 bits of a, cells 2 to 4 from the
// highest three of b; of each group the highest 19 bits are scaled to `cells`,
// the lowest says which half.
using CoupledKeys = std::array<MappingKey, 2>;
CoupledPlace PlaceCoupled(const ElementHash& hash, const CoupledKeys& keys,
                          const CoupledShape& shape);

// Returns DeriveMapping(seed, kCoupledPurpose, 0) and (.., 1).
inline constexpr uint32_t kCoupledPurpose = 4;
CoupledKeys DeriveCoupledKeys(const MappingSeed& seed);

// The elements, keys or places that parities are made of. Views: the spans must
// outlive this.
class CoupledMembers {
 public:
  // Makes members of the elements whose ordinals are not marked in `closed`.
  // Each has its cells, and counts in them.
  CoupledMembers(std::span<const ElementHash> elements,
                 const std::vector<bool>& closed)
      : elements_(elements), closed_(&closed) {}

  // Makes members of keys, one for each element. A key has its cells, and
  // counts in them if bit `plane` (below kMaxKeyPlanes) of its element under
  // `bits` is set. So a key with another element on the other side shows with
  // probability 1/2, and a key with the same element never does.
  CoupledMembers(std::span<const ElementHash> elements,
                 std::span<const uint64_t> positions, const MappingKey& bits,
                 uint32_t plane)
      : elements_(elements), positions_(positions), bits_(bits), plane_(plane) {
    assert(positions.size() == elements.size());
  }

  // Makes members of the places 0, 1, ... of two sequences of bits that both
  // sides know, but for those marked in `closed`. A place counts in its cells
  // if its bit, 0 or 1, is set. So what shows are places with different bits.
  CoupledMembers(std::span<const uint8_t> place_bits,
                 const std::vector<bool>& closed)
      : closed_(&closed), place_bits_(place_bits) {
    assert(place_bits.size() == closed.size());
  }

  size_t size() const { return std::max(elements_.size(), place_bits_.size()); }
  bool HasCells(size_t ordinal) const {
    return closed_ == nullptr || !(*closed_)[ordinal];
  }
  // Returns what the cells are chosen by.
  ElementHash Placed(size_t ordinal) const {
    if (!place_bits_.empty()) return {ordinal * kMixFactor, ordinal};
    if (closed_ != nullptr) return elements_[ordinal];
    return {positions_[ordinal], positions_[ordinal]};
  }
  bool Counts(size_t ordinal) const {
    if (!place_bits_.empty()) return place_bits_[ordinal] != 0;
    return closed_ != nullptr ||
           (Mix(elements_[ordinal], bits_) >> plane_ & 1) != 0;
  }

 private:
  std::span<const ElementHash> elements_;
  const std::vector<bool>* closed_ = nullptr;  // of keys: null
  std::span<const uint64_t> positions_;
  MappingKey bits_;
  uint32_t plane_ = 0;
  std::span<const uint8_t> place_bits_;
};
inline constexpr uint32_t kMaxKeyPlanes = 8;

// Returns the keys for parities of keys of a plane: DeriveMapping(seed,
// kCoupledPurpose, i) for i = 2 + 2 * plane and the next one. The bits of their
// elements use (.., kKeyBitsPurpose, 0).
inline constexpr uint32_t kKeyBitsPurpose = 7;
CoupledKeys DerivePlaneKeys(const MappingSeed& seed, uint32_t plane);

// The parities of a set. Holds a byte for each half of each cell.
class CoupledParities {
 public:
  // Takes linear time.
  CoupledParities(const CoupledMembers& members, const CoupledKeys& keys,
                  const CoupledShape& shape);
  CoupledParities(std::span<const ElementHash> elements,
                  const std::vector<bool>& closed, const CoupledKeys& keys,
                  const CoupledShape& shape)
      : CoupledParities(CoupledMembers(elements, closed), keys, shape) {}

  const CoupledShape& shape() const { return shape_; }

  // Appends the parities of all cells, a bit each, segment after segment, least
  // significant bit first, the last byte filled with zeros.
  void AppendCells(std::string* out) const;

  // Appends, in the same way, the parities of the second halves of the cells
  // [from, to) of each segment, from <= to <= shape().cells.
  void AppendSplits(uint32_t from, uint32_t to, std::string* out) const;

  // Returns the parity of a half (0 or 1) of a cell.
  uint8_t half(uint32_t segment, uint32_t half, uint32_t cell) const {
    return odd_[(uint64_t{segment} * 2 + half) * shape_.cells + cell];
  }

 private:
  const CoupledShape shape_;
  std::vector<uint8_t> odd_;  // by segment, half and cell
};

// Returns the bytes that `bits` bits take.
constexpr uint64_t CoupledBytes(uint64_t bits) { return (bits + 7) / 8; }

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_
