// Chooses finer leaves for a search, where too many leaves differ: enough of
// them that most hold one differing element or none, so that their symbols tell
// it. See docs/exchange.md, "Finer leaves".

#ifndef ROCKSYNC_REPLICATION_RECONCILE_FINER_LEAVES_H_
#define ROCKSYNC_REPLICATION_RECONCILE_FINER_LEAVES_H_

#include <cstdint>

namespace rocksync {

// The most leading bits of a position that tell a finer leaf.
inline constexpr int kMaxFinerBits = 22;

// Two sides as a search that took all leaves for different knows them.
struct SidesThatDiffer {
  double mine = 0;         // elements
  double theirs = 0;       // elements of the other side
  double differences = 0;  // elements that one side has and the other has not
};

// Returns the bits of finer leaves, more than `bits`, with which a search takes
// the fewest bytes; 0 if an exchange over all elements takes fewer, or nearly
// as few with less CPU time. There are at most `most` finer leaves.
int ChooseFinerBits(int bits, double most, const SidesThatDiffer& sides);

// Returns whether a search tells in which of `leaves` leaves so many elements
// are: not, if nearly every leaf has some.
bool MayTellLeaves(double differences, uint32_t leaves);

// Returns in how many of `leaves` leaves so many differing elements are, spread
// by chance.
double LeavesWith(double differences, double leaves);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_FINER_LEAVES_H_
