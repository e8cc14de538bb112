#include "sketch/pinsketch/quadratic_equations.h"

#include <bit>

namespace rocksync {

QuadraticEquations::QuadraticEquations(const Field& field) : field_(field) {
  for (int bit = 1; bit < field.bits(); ++bit) {
    Row row;
    row.preimage = uint32_t{1} << bit;
    row.image = field.Square(row.preimage) ^ row.preimage;
    while (row.image != 0) {
      Row& same = rows_[std::bit_width(row.image) - 1];
      if (same.image == 0) {
        same = row;
        break;
      }
      row.image ^= same.image;
      row.preimage ^= same.preimage;
    }
  }
}

// With x = a y, y^2 + y = b / a^2.
std::optional<uint32_t> QuadraticEquations::Solve(uint32_t a,
                                                  uint32_t b) const {
  if (a == 0) return std::nullopt;
  uint32_t c = field_.Multiply(b, field_.Square(field_.Inverse(a)));
  uint32_t y = 0;
  while (c != 0) {
    const Row& row = rows_[std::bit_width(c) - 1];
    if (row.image == 0) return std::nullopt;
    c ^= row.image;
    y ^= row.preimage;
  }
  return field_.Multiply(a, y);
}

}  // namespace rocksync
