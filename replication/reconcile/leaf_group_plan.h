// How a search by syndromes alone (leaf_groups.h) is sized: its probe, its
// groups, and the first syndromes of a group.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUP_PLAN_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUP_PLAN_H_

#include <cstdint>

#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_search_messages.h"

namespace rocksync {

// A probe has at most about so many pairs of syndromes. Where more leaves are
// expected to differ, parities come in its place.
inline constexpr double kMaxOfProbe = 250;

// Returns the pairs of syndromes of a probe: hardly ever too few, if it is
// known about how many leaves differ. `expected` is 0 if it is not.
uint32_t ProbePairs(double expected);

// Returns log2 of the groups that leaves are cut into if `differing` of them
// differ. `shape` is that of a single group.
int ChooseGroupBits(const SymbolShape& shape, double differing);

// Returns the pairs of syndromes of each group in the first pass, for
// `differing` leaves in all groups.
uint32_t FirstPairs(const SymbolShape& shape, double differing, Prefer prefer);

// Returns the bits of a search for `differing` leaves by syndromes alone:
// these, and the fine parities that come with them. The requests are few.
double SyndromeBits(const SymbolShape& shape, double differing);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_GROUP_PLAN_H_
