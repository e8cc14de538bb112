// Parity bits that tell a replica which of its own elements the peer lacks,
// where the peer has little or nothing that the replica lacks.
//
// The replica that asks knows the universe: its own elements. So the peer's set
// is a compression problem with side information (Slepian and Wolf, 1973): the
// peer sends the parity of its elements in each of many cells, the replica adds
// its own, and what remains are the parities of the few elements in question,
// which belief propagation finds among the known ones. With cells that are
// spatially coupled - each element has its kCoupledCells cells in as many
// consecutive segments, as in fuse filters - this succeeds close to the entropy
// bound (Kudekar, Richardson and Urbanke, 2011; Walzer, 2021).
// docs/journal/exchange.md has the measured thresholds.

#ifndef ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_
#define ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// Cells of an element.
inline constexpr uint32_t kCoupledCells = 5;

// Segments 0 .. windows + kCoupledCells - 2 of `cells` cells each; an element
// of window w has a cell in each of the segments w .. w + kCoupledCells - 1.
// The ends have fewer elements a cell, so that decoding begins there and works
// its way to the middle.
//
// A cell may be split in two later, when the first parities did not suffice:
// the parity of its second half then follows, and the first half's is the
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

// The shape of about `total` cells, at least one cell a segment and at most
// kMaxCoupledWindows windows of full segments.
CoupledShape ShapeCoupled(uint64_t total);

// Where an element stands: its window, and in each of its segments its cell and
// whether it is in the cell's second half.
struct CoupledPlace {
  uint32_t window = 0;
  std::array<uint16_t, kCoupledCells> cell{};
  uint8_t second_half = 0;  // bit j: of cell j
};

// With a = Mix(hash, keys[0]) and b = Mix(hash, keys[1]): the window is the
// highest 24 bits of a scaled to `windows`. Cells 0 and 1 come from the next
// two groups of 20 bits of a, cells 2 to 4 from the highest three of b; of each
// group the highest 19 bits are scaled to `cells`, the lowest says which half.
using CoupledKeys = std::array<MappingKey, 2>;
CoupledPlace PlaceCoupled(const ElementHash& hash, const CoupledKeys& keys,
                          const CoupledShape& shape);

// DeriveMapping(seed, kCoupledPurpose, 0) and (.., 1).
inline constexpr uint32_t kCoupledPurpose = 4;
CoupledKeys DeriveCoupledKeys(const MappingSeed& seed);

// The parities of a set. Holds a byte for each half of each cell.
class CoupledParities {
 public:
  // Of the elements whose ordinals are not marked in `closed`. Linear.
  CoupledParities(std::span<const ElementHash> elements,
                  const std::vector<bool>& closed, const CoupledKeys& keys,
                  const CoupledShape& shape);

  const CoupledShape& shape() const { return shape_; }

  // Appends the parities of all cells, a bit each, segment after segment, least
  // significant bit first, the last byte filled with zeros.
  void AppendCells(std::string* out) const;

  // Appends, in the same way, the parities of the second halves of the cells
  // [from, to) of each segment, from <= to <= shape().cells.
  void AppendSplits(uint32_t from, uint32_t to, std::string* out) const;

  // Parity of a half (0 or 1) of a cell.
  uint8_t half(uint32_t segment, uint32_t half, uint32_t cell) const {
    return odd_[(uint64_t{segment} * 2 + half) * shape_.cells + cell];
  }

 private:
  const CoupledShape shape_;
  std::vector<uint8_t> odd_;  // by segment, half and cell
};

// Bytes of `bits` bits.
constexpr uint64_t CoupledBytes(uint64_t bits) { return (bits + 7) / 8; }

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PARITIES_COUPLED_PARITIES_H_
