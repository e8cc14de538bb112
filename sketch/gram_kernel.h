// The kernel of power_sums.cc for large groups: sums of products instead of
// powers (gram_plan.h), by the Method of Four Russians.

#ifndef ROCKSYNC_SKETCH_GRAM_KERNEL_H_
#define ROCKSYNC_SKETCH_GRAM_KERNEL_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "sketch/bit_sliced.h"
#include "sketch/field.h"
#include "sketch/gram_plan.h"
#include "sketch/power_sums.h"

namespace rocksync::power_sums {

// For each group, the sums of its tables: for every row power a, byte p of it
// and value v, the sum of all powers of the elements whose byte p of x^a is v.
// From these follow, bit by bit, the sums of products, and so the power sums.
//
// Elements go through in blocks: their powers are computed bit-sliced, then put
// together as records of kLane powers of one element, which are added to the
// tables as a whole. Records have as many planes as that takes.
template <typename Vector, uint32_t kLane>
class GramKernel {
 public:
  using V = typename Vector::V;
  // 32 rows of V fill the block.
  static constexpr size_t kRow = sizeof(V) / 4;
  static constexpr size_t kBlock = 32 * kRow;

  GramKernel(const Field& field, const GramPlan& plan)
      : field_(field),
        sliced_(field.bits()),
        plan_(plan),
        n_powers_(static_cast<uint32_t>(plan.powers.size())),
        planes_((n_powers_ + kLane - 1) / kLane),
        bytes_((static_cast<uint32_t>(field.bits()) + 7) / 8),
        stride_(static_cast<size_t>(field.bits()) + kTile),
        records_(planes_ * kBlock),
        tables_(size_t{planes_} * plan.rows * bytes_ * kValues),
        frobenius_(static_cast<size_t>(field.bits()) * field.bits()) {
    // A vector of V would not be aligned as V is inside the entry points.
    storage_.resize((n_powers_ * stride_ + kTile) * (sizeof(V) / 8) +
                    kAlignment / 8);
    const uintptr_t address = reinterpret_cast<uintptr_t>(storage_.data());
    powers_ = reinterpret_cast<V*>((address + kAlignment - 1) / kAlignment *
                                   kAlignment);
    const size_t bits = static_cast<size_t>(field.bits());
    for (size_t i = 0; i < bits; ++i) frobenius_[i] = uint32_t{1} << i;
    for (size_t i = bits; i < frobenius_.size(); ++i) {
      frobenius_[i] = field.Square(frobenius_[i - bits]);
    }
  }

  // out[g * stride + i] becomes the i-th sum of the plan over groups[g].
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
      ComputePowers(block);
    }
    for (const Segment& segment : segments) {
      AddToTables(segment.begin, segment.end);
      if (!segment.last) continue;
      FoldTables();
      SumProducts(out + segment.group * stride);
      std::memset(static_cast<void*>(tables_.data()), 0,
                  tables_.size() * sizeof(Record));
    }
  }

  ROCKSYNC_INLINE void ComputePowers(const uint32_t* block) {
    const int bits = sliced_.bits();
    V rows[32];
    std::memcpy(static_cast<void*>(rows), block, sizeof(rows));
    Transpose32<V, uint64_t>(rows);
    V* const x = PowerAt(0);
    std::memcpy(static_cast<void*>(x), rows, bits * sizeof(V));
    for (uint32_t k = 1; k < n_powers_; ++k) {
      const GramPlan::Product& step = plan_.steps[k - 1];
      V squares[2][kMaxBits];
      const V* left = PowerAt(step.left);
      for (int s = 0; s < step.shift; ++s) {
        sliced_.Square(left, squares[s & 1]);
        left = squares[s & 1];
      }
      V* const power = PowerAt(k);
      std::memcpy(static_cast<void*>(power), PowerAt(step.right),
                  bits * sizeof(V));
      sliced_.Multiply(left, power);
    }
    for (uint32_t k = 0; k < n_powers_; k += 4) PutIntoRecords(k);
  }

  // Powers [k, k + 4) of all elements of the block.
  ROCKSYNC_INLINE void PutIntoRecords(uint32_t k) {
    const int bits = sliced_.bits();
    V rows[4][32];
    std::memset(static_cast<void*>(rows), 0, sizeof(rows));
    for (uint32_t j = 0; j < 4 && k + j < n_powers_; ++j) {
      std::memcpy(static_cast<void*>(rows[j]), PowerAt(k + j),
                  bits * sizeof(V));
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
          // Rows are in the first plane.
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

  // sums_[(row * bits + i) ...]: for each power k, at k * stride: the sum of
  // x^k over the elements with bit i of the row's power.
  ROCKSYNC_INLINE void FoldTables() {
    const size_t bits = static_cast<size_t>(sliced_.bits());
    products_.assign(size_t{plan_.rows} * n_powers_ * bits, 0);
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
            if (i >= bits) continue;
            for (uint32_t k = 0; k < kLane; ++k) {
              const size_t power = plane * kLane + k;
              if (power >= n_powers_) break;
              products_[(row * n_powers_ + power) * bits + i] = sum.power[k];
            }
          }
        }
      }
    }
  }

  // The sum of (x^a)^(2^s) * x^b is that of z^(i 2^s) * products(a, b)[i], and
  // the sum of x^a * (x^b)^(2^s) is the 2^s-th power of that with 2^-s for 2^s.
  void SumProducts(uint32_t* out) const {
    const int bits = field_.bits();
    for (const GramPlan::Product& product : plan_.products) {
      const bool left_is_row = product.left < plan_.rows;
      const uint32_t row = left_is_row ? product.left : product.right;
      const uint32_t power = left_is_row ? product.right : product.left;
      const int shift = product.shift % bits;
      const int frobenius = left_is_row || shift == 0 ? shift : bits - shift;
      uint32_t sum = field_.Dot(
          &frobenius_[static_cast<size_t>(frobenius) * bits],
          &products_[(size_t{row} * n_powers_ + power) * bits], bits);
      // The exponent 1 is the square root of x * x.
      const int squarings =
          product.shift == 0 ? bits - 1 : (left_is_row ? 0 : shift);
      for (int s = 0; s < squarings; ++s) sum = field_.Square(sum);
      *out++ = sum;
    }
  }

  V* PowerAt(uint32_t k) { return powers_ + k * stride_ + kTile; }

  const Field& field_;
  const BitSlicedField<Vector> sliced_;
  const GramPlan& plan_;
  const uint32_t n_powers_;
  const uint32_t planes_;
  const uint32_t bytes_;  // of a number
  const size_t stride_;   // of powers_: a number and zeros around it
  std::vector<uint64_t> storage_;
  V* powers_;
  std::vector<Record> records_;      // plane after plane
  std::vector<Record> tables_;       // by plane, row, byte and value
  std::vector<uint32_t> frobenius_;  // z^(i 2^s) at s * bits + i
  std::vector<uint32_t> products_;
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_GRAM_KERNEL_H_
