// Arithmetic in GF(2^w), 4 <= w <= 32, on polynomials over GF(2) reduced by a
// fixed irreducible polynomial of low weight. An element is a uint32_t below
// 2^w; addition is XOR.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_FIELD_H_
#define ROCKSYNC_SKETCH_PINSKETCH_FIELD_H_

#include <cstddef>
#include <cstdint>

#include "sketch/element/cpu_features.h"

namespace rocksync {

inline constexpr int kMinFieldBits = 4;
inline constexpr int kMaxFieldBits = 32;

// Returns the reducing polynomial of GF(2^bits) without its leading term: the
// first trinomial, or else the first pentanomial, that is irreducible.
uint32_t FieldPolynomial(int bits);

// The field GF(2^bits). Immutable; cheap to make; safe to share.
class Field {
 public:
  explicit Field(int bits, CpuLevel level = BestCpuLevel());

  int bits() const { return bits_; }
  uint32_t mask() const { return mask_; }

  uint32_t Multiply(uint32_t a, uint32_t b) const {
    return operations_->dot(*this, &a, &b, 1);
  }
  uint32_t Square(uint32_t a) const;
  // Returns the inverse of `a`, which must not be 0.
  uint32_t Inverse(uint32_t a) const;

  // to[i] += factor * from[i] for i < n; `from` is `to` or does not overlap it.
  void AddScaled(uint32_t factor, const uint32_t* from, uint32_t* to,
                 size_t n) const {
    operations_->add_scaled(*this, factor, from, to, n);
  }
  // a[i] *= factor for i < n.
  void Scale(uint32_t factor, uint32_t* a, size_t n) const {
    if (factor != 1) AddScaled(factor ^ 1, a, a, n);
  }
  // to[i] += the sum of factors[r] * rows[r * stride + i] over r < n_rows, for
  // i < n: a vector times a matrix. Each sum is reduced once.
  void AddProducts(const uint32_t* factors, const uint32_t* rows, size_t stride,
                   size_t n_rows, uint32_t* to, size_t n) const {
    operations_->add_products(*this, factors, rows, stride, n_rows, to, n);
  }
  // Returns the sum of a[i] * b[i] for i < n.
  uint32_t Dot(const uint32_t* a, const uint32_t* b, size_t n) const {
    return operations_->dot(*this, a, b, n);
  }
  // to[i] *= factors[i] for i < n. Returns the sum of these products.
  uint32_t MultiplyEach(const uint32_t* factors, uint32_t* to, size_t n) const {
    return operations_->multiply_each(*this, factors, to, n);
  }

  // Reduces a product of degree <= 2 w - 2.
  uint32_t Reduce(uint64_t product) const;

  // The operations that exist for several instruction sets, with equal results.
  struct Operations {
    void (*add_scaled)(const Field& field, uint32_t factor,
                       const uint32_t* from, uint32_t* to, size_t n);
    void (*add_products)(const Field& field, const uint32_t* factors,
                         const uint32_t* rows, size_t stride, size_t n_rows,
                         uint32_t* to, size_t n);
    uint32_t (*dot)(const Field& field, const uint32_t* a, const uint32_t* b,
                    size_t n);
    uint32_t (*multiply_each)(const Field& field, const uint32_t* factors,
                              uint32_t* to, size_t n);
  };

 private:
  int bits_;
  uint32_t mask_;
  uint32_t tail_;  // FieldPolynomial(bits_)
  const Operations* operations_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_FIELD_H_
