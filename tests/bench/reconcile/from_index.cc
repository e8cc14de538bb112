#include "tests/bench/reconcile/from_index.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/bench/reconcile/counting_view.h"
#include "tests/bench/reconcile/disk_replicas.h"
#include "tests/bench/reconcile/process_memory.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;
double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since)
      .count();
}

bool Measure(DiskReplicas* replicas, const SessionOptions& options,
             uint64_t seed, IndexOutcome* outcome) {
  CountingView a(replicas->a());
  CountingView b(replicas->b());
  ResetPeak();
  const double idle_mib = MemoryMib("VmRSS");
  const Clock::time_point start = Clock::now();
  outcome->cost = RunSession(&a, &b, options, seed);
  outcome->seconds = Milliseconds(start) / 1000;
  outcome->memory_mib = MemoryMib("VmHWM") - idle_mib;
  const CountingView* const views[2] = {&a, &b};
  for (int side = 0; side < 2; ++side) {
    outcome->entries[side] = outcome->cost.report[side].elements;
    outcome->entries_read[side] = views[side]->read();
    outcome->digest_reads[side] = views[side]->digest_reads();
    outcome->snapshot_ms[side] = views[side]->snapshot_ms();
  }
  return outcome->cost.proven;
}

}  // namespace

bool ReconcileFromIndex(const IndexRun& run, const SessionOptions& options,
                        uint64_t seed, std::vector<IndexOutcome>* outcomes) {
  DiskReplicas replicas(run.directory);
  if (!replicas.Make(run.n - std::max(run.only_a, run.only_b))) return false;
  std::vector<uint64_t> overwrites = {0};
  if (run.overwrites > 0) overwrites.push_back(run.overwrites);
  for (const uint64_t count : overwrites) {
    IndexOutcome outcome;
    outcome.overwrites = count;
    if (!replicas.OverwriteBoth(count) ||
        !replicas.AddTo(run.only_a, run.only_b) ||
        !Measure(&replicas, options, seed++, &outcome)) {
      return false;
    }
    outcomes->push_back(outcome);
  }
  return true;
}

}  // namespace rocksync::bench
