// What comparing Merkle trees would cost, for comparison: 2^15 leaves over
// ranges of the hash, 32 bytes a node, as Cassandra's repair does.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_MERKLE_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_MERKLE_H_

#include "tests/bench/reconcile/reconciliation.h"

namespace rocksync::bench {

// One side sends its whole tree, the other the list of leaves that differ, and
// all rows of those leaves are shipped: false_pairs are those that the other
// side has.
Outcome ReconcileByMerkleTree(Workload* workload);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_MERKLE_H_
