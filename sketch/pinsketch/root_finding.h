// Finds all roots of a polynomial that splits into distinct linear factors over
// GF(2^w), by Berlekamp's trace algorithm ("Factoring polynomials over large
// finite fields", 1970, section 3).

#ifndef ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_
#define ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_

#include <cstdint>
#include <vector>

#include "sketch/pinsketch/field.h"

namespace rocksync {

// A polynomial: coefficients, lowest first, no leading zeros, so that 0 is
// empty.
using Polynomial = std::vector<uint32_t>;

// Finds the roots of `f`, monic of degree >= 1, in no particular order. Returns
// false if f does not have deg f distinct roots in the field. Takes about w *
// deg(f)^2 / 2 multiplications.
bool FindRoots(const Field& field, const Polynomial& f,
               std::vector<uint32_t>* roots);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_ROOT_FINDING_H_
