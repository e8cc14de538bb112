// Ranks name the other side's elements. The side that has decoded the
// difference of a group knows all short ids of the other side there, so it can
// name a subset of them by ranks: log2 C(N, d) bits instead of d ids.
//
// Only ids that an odd number of elements share take part: those are the ids
// that power sums see, and both sides know them for sure.

#ifndef ROCKSYNC_SKETCH_PINSKETCH_RANKING_H_
#define ROCKSYNC_SKETCH_PINSKETCH_RANKING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rocksync {

// One group as seen by the side that decoded its difference.
struct ResolvedGroup {
  // Indexes into `ids` of elements that the other side lacks.
  std::vector<uint32_t> lacked_there;
  // Ranks, ascending, of the ids that are there and not here, among the
  // `count_there` ids there.
  std::vector<uint32_t> ranks_there;
  uint32_t count_there = 0;
  // Sum of IdCheck over the ids named.
  uint64_t check = 0;
};

// Returns a hash of a named id, which shows if ranks were taken in another
// list.
uint64_t IdCheck(uint32_t group, uint32_t id);

// Resolves a group. `ids` are this side's ids of the group, ascending;
// `difference` are the ids in the symmetric difference, ascending, distinct.
// Linear.
ResolvedGroup ResolveGroup(uint32_t group, std::span<const uint32_t> ids,
                           std::span<const uint32_t> difference);

// Returns how many ids of a group take part.
uint32_t CountRanked(std::span<const uint32_t> ids);

// A named id of a group, as its owner sees it, and the index into `ids` of the
// one element behind it, or nullopt if there are several. FindRanks returns
// those of `ranks`, which are ascending and below CountRanked(ids).
struct RankedId {
  uint32_t id = 0;
  std::optional<uint32_t> index;
};
std::vector<RankedId> FindRanks(std::span<const uint32_t> ids,
                                std::span<const uint32_t> ranks);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PINSKETCH_RANKING_H_
