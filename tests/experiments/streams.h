// Streams of events as the papers draw them.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_STREAMS_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_STREAMS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "random_sets.h"

namespace rocksync {

// Draws ranks with probability proportional to 1 / rank^exponent.
class Zipf {
 public:
  Zipf(uint32_t ranks, double exponent) {
    double sum = 0;
    for (uint32_t i = 1; i <= ranks; ++i) {
      sum += std::pow(i, -exponent);
      cumulative_.push_back(sum);
    }
  }
  size_t Draw(Random* random) const {
    const double at = Fraction(*random) * cumulative_.back();
    return static_cast<size_t>(
        std::upper_bound(cumulative_.begin(), cumulative_.end(), at) -
        cumulative_.begin());
  }
  // How many different ranks are expected among `draws`.
  double Distinct(double draws) const {
    double sum = 0;
    double before = 0;
    for (const double at : cumulative_) {
      const double chance = (at - before) / cumulative_.back();
      sum += -std::expm1(draws * std::log1p(-chance));
      before = at;
    }
    return sum;
  }
  size_t ranks() const { return cumulative_.size(); }

 private:
  std::vector<double> cumulative_;
};

// How a filter answered, beside the truth.
struct Answers {
  uint64_t true_duplicates = 0;
  uint64_t false_positives = 0;  // called duplicates, and are not
  uint64_t false_negatives = 0;  // called distinct, and are not
  uint64_t true_distinct = 0;

  void Count(bool said_duplicate, bool is_duplicate) {
    ++(said_duplicate ? (is_duplicate ? true_duplicates : false_positives)
                      : (is_duplicate ? false_negatives : true_distinct));
  }
  // Of what is distinct, the part called duplicate, and the reverse.
  double FalsePositiveRate() const {
    return Part(false_positives, true_distinct);
  }
  double FalseNegativeRate() const {
    return Part(false_negatives, true_duplicates);
  }

 private:
  static double Part(uint64_t wrong, uint64_t right) {
    return wrong == 0 ? 0
                      : static_cast<double>(wrong) /
                            static_cast<double>(wrong + right);
  }
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_STREAMS_H_
