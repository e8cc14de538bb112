// What filters say about sets as wholes: how large the union and the
// intersection of two are, and how much stays hidden.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_FILTER_ESTIMATES_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_FILTER_ESTIMATES_H_

#include <cstdint>

#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

// Formula (1) of arXiv 1910.07782: the expected false positive rate of n
// elements in this shape.
double FalsePositiveRate(uint64_t n, const FilterShape& shape);

uint64_t CountBitsSet(const DistributedBloomFilter& filter);

// How many elements were added, from the number of bits that are set
// (maximum likelihood: -(m / k) ln(1 - set / m)); infinite if all are.
double EstimateCount(uint64_t bits_set, const FilterShape& shape);

// Formula (2) of arXiv 1910.07782: the probability that an element stays hidden
// by the filters of all of `nodes` neighbours, f^N with f from formula (1). It
// needs mappings that are independent; under one mapping for all, the filters
// of equal sets hide the same elements, and it is f whatever N.
double HiddenByAll(uint64_t n, const FilterShape& shape, uint32_t nodes);

// Formula (1) neglects that the number of bits set is itself random. Never
// exceeded by a filter of finite size (Goel and Gupta, SIGMETRICS 2010):
//   (1 - e^(-k (n + 1/2) / (m - 1)))^k,
// half an element more and one bit less. Needs m >= 2.
double FalsePositiveBound(uint64_t n, const FilterShape& shape);

struct OverlapEstimate {
  double first = 0;         // |A|
  double second = 0;        // |B|
  double union_size = 0;    // |A + B|, from the OR of the filters
  double intersection = 0;  // |A| + |B| - |A + B|, at least 0
  double difference = 0;    // elements in one of the two alone, at least 0
};

// From the filters of A and B, which must have one shape and one mapping (see
// Swamidass and Baldi, J. Chem. Inf. Model. 47, 2007). Infinite where all bits
// of a filter are set.
OverlapEstimate EstimateOverlap(const DistributedBloomFilter& a,
                                const DistributedBloomFilter& b);

// How many of a set's elements the other side lacks, when `misses` of them are
// surely missing there by a filter with `bits_set` bits: the filter lets a
// missing one through with probability 1 - (bits_set / m)^k. Infinite if all
// bits are set.
double EstimateMissing(uint64_t misses, uint64_t bits_set,
                       const FilterShape& shape);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_FILTER_ESTIMATES_H_
