// The kernel of power_sums.cc for large groups: sums of products instead of
// powers (gram_plan.h), by the Method of Four Russians.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_GRAM_TABLES_H_
#define ROCKSYNC_SKETCH_PINSKETCH_GRAM_TABLES_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "sketch/pinsketch/bit_sliced.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/gram_plan.h"
#include "sketch/pinsketch/gram_powers.h"
#include "sketch/pinsketch/gram_products.h"
#include "sketch/pinsketch/power_sums.h"

namespace rocksync::power_sums {

// Computes the power sums of a group from tables: for every row power a, byte p
// of it and value v, the sum of all powers of the elements whose byte p of x^a
// is v. From these follow, bit by bit, the sums of products, and so the power
// sums.
//
// Elements are taken in blocks: their powers are computed bit-sliced, then put
// together as records of kLane powers of one element, which are added to the
// tables as a whole. Records have as many planes as that takes.
template <typename Vector, uint32_t kLane>
class GramTables {
 public:
  using V = typename Vector::V;
  static constexpr size_t kRow = GramPowers<Vector>::kRow;
  static constexpr size_t kBlock = GramPowers<Vector>::kBlock;

  GramTables(const Field& field, const GramPlan& plan)
      : bits_(static_cast<size_t>(field.bits())),
        plan_(plan),
        n_powers_(static_cast<uint32_t>(plan.powers.size())),
        planes_((n_powers_ + kLane - 1) / kLane),
        bytes_((static_cast<uint32_t>(field.bits()) + 7) / 8),
        powers_(field.bits(), plan),
        products_(field, plan),
        records_(planes_ * kBlock),
        tables_(size_t{planes_} * plan.rows * bytes_ * kValues) {}

  // Sets out[g * stride + i] to the i-th sum of the plan over groups[g].
  ROCKSYNC_INLINE void Run(const uint32_t* elements,
                           std::span<const ElementRange> groups, size_t stride,
                           uint32_t* out) {
    alignas(kAlignment) uint32_t block[kBlock];
    size_t fill = 0;
    std::vector<Segment> segments;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t at = groups[g].begin; at < groups[g].end;) {
        const size_t take = std::min(kBlock - fill, groups[g].end - at);
        std::memcpy(block + fill, elements + at, 4 * take);
        at += take;
        segments.push_back({g, fill, fill + take, at == groups[g].end});
        fill += take;
        if (fill < kBlock) continue;
        TakeBlock(block, segments, stride, out);
        segments.clear();
        fill = 0;
      }
    }
    std::memset(block + fill, 0, 4 * (kBlock - fill));
    TakeBlock(block, segments, stride, out);
  }

 private:
  static constexpr size_t kValues = 256;
  struct alignas(4 * kLane) Record {
    typedef uint32_t Powers __attribute__((vector_size(4 * kLane)));
    Powers power;
  };
  // Elements [begin, end) of the block; `last` if the group ends here.
  struct Segment {
    size_t group;
    size_t begin;
    size_t end;
    bool last;
  };

  ROCKSYNC_INLINE void TakeBlock(const uint32_t* block,
                                 const std::vector<Segment>& segments,
                                 size_t stride, uint32_t* out) {
    if (segments.empty()) return;
    if constexpr (kLane == 1) {
      std::memcpy(static_cast<void*>(records_.data()), block, 4 * kBlock);
    } else {
      powers_.Compute(block);
      for (uint32_t k = 0; k < n_powers_; k += 4) PutIntoRecords(k);
    }
    for (const Segment& segment : segments) {
      AddToTables(segment.begin, segment.end);
      if (!segment.last) continue;
      FoldTables();
      products_.PutPowerSums(out + segment.group * stride);
      std::memset(static_cast<void*>(tables_.data()), 0,
                  tables_.size() * sizeof(Record));
    }
  }

  // Puts powers [k, k + 4) of all elements of the block into their records.
  ROCKSYNC_INLINE void PutIntoRecords(uint32_t k) {
    V rows[4][32];
    std::memset(static_cast<void*>(rows), 0, sizeof(rows));
    for (uint32_t j = 0; j < 4 && k + j < n_powers_; ++j) {
      std::memcpy(static_cast<void*>(rows[j]), powers_.At(k + j),
                  bits_ * sizeof(V));
      Transpose32<V, uint64_t>(rows[j]);
    }
    // Row r holds elements [r * kRow, (r + 1) * kRow).
    Record* const plane = &records_[k / kLane * kBlock];
    for (size_t r = 0; r < 32; ++r) {
      alignas(kAlignment) uint32_t columns[4][kRow];
      for (int j = 0; j < 4; ++j) {
        std::memcpy(columns[j], &rows[j][r], sizeof(V));
      }
      alignas(kAlignment) uint32_t quads[kRow][4];
      for (size_t c = 0; c < kRow; ++c) {
        for (int j = 0; j < 4; ++j) quads[c][j] = columns[j][c];
      }
      for (size_t c = 0; c < kRow; ++c) {
        std::memcpy(
            reinterpret_cast<char*>(&plane[r * kRow + c]) + 4 * (k % kLane),
            quads[c], 16);
      }
    }
  }

  ROCKSYNC_INLINE void AddToTables(size_t begin, size_t end) {
    Record* table = tables_.data();
    for (uint32_t plane = 0; plane < planes_; ++plane) {
      const Record* const records = &records_[plane * kBlock];
      for (uint32_t row = 0; row < plan_.rows; ++row) {
        for (uint32_t byte = 0; byte < bytes_; ++byte, table += kValues) {
          // The row powers are in the first plane.
          const uint8_t* value =
              reinterpret_cast<const uint8_t*>(&records_[begin]) + 4 * row +
              (std::endian::native == std::endian::little ? byte : 3 - byte);
          for (size_t e = begin; e < end; ++e, value += sizeof(Record)) {
            AddRecord(records[e], &table[*value]);
          }
        }
      }
    }
  }

  ROCKSYNC_INLINE static void AddRecord(const Record& record, Record* sum) {
    sum->power ^= record.power;
  }

  ROCKSYNC_INLINE void FoldTables() {
    Record* table = tables_.data();
    for (uint32_t plane = 0; plane < planes_; ++plane) {
      for (uint32_t row = 0; row < plan_.rows; ++row) {
        for (uint32_t byte = 0; byte < bytes_; ++byte, table += kValues) {
          for (size_t bit = 8; bit-- > 0;) {
            const size_t half = size_t{1} << bit;
            Record sum = table[half];
            AddRecord(table[half], &table[0]);
            for (size_t v = 1; v < half; ++v) {
              AddRecord(table[half + v], &sum);
              AddRecord(table[half + v], &table[v]);
            }
            const size_t i = 8 * byte + bit;
            if (i >= bits_) continue;
            for (uint32_t k = 0; k < kLane; ++k) {
              const size_t power = plane * kLane + k;
              if (power >= n_powers_) break;
              products_.At(row, power, i) = sum.power[k];
            }
          }
        }
      }
    }
  }

  const size_t bits_;  // of a number
  const GramPlan& plan_;
  const uint32_t n_powers_;
  const uint32_t planes_;
  const uint32_t bytes_;  // of a number
  GramPowers<Vector> powers_;
  GramProducts products_;
  std::vector<Record> records_;  // plane after plane
  std::vector<Record> tables_;   // by plane, row, byte and value
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_PINSKETCH_GRAM_TABLES_H_
