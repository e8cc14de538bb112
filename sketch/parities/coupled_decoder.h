// Decodes which of this side's elements the peer lacks, from the peer's
// parities (see coupled_parities.h), by belief propagation.

#ifndef ROCKSYNC_SKETCH_PARITIES_COUPLED_DECODER_H_
#define ROCKSYNC_SKETCH_PARITIES_COUPLED_DECODER_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/parities/coupled_parities.h"

namespace rocksync {

// A decoder of coupled parities. Use: TakeCells, Decode, and, as long as too
// much is unexplained, ReceiveSplits, Decode. Takes some 37 bytes an element
// and 30 bytes a cell. Not thread-safe.
class CoupledDecoder {
 public:
  // `members` are fewer than 2^32, of this side.
  CoupledDecoder(const CoupledMembers& members, const CoupledKeys& keys,
                 const CoupledShape& shape);
  CoupledDecoder(std::span<const ElementHash> elements,
                 const std::vector<bool>& closed, const CoupledKeys& keys,
                 const CoupledShape& shape)
      : CoupledDecoder(CoupledMembers(elements, closed), keys, shape) {}

  // Take the peer's parities, as CoupledParities appends them. Return false if
  // there are not as many bits as the shape demands, or cells are split out of
  // order.
  [[nodiscard]] bool TakeCells(std::string_view bits);
  [[nodiscard]] bool ReceiveSplits(uint32_t to, std::string_view bits);
  const CoupledShape& shape() const { return shape_; }
  uint32_t split() const { return split_; }

  // Estimates how many elements differ by the number of odd cells: within 1 %
  // or so; infinite if so many differ that half of the cells are odd.
  double EstimateDifferences() const;

  struct Outcome {
    std::vector<uint32_t> missing;  // ordinals, ascending
    // Cells whose parity `missing` does not explain: kCoupledCells for each
    // element that only the peer has; a large share of all if decoding failed.
    uint64_t unexplained_cells = 0;
    // How many elements are probably judged wrongly: few, or, if decoding
    // failed, a large part of the missing ones.
    double expected_errors = 0;
    uint32_t sweeps = 0;
  };
  // Finds the elements that the peer lacks. `missing` is about how many they
  // are, within a factor of 1.5; `surplus` is about how many the peer has that
  // are not here. The outcome may be wrong both ways; nothing is to be trusted
  // without a digest. Takes a quarter to one second for 10^6 elements.
  Outcome Decode(double missing, double surplus) {
    return Decode(missing, surplus, {});
  }
  // Decodes parities of keys, where the `missing` are those that count on one
  // side only. Each of the ordinals `doubtful` does so with probability 1/2;
  // `missing` includes them, and the outcome has those of them that do.
  Outcome Decode(double missing, double surplus,
                 std::span<const uint32_t> doubtful);

 private:
  uint32_t stride() const { return shape_.cells + split_; }
  void Place(const CoupledMembers& members, const CoupledKeys& keys);
  void Doubt(std::span<const uint32_t> doubtful);
  void Contribute(uint32_t window);
  void Collect(uint32_t segment);
  bool Moves(uint32_t window) const;
  void Update(uint32_t window, float prior);
  uint64_t CountUnexplained() const;

  const size_t ordinals_;
  const CoupledShape shape_;
  uint32_t split_ = 0;

  // The elements, ordered by window; those of window w are
  // [begin_[w], begin_[w + 1]).
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> ordinal_;
  std::array<std::vector<uint16_t>, kCoupledCells> cell_;
  std::vector<uint8_t> second_half_;
  std::array<std::vector<float>, kCoupledCells> belief_;
  std::vector<uint8_t> missing_;
  std::vector<uint8_t> doubtful_;  // while decoding; empty if there are none

  // Parities by segment: first of all cells (first halves of those that are
  // split), then of second halves; 2 * cells a segment.
  std::vector<uint8_t> odd_;  // of the difference
  std::vector<uint8_t> own_;  // of the elements here

  // Used while decoding, with stride() values a row:
  std::vector<float> contribution_;  // by window and cell of the element
  std::vector<float> product_;       // by segment
  std::vector<float> parity_;        // by segment: +-reliability
  std::vector<float> moved_;         // by window: mean change of beliefs
  std::vector<float> doubt_;         // by window: expected errors
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PARITIES_COUPLED_DECODER_H_
