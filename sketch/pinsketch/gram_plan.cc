#include "sketch/pinsketch/gram_plan.h"

#include <cassert>
#include <limits>

namespace rocksync {
namespace {

// Searches for odd exponents that are products of the powers chosen so far.
class Search {
 public:
  Search(uint32_t first, uint32_t count, uint32_t max_rows)
      : begin_(first), end_(first + count), max_rows_(max_rows), known_(end_) {
    plan_.rows = 0;
    Choose(1);
    Cover(1, {0, 0, 0});
  }

  GramPlan Run() {
    while (open_ > 0) {
      const uint32_t next = Best();
      plan_.steps.push_back(known_[next / 2].product);
      Choose(next);
    }
    for (uint32_t i = begin_; i < end_; ++i) {
      plan_.products.push_back(known_[i].product);
    }
    return std::move(plan_);
  }

 private:
  struct Exponent {  // 2 i + 1 at i
    bool covered = false;
    bool chosen = false;
    uint32_t seen = 0;  // by the trial of this number
    GramPlan::Product product;
  };

  // Calls visit(exponent, left, right, shift) for all odd exponents in reach
  // that `candidate` would make as the next power.
  template <typename Visit>
  void ForEachProduct(uint32_t candidate, const Visit& visit) const {
    const uint32_t self = static_cast<uint32_t>(plan_.powers.size());
    const bool is_row = plan_.rows < max_rows_;
    for (uint32_t i = 0; i <= self; ++i) {
      if (i >= plan_.rows && !is_row) break;
      const uint32_t other = i < self ? plan_.powers[i] : candidate;
      for (int shift = 1; other + (candidate << shift) < 2 * end_; ++shift) {
        visit(other + (candidate << shift), self, i, shift);
      }
      for (int shift = 1; candidate + (other << shift) < 2 * end_; ++shift) {
        visit(candidate + (other << shift), i, self, shift);
      }
    }
  }

  void Cover(uint32_t exponent, const GramPlan::Product& product) {
    Exponent& known = known_[exponent / 2];
    if (!known.covered) {
      known.covered = true;
      known.product = product;
      if (exponent / 2 >= begin_) --open_;
    } else if (product.shift < known.product.shift && exponent > 1) {
      known.product = product;  // fewer squarings
    }
  }

  void Choose(uint32_t power) {
    if (plan_.powers.empty()) open_ = end_ - begin_;
    ForEachProduct(power, [this](uint32_t exponent, uint32_t left,
                                 uint32_t right, int shift) {
      Cover(exponent, {left, right, shift});
    });
    known_[power / 2].chosen = true;
    plan_.powers.push_back(power);
    if (plan_.rows < max_rows_) ++plan_.rows;
  }

  // Returns the power that covers most of what is wanted, then most of all.
  uint32_t Best() {
    uint32_t best = 0;
    uint32_t best_gain = 0;
    for (uint32_t i = 0; i < end_; ++i) {
      if (!known_[i].covered || known_[i].chosen) continue;
      uint32_t gain = 0;
      ++trial_;
      ForEachProduct(2 * i + 1,
                     [&](uint32_t exponent, uint32_t, uint32_t, int) {
                       Exponent& known = known_[exponent / 2];
                       if (known.covered || known.seen == trial_) return;
                       known.seen = trial_;
                       gain += exponent / 2 >= begin_ ? kWanted : 1;
                     });
      if (gain > best_gain) {
        best_gain = gain;
        best = 2 * i + 1;
      }
    }
    assert(best > 0);  // e - 2 is always a candidate for e
    return best;
  }

  static constexpr uint32_t kWanted = 1 << 12;

  const uint32_t begin_;
  const uint32_t end_;
  const uint32_t max_rows_;
  std::vector<Exponent> known_;
  uint32_t open_ = 0;  // exponents wanted and not covered
  uint32_t trial_ = 0;
  GramPlan plan_;
};

}  // namespace

GramPlan PlanGram(uint32_t first, uint32_t count, uint32_t rows) {
  assert(count > 0 && rows > 0);
  return Search(first, count, rows).Run();
}

}  // namespace rocksync
