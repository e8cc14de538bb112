// Derives power sums from sums of products of bits (gram_plan.h).

#ifndef ROCKSYNC_SKETCH_PINSKETCH_GRAM_PRODUCTS_H_
#define ROCKSYNC_SKETCH_PINSKETCH_GRAM_PRODUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/gram_plan.h"

namespace rocksync::power_sums {

// Holds, for each row power a of the plan, power b and bit i, the sum of x^b
// over the elements x with bit i of x^a set.
class GramProducts {
 public:
  // `field` and `plan` must outlive the products.
  GramProducts(const Field& field, const GramPlan& plan)
      : field_(field),
        plan_(plan),
        bits_(static_cast<size_t>(field.bits())),
        frobenius_(bits_ * bits_),
        sums_(plan.rows * plan.powers.size() * bits_) {
    for (size_t i = 0; i < bits_; ++i) frobenius_[i] = uint32_t{1} << i;
    for (size_t i = bits_; i < frobenius_.size(); ++i) {
      frobenius_[i] = field.Square(frobenius_[i - bits_]);
    }
  }

  void Clear() { std::fill(sums_.begin(), sums_.end(), 0); }
  uint32_t& At(size_t row, size_t power, size_t bit) {
    return sums_[(row * plan_.powers.size() + power) * bits_ + bit];
  }

  // Sets out[i] to the i-th power sum of the plan. The sum of (x^a)^(2^s) * x^b
  // is that of z^(i 2^s) * At(a, b, i), and the sum of x^a * (x^b)^(2^s) is the
  // 2^s-th power of that with 2^-s for 2^s.
  void PutPowerSums(uint32_t* out) const {
    const int bits = field_.bits();
    for (const GramPlan::Product& product : plan_.products) {
      const bool left_is_row = product.left < plan_.rows;
      const uint32_t row = left_is_row ? product.left : product.right;
      const uint32_t power = left_is_row ? product.right : product.left;
      const int shift = product.shift % bits;
      const int frobenius = left_is_row || shift == 0 ? shift : bits - shift;
      uint32_t sum = field_.Dot(
          &frobenius_[static_cast<size_t>(frobenius) * bits_],
          &sums_[(row * plan_.powers.size() + power) * bits_], bits_);
      // The exponent 1 is the square root of x * x.
      const int squarings =
          product.shift == 0 ? bits - 1 : (left_is_row ? 0 : shift);
      for (int s = 0; s < squarings; ++s) sum = field_.Square(sum);
      *out++ = sum;
    }
  }

 private:
  const Field& field_;
  const GramPlan& plan_;
  const size_t bits_;
  std::vector<uint32_t> frobenius_;  // z^(i 2^s) at s * bits + i
  std::vector<uint32_t> sums_;
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_PINSKETCH_GRAM_PRODUCTS_H_
