// The experiments of "One is Enough: Distributed Filtering for Duplicate
// Elimination" (CIKM 2011) that concern a stream of events, on streams drawn as
// the paper draws its synthetic ones: what is pushed, and not twice.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_PUSH_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_PUSH_H_

#include <cstdint>
#include <string>

#include "random_sets.h"
#include "report.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

struct PushOptions {
  uint32_t seeds = 20;
  uint64_t first_seed = 1;
  uint32_t events = 100'000;  // of a stream
  std::string pictures;       // where to; empty: none
  std::string data = "build/pictures";
};

// The filter of n elements with k probes that errs at `rate` then, by formula
// (2) of the paper.
FilterShape ShapeWith(double n, uint32_t probes, double rate);

// From how many ranks a stream is drawn, by a Zipf law of exponent 1, in which
// `distinct` of `events` events are expected to be different.
uint32_t RanksFor(double distinct, uint32_t events);

// A file of data for a picture; written only if pictures are.
std::string PushData(const PushOptions& options, const std::string& name);

// Each part runs one of the paper's experiments.
void RunPushSlices(const PushOptions& options, Random* random, Report* report);
void RunPushTimers(const PushOptions& options, Random* random, Report* report);
void RunPushMemory(const PushOptions& options, Random* random, Report* report);
void RunPushBursts(const PushOptions& options, Random* random, Report* report);
void RunPushTrees(const PushOptions& options, Random* random, Report* report);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_PUSH_H_
