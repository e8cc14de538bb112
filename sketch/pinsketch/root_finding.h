// All roots of a polynomial that splits into distinct linear factors over
// GF(2^w): Berlekamp's trace algorithm ("Factoring polynomials over large
// finite fields", 1970, section 3).

#ifndef ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_
#define ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_

#include <cstdint>
#include <vector>

#include "sketch/pinsketch/field.h"

namespace rocksync {

// Coefficients, lowest first; no leading zeros, so an empty one is 0.
using Polynomial = std::vector<uint32_t>;

// PureLeaves the roots of `f`, monic of degree >= 1, in no particular order.
// False if f does not have deg f distinct roots in the field. About w *
// deg(f)^2 / 2 multiplications.
bool FindRoots(const Field& field, const Polynomial& f,
               std::vector<uint32_t>* roots);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_
