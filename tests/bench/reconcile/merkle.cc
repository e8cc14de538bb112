#include "tests/bench/reconcile/merkle.h"

#include <vector>

namespace rocksync::bench {
namespace {

constexpr int kLeafBits = 15;
constexpr uint64_t kLeaves = uint64_t{1} << kLeafBits;
constexpr uint64_t kNodeBytes = 32;
constexpr uint64_t kHeadBytes = 5;

size_t LeafOf(const ElementHash& element) {
  return element.high >> (64 - kLeafBits);
}

std::vector<Digest> Leaves(const Replica& replica) {
  std::vector<Digest> leaves(kLeaves);
  for (const ElementHash& element : replica.elements) {
    leaves[LeafOf(element)].Add(element);
  }
  return leaves;
}

}  // namespace

Outcome ReconcileByMerkleTree(Workload* workload) {
  Outcome outcome;
  const std::vector<Digest> a = Leaves(workload->a);
  const std::vector<Digest> b = Leaves(workload->b);
  uint64_t differing = 0;
  std::vector<bool> differs(kLeaves);
  for (size_t i = 0; i < kLeaves; ++i) {
    differs[i] = a[i] != b[i];
    differing += differs[i];
  }
  outcome.bytes_a_to_b = kHeadBytes + (2 * kLeaves - 1) * kNodeBytes;
  outcome.bytes_b_to_a = kHeadBytes + 2 * differing;
  outcome.round_trips = 1;
  outcome.plan = "one tree of 2^15 leaves";
  for (Replica* from : {&workload->a, &workload->b}) {
    Replica* const to = from == &workload->a ? &workload->b : &workload->a;
    const size_t own = from->elements.size();
    for (size_t i = 0; i < own; ++i) {
      const ElementHash element = from->elements[i];
      if (!differs[LeafOf(element)]) continue;
      if (to->holds[from->numbers[i]]) {
        ++outcome.false_pairs;
      } else {
        to->Gain(element, from->numbers[i]);
      }
    }
  }
  outcome.missing_after = CountMissing(*workload);
  return outcome;
}

}  // namespace rocksync::bench
