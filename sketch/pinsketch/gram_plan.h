// A plan of powers for a set of odd power sums, if sums of products come cheap.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_GRAM_PLAN_H_
#define ROCKSYNC_SKETCH_PINSKETCH_GRAM_PLAN_H_

#include <cstdint>
#include <vector>

namespace rocksync {

// The powers to compute, and how power sums follow from them. Squaring is
// linear over GF(2): from the sums of all products of a bit of x^a with a bit
// of x^b, over many x, follow the sums of x^(a 2^s + b) and of x^(a + b 2^s)
// for every s. So a few powers are enough: with 1, 3, 5, 7 and 1 as the only
// row, all odd exponents below 32 are sums of this form.
struct GramPlan {
  // Stands for the exponent left 2^shift + right.
  struct Product {
    uint32_t left = 0;  // indexes into `powers`
    uint32_t right = 0;
    int shift = 0;
  };

  std::vector<uint32_t> powers;   // odd exponents, 1 first
  uint32_t rows = 1;              // the first are rows: one is in every product
  std::vector<Product> steps;     // how powers[i + 1] comes from earlier ones
  std::vector<Product> products;  // of the exponents wanted, in order; left =
                                  // right and shift = 0 stands for the
                                  // exponent 1
};

// Plans for the exponents 2 i + 1, i in [first, first + count), with
// `rows` >= 1 rows. Chooses greedily: about count^2 * powers operations.
GramPlan PlanGram(uint32_t first, uint32_t count, uint32_t rows);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_GRAM_PLAN_H_
