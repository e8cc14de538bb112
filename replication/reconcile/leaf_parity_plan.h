// How a search by parities of leaves (leaf_parities.h) is sized: the cells of
// parities, the groups of symbols, and the syndromes of a group.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITY_PLAN_H_
#define ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITY_PLAN_H_

#include <cstdint>

#include "replication/reconcile/leaf_search_messages.h"

namespace rocksync {

// The fewest places of a group, unless all leaves are fewer. Smaller groups
// take more syndromes to spare, and a peer could ask for any work.
inline constexpr uint32_t kFewestPlaces = 16;

struct LeafParityPlan {
  // How leaves are cut into groups for the syndromes. Its bits() are one less
  // than a symbol's: parities tell the last bit of the count.
  SymbolShape shape;
  // All bits that the search takes; infinite if parities are no choice.
  double bits = 0;
};
// Plans a search for about `differing` of the leaves, whose symbols have at
// least `least_bits`.
LeafParityPlan PlanLeafParities(uint32_t leaves, double differing,
                                int least_bits);

// Returns how many leaves differ if `odd` of them hold an odd number of
// elements more or less, spread by chance.
double DifferingLeaves(double leaves, double odd);
// The reverse: how many of `differing` leaves are odd.
double OddLeaves(double leaves, double differing);

// Returns how many of `leaves` differ by an even number of elements if `odd`
// differ by an odd one, spread by chance.
double OtherLeaves(double leaves, double odd);

// Returns the cells that tell which `odd` of the leaves are odd.
double CellsFor(double leaves, double odd);

// Returns the syndromes of a group beside those of its odd leaves, so that
// `others` more are told.
uint32_t SpareSyndromes(uint32_t others);

// Returns how many others a group is to tell at first, with `mean` of them in
// each of so many groups: their number is Poisson distributed. What too few
// cost is more syndromes of the groups that fail, and a round trip.
uint32_t FirstOthers(double mean, double groups, int bits);
// Returns how many others a group is to tell that has more than `others`:
// hardly any has more than so many.
uint32_t MoreOthers(uint32_t others, double mean);
// Returns the mean of the Poisson distribution that is below `others` with this
// probability.
double MeanOthers(uint32_t others, double probability);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_LEAF_PARITY_PLAN_H_
