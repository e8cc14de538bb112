// Which of my elements does the peer lack? From its parities (see
// coupled_parities.h), by belief propagation.

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

// Use: TakeCells, Decode, and as long as too much is unexplained ReceiveSplits,
// Decode. Takes some 37 bytes an element and 30 bytes a cell. Not thread-safe.
class CoupledDecoder {
 public:
  // Of less than 2^32 members of this side.
  CoupledDecoder(const CoupledMembers& members, const CoupledKeys& keys,
                 const CoupledShape& shape);
  CoupledDecoder(std::span<const ElementHash> elements,
                 const std::vector<bool>& closed, const CoupledKeys& keys,
                 const CoupledShape& shape)
      : CoupledDecoder(CoupledMembers(elements, closed), keys, shape) {}

  // The peer's parities, as CoupledParities appends them. False: not as many
  // bits as the shape demands, or cells are split out of order.
  [[nodiscard]] bool TakeCells(std::string_view bits);
  [[nodiscard]] bool ReceiveSplits(uint32_t to, std::string_view bits);
  const CoupledShape& shape() const { return shape_; }
  uint32_t split() const { return split_; }

  // How many elements differ, from the number of odd cells: within 1 % or so,
  // unless there are so many that half of the cells are odd; then infinite.
  double EstimateDifferences() const;

  struct Outcome {
    std::vector<uint32_t> missing;  // ordinals, ascending
    // Cells whose parity these do not explain: kCoupledCells for each element
    // that only the peer has, unless decoding failed; then a large share.
    uint64_t unexplained_cells = 0;
    // How many elements are probably judged wrongly: few, or, if decoding
    // failed, a large part of those that are missing.
    double expected_errors = 0;
    uint32_t sweeps = 0;
  };
  // `missing`: about how many elements the peer lacks, within a factor of 1.5;
  // `surplus`: about how many it has that are not among these. What is
  // returned may be wrong both ways; nothing is to be trusted without a digest.
  // A quarter to one second for 10^6 elements.
  Outcome Decode(double missing, double surplus) {
    return Decode(missing, surplus, {});
  }
  // Of keys, whose `missing` are those that count on one side only. `doubtful`
  // are ordinals of which each does with probability 1/2; `missing` counts
  // them, and the outcome has those of them that do.
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

  // Elements ordered by window; those of window w are [begin_[w],
  // begin_[w + 1]).
  std::vector<uint32_t> begin_;
  std::vector<uint32_t> ordinal_;
  std::array<std::vector<uint16_t>, kCoupledCells> cell_;
  std::vector<uint8_t> second_half_;
  std::array<std::vector<float>, kCoupledCells> belief_;
  std::vector<uint8_t> missing_;
  std::vector<uint8_t> doubtful_;  // while decoding; empty if none is

  // By segment, first all cells (first halves of those that are split), then
  // second halves: 2 * cells a segment.
  std::vector<uint8_t> odd_;  // of the difference
  std::vector<uint8_t> own_;  // of the elements here

  // While decoding: stride() a row.
  std::vector<float> contribution_;  // by window and cell of the element
  std::vector<float> product_;       // by segment
  std::vector<float> parity_;        // by segment: +-reliability
  std::vector<float> moved_;         // by window: mean change of beliefs
  std::vector<float> doubt_;         // by window: expected errors
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PARITIES_COUPLED_DECODER_H_
