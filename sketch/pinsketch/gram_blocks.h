// The kernel of gram_tables.h for processors with GFNI, which multiply matrices
// of 8 x 8 bits.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_GRAM_BLOCKS_H_
#define ROCKSYNC_SKETCH_PINSKETCH_GRAM_BLOCKS_H_

#include "sketch/element/cpu_features.h"

#if ROCKSYNC_X86
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
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

// Computes power sums from products of blocks of bits. The sums of all products
// of a bit of a row power with a bit of a power are a matrix product over
// GF(2): rows of bits, one column an element, times their own transpose. It is
// summed in blocks of 8 x 8 sums, over 8 elements in each 64-bit lane. A block
// takes one instruction, where tables take 24 additions of records.
class GramBlocks {
 public:
  GramBlocks(const Field& field, const GramPlan& plan)
      : bits_(static_cast<size_t>(field.bits())),
        bytes_((bits_ + 7) / 8),
        n_rows_(plan.rows * bytes_),
        n_columns_(plan.powers.size() * bytes_),
        rows_(RoundUp(n_rows_, kTileRows)),
        columns_(RoundUp(n_columns_, kTileColumns)),
        powers_(field.bits(), plan),
        products_(field, plan),
        storage_((std::max(rows_, columns_) * kParts + rows_ * columns_) *
                     kWords +
                 kWords) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(storage_.data());
    bits_of_ = reinterpret_cast<__m512i*>((address + kAlignment - 1) /
                                          kAlignment * kAlignment);
    sums_ = bits_of_ + std::max(rows_, columns_) * kParts;
  }

  // Sets out[g * stride + i] to the i-th sum of the plan over groups[g].
  ROCKSYNC_GFNI void Run(const uint32_t* elements,
                         std::span<const ElementRange> groups, size_t stride,
                         uint32_t* out) {
    for (size_t g = 0; g < groups.size(); ++g) {
      size_t at = groups[g].begin;
      for (; groups[g].end - at >= kBlock; at += kBlock)
        AddBlock(elements + at);
      if (at < groups[g].end) {
        alignas(kAlignment) uint32_t block[kBlock] = {};
        std::memcpy(block, elements + at, 4 * (groups[g].end - at));
        AddBlock(block);
      }
      FoldSums();
      products_.PutPowerSums(out + g * stride);
    }
  }

 private:
  using Powers = GramPowers<Avx512>;
  static constexpr size_t kBlock = Powers::kBlock;
  static constexpr size_t kWords = 8;  // of a vector
  static constexpr size_t kParts = 8;  // a vector has 8 x 8 bits of 8 lanes
  static constexpr size_t kTileRows = 2;
  static constexpr size_t kTileColumns = 4;
  static constexpr __mmask64 kAll = ~__mmask64{0};

  static size_t RoundUp(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
  }

  ROCKSYNC_GFNI void AddBlock(const uint32_t* block) {
    powers_.Compute(block);
    for (size_t c = 0; c < n_columns_; ++c) {
      PutBits(powers_.At(c / bytes_) + 8 * (c % bytes_),
              std::min<size_t>(8, bits_ - 8 * (c % bytes_)),
              bits_of_ + c * kParts);
    }
    for (size_t r = 0; r < rows_; r += kTileRows) {
      for (size_t c = 0; c < columns_; c += kTileColumns) AddTile(r, c);
    }
  }

  // Turns `n` bits of all elements of the block, one vector each, into kParts
  // vectors: byte b of a lane is bit b of 8 elements. It only matters that
  // these elements are the same for all bits.
  ROCKSYNC_GFNI static void PutBits(const Avx512::V* bits, size_t n,
                                    __m512i* parts) {
    __m512i in[8] = {};
    std::memcpy(in, bits, n * sizeof(__m512i));
    __m512i pairs[8];
    for (int i = 0; i < 4; ++i) {
      pairs[i] = _mm512_maskz_unpacklo_epi8(kAll, in[2 * i], in[2 * i + 1]);
      pairs[4 + i] = _mm512_maskz_unpackhi_epi8(kAll, in[2 * i], in[2 * i + 1]);
    }
    __m512i quads[8];
    for (int i = 0; i < 8; i += 2) {
      quads[i] = _mm512_maskz_unpacklo_epi16(static_cast<__mmask32>(kAll),
                                             pairs[i], pairs[i + 1]);
      quads[i + 1] = _mm512_maskz_unpackhi_epi16(static_cast<__mmask32>(kAll),
                                                 pairs[i], pairs[i + 1]);
    }
    for (int i = 0; i < 4; ++i) {
      const int first = i / 2 * 4 + i % 2;
      parts[2 * i] = _mm512_maskz_unpacklo_epi32(
          static_cast<__mmask16>(kAll), quads[first], quads[first + 2]);
      parts[2 * i + 1] = _mm512_maskz_unpackhi_epi32(
          static_cast<__mmask16>(kAll), quads[first], quads[first + 2]);
    }
  }

  // Adds the products of kTileRows x kTileColumns blocks.
  ROCKSYNC_GFNI void AddTile(size_t r, size_t c) {
    __m512i sums[kTileRows][kTileColumns];
    for (size_t i = 0; i < kTileRows; ++i) {
      for (size_t j = 0; j < kTileColumns; ++j) {
        sums[i][j] = sums_[(r + i) * columns_ + c + j];
      }
    }
    const __m512i* const left = bits_of_ + r * kParts;
    const __m512i* const right = bits_of_ + c * kParts;
    for (size_t part = 0; part < kParts; ++part) {
      for (size_t j = 0; j < kTileColumns; ++j) {
        const __m512i column = right[j * kParts + part];
        for (size_t i = 0; i < kTileRows; ++i) {
          sums[i][j] = _mm512_xor_si512(
              sums[i][j], _mm512_maskz_gf2p8affine_epi64_epi8(
                              kAll, column, left[i * kParts + part], 0));
        }
      }
    }
    for (size_t i = 0; i < kTileRows; ++i) {
      for (size_t j = 0; j < kTileColumns; ++j) {
        sums_[(r + i) * columns_ + c + j] = sums[i][j];
      }
    }
  }

  // Takes out the sums and clears them. Byte j, bit i of a lane belongs to bit
  // j of the column and bit 7 - i of the row.
  ROCKSYNC_GFNI void FoldSums() {
    products_.Clear();
    for (size_t r = 0; r < n_rows_; ++r) {
      for (size_t c = 0; c < n_columns_; ++c) {
        uint64_t words[kWords];
        std::memcpy(words, &sums_[r * columns_ + c], sizeof(words));
        uint64_t sum = 0;
        for (const uint64_t word : words) sum ^= word;
        for (size_t i = 0; i < 8; ++i) {
          const size_t bit = 8 * (r % bytes_) + 7 - i;
          if (bit >= bits_) continue;
          products_.At(r / bytes_, c / bytes_, bit) |=
              static_cast<uint32_t>(
                  _pext_u64(sum, uint64_t{0x0101010101010101} << i))
              << 8 * (c % bytes_);
        }
      }
    }
    std::memset(static_cast<void*>(sums_), 0,
                rows_ * columns_ * sizeof(__m512i));
  }

  const size_t bits_;   // of a number
  const size_t bytes_;  // of a number, and its blocks
  const size_t n_rows_;
  const size_t n_columns_;
  const size_t rows_;     // n_rows_ in whole tiles
  const size_t columns_;  // n_columns_ in whole tiles
  Powers powers_;
  GramProducts products_;
  std::vector<uint64_t> storage_;
  __m512i* bits_of_;  // kParts vectors a column; the first ones are the rows
  __m512i* sums_;     // one vector a block, row after row
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_X86
#endif  // ROCKSYNC_SKETCH_PINSKETCH_GRAM_BLOCKS_H_
