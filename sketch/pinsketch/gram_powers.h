// Computes the powers of a plan (gram_plan.h), bit-sliced, for a block of
// elements.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_GRAM_POWERS_H_
#define ROCKSYNC_SKETCH_PINSKETCH_GRAM_POWERS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sketch/pinsketch/bit_sliced.h"
#include "sketch/pinsketch/gram_plan.h"

namespace rocksync::power_sums {

template <typename Vector>
class GramPowers {
 public:
  using V = typename Vector::V;
  // Elements in a row of V, and in a block of 32 rows.
  static constexpr size_t kRow = sizeof(V) / 4;
  static constexpr size_t kBlock = 32 * kRow;

  // `plan` must outlive the powers.
  GramPowers(int bits, const GramPlan& plan)
      : sliced_(bits), plan_(plan), stride_(static_cast<size_t>(bits) + kTile) {
    // A vector of V would not be aligned as V is inside the entry points.
    storage_.resize((plan.powers.size() * stride_ + kTile) * (sizeof(V) / 8) +
                    kAlignment / 8);
    const uintptr_t address = reinterpret_cast<uintptr_t>(storage_.data());
    powers_ = reinterpret_cast<V*>((address + kAlignment - 1) / kAlignment *
                                   kAlignment);
  }

  // Computes the powers of kBlock elements.
  ROCKSYNC_INLINE void Compute(const uint32_t* block) {
    const int bits = sliced_.bits();
    V rows[32];
    std::memcpy(static_cast<void*>(rows), block, sizeof(rows));
    Transpose32<V, uint64_t>(rows);
    std::memcpy(static_cast<void*>(At(0)), rows, bits * sizeof(V));
    for (size_t k = 1; k < plan_.powers.size(); ++k) {
      const GramPlan::Product& step = plan_.steps[k - 1];
      V squares[2][kMaxBits];
      const V* left = At(step.left);
      for (int s = 0; s < step.shift; ++s) {
        sliced_.Square(left, squares[s & 1]);
        left = squares[s & 1];
      }
      V* const power = At(k);
      std::memcpy(static_cast<void*>(power), At(step.right), bits * sizeof(V));
      sliced_.Multiply(left, power);
    }
  }

  // Returns plan.powers[k]: its bit b is vector b. Element e of the block is in
  // lane e % kRow of 32 bits, at bit e / kRow.
  V* At(size_t k) { return powers_ + k * stride_ + kTile; }

 private:
  const BitSlicedField<Vector> sliced_;
  const GramPlan& plan_;
  const size_t stride_;  // a number and zeros around it
  std::vector<uint64_t> storage_;
  V* powers_;
};

}  // namespace rocksync::power_sums

#endif  // ROCKSYNC_SKETCH_PINSKETCH_GRAM_POWERS_H_
