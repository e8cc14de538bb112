#include "sketch/pinsketch/field.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "sketch/element/cpu_features.h"
#include "tests/unit/sketch/pinsketch/cpu_levels.h"

namespace rocksync {
namespace {

// The product by the definition, bit by bit.
uint32_t MultiplySlowly(int bits, uint32_t a, uint32_t b) {
  const uint64_t polynomial = uint64_t{1} << bits | FieldPolynomial(bits);
  uint64_t product = 0;
  for (int i = bits - 1; i >= 0; --i) {
    product <<= 1;
    if (product >> bits & 1) product ^= polynomial;
    if (b >> i & 1) product ^= a;
  }
  return static_cast<uint32_t>(product);
}

// Rabin's test: x^(2^w) = x, and x^(2^(w/p)) - x has no common factor with the
// polynomial for each prime p that divides w.
TEST(FieldTest, PolynomialsAreIrreducible) {
  for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
    std::vector<uint32_t> powers = {2};  // x^(2^i)
    for (int i = 0; i < bits; ++i) {
      powers.push_back(MultiplySlowly(bits, powers.back(), powers.back()));
    }
    EXPECT_EQ(powers[bits], 2u) << bits;
    for (int p = 2; p <= bits; ++p) {
      bool prime = true;
      for (int q = 2; q < p; ++q) prime = prime && p % q != 0;
      if (!prime || bits % p != 0) continue;
      uint64_t a = uint64_t{1} << bits | FieldPolynomial(bits);
      uint64_t b = powers[bits / p] ^ 2;
      while (b != 0) {
        while (std::bit_width(a) >= std::bit_width(b)) {
          a ^= b << (std::bit_width(a) - std::bit_width(b));
          if (a == 0) break;
        }
        std::swap(a, b);
      }
      EXPECT_EQ(a, 1u) << bits << " " << p;
    }
  }
}

TEST(FieldTest, FrozenPolynomials) {
  EXPECT_EQ(FieldPolynomial(8), 0x1bu);  // that of AES
  EXPECT_EQ(FieldPolynomial(22), 0x3u);
  EXPECT_EQ(FieldPolynomial(29), 0x5u);
  EXPECT_EQ(FieldPolynomial(32), 0x8du);
}

TEST(FieldTest, SmallFieldsExhaustively) {
  for (const CpuLevel level : CpuLevelsHere()) {
    for (const int bits : {4, 5, 8}) {
      const Field field(bits, level);
      for (uint32_t a = 0; a <= field.mask(); ++a) {
        EXPECT_EQ(field.Square(a), MultiplySlowly(bits, a, a));
        if (a != 0) {
          EXPECT_EQ(field.Multiply(a, field.Inverse(a)), 1u);
        }
        for (uint32_t b = 0; b <= field.mask(); ++b) {
          ASSERT_EQ(field.Multiply(a, b), MultiplySlowly(bits, a, b));
        }
      }
    }
  }
}

TEST(FieldTest, EveryWidthAndInstructionSet) {
  std::mt19937_64 random(1);
  for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
    for (const CpuLevel level : CpuLevelsHere()) {
      const Field field(bits, level);
      std::vector<uint32_t> a(37);
      std::vector<uint32_t> b(37);
      for (uint32_t& x : a) x = static_cast<uint32_t>(random()) & field.mask();
      for (uint32_t& x : b) x = static_cast<uint32_t>(random()) & field.mask();
      a[0] = b[0] = field.mask();
      uint32_t dot = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        const uint32_t product = MultiplySlowly(bits, a[i], b[i]);
        ASSERT_EQ(field.Multiply(a[i], b[i]), product) << bits;
        dot ^= product;
      }
      EXPECT_EQ(field.Dot(a.data(), b.data(), a.size()), dot);
      std::vector<uint32_t> products = b;
      EXPECT_EQ(field.MultiplyEach(a.data(), products.data(), a.size()), dot);
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(products[i], MultiplySlowly(bits, a[i], b[i])) << bits;
      }
      std::vector<uint32_t> sum = b;
      field.AddScaled(a[5], a.data(), sum.data(), a.size());
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(sum[i], b[i] ^ MultiplySlowly(bits, a[5], a[i])) << bits;
      }
      field.Scale(a[5], sum.data(), sum.size());
      for (size_t i = 0; i < a.size(); ++i) {
        const uint32_t square = MultiplySlowly(bits, a[5], a[5]);
        ASSERT_EQ(sum[i], MultiplySlowly(bits, a[5], b[i]) ^
                              MultiplySlowly(bits, square, a[i]))
            << bits;
      }
      const uint32_t inverse = field.Inverse(a[0]);
      EXPECT_EQ(MultiplySlowly(bits, a[0], inverse), 1u) << bits;
    }
  }
}

// Rows of every length up to three vectors, some columns of a wider matrix.
TEST(FieldTest, VectorTimesMatrix) {
  constexpr size_t kRows = 5;
  constexpr size_t kStride = 50;
  std::mt19937_64 random(2);
  for (const int bits : {4, 13, 22, 32}) {
    for (const CpuLevel level : CpuLevelsHere()) {
      const Field field(bits, level);
      std::vector<uint32_t> rows(kRows * kStride);
      for (uint32_t& x : rows) {
        x = static_cast<uint32_t>(random()) & field.mask();
      }
      const std::vector<uint32_t> factors = {rows[7], 0, 1, field.mask(),
                                             rows[9]};
      for (size_t n = 0; n <= kStride; ++n) {
        std::vector<uint32_t> to(rows.begin() + 3, rows.begin() + 3 + kStride);
        const std::vector<uint32_t> before = to;
        field.AddProducts(factors.data(), rows.data(), kStride, kRows,
                          to.data(), n);
        for (size_t i = 0; i < kStride; ++i) {
          uint32_t sum = before[i];
          for (size_t r = 0; r < kRows && i < n; ++r) {
            sum ^= MultiplySlowly(bits, factors[r], rows[r * kStride + i]);
          }
          ASSERT_EQ(to[i], sum) << bits << " bits, column " << i << " of " << n;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rocksync
