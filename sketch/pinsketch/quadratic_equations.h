// Quadratic equations over GF(2^w).

#ifndef ROCKSYNC_SKETCH_PINSKETCH_QUADRATIC_EQUATIONS_H_
#define ROCKSYNC_SKETCH_PINSKETCH_QUADRATIC_EQUATIONS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "sketch/pinsketch/field.h"

namespace rocksync {

// y -> y^2 + y is linear over GF(2), with 0 and 1 as the only ones that it maps
// to 0; so y^2 + y = c is solved by eliminating bits. About w^2 operations to
// make, w for an equation.
class QuadraticEquations {
 public:
  // `field` must outlive it.
  explicit QuadraticEquations(const Field& field);

  // A root r of x^2 + a x + b; the other one is r + a. None if there is no root
  // in the field, or a is 0.
  std::optional<uint32_t> Solve(uint32_t a, uint32_t b) const;

 private:
  // image = preimage^2 + preimage; no two have the same highest bit.
  struct Row {
    uint32_t image = 0;
    uint32_t preimage = 0;
  };

  const Field& field_;
  std::array<Row, kMaxFieldBits> rows_;  // by the highest bit of the image
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_QUADRATIC_EQUATIONS_H_
