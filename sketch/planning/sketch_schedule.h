// Schedules how many power sums to send, and how many more once some groups did
// not decode: enough for most of them, since too many are wasted and too few
// cost half a round trip.

#ifndef ROCKSYNC_SKETCH_PLANNING_SKETCH_SCHEDULE_H_
#define ROCKSYNC_SKETCH_PLANNING_SKETCH_SCHEDULE_H_

#include <cstdint>
#include <span>

namespace rocksync {

// How many groups may fail in the first pass.
enum class SumsMargin : uint8_t {
  kFrugal = 0,  // about half: further passes are cheap
  kAmple = 1,   // few: one more pass must do
  kFinal = 2,   // none
  kEven = 3,    // a third: two passes should do
  kMost = 4,    // one in fifty: these are left
};

// Returns the sums of a first pass for groups of `mean` differences, known up
// to a factor of `1 +- uncertainty`. `single` says that there is one group, of
// just that many.
uint32_t FirstSums(double mean, double uncertainty, SumsMargin margin,
                   bool single);

// The passes over one sketch that the schedule aims for. What then fails is
// better left to a retry under a fresh mapping, if there will be one anyway.
inline constexpr uint32_t kPasses = 3;
inline constexpr uint32_t kPassesAfterFilters = 2;
inline constexpr uint32_t kHurriedPasses = 1;

// If round trips matter, this many hidden elements make a retry cheaper than
// ids wide enough to do without.
inline constexpr double kHurriedRetry = 4;

// Returns the share of the groups that failed which the next pass should
// decode, if `passes_left` >= 1 more are aimed for.
double ShareToDecode(uint32_t passes_left, bool hurry);

// Returns the total of sums for the groups that failed with `sums` in a pass,
// so that about `share` of them decode. The `decoded` groups of that pass had
// these sizes. Groups are taken for Poisson distributed with one mean,
// estimated from the sizes and the failures; if none has decoded it is `mean`,
// unless that is 0. `single` says that there is one group, of which only its
// failure is known.
uint32_t NextSums(uint32_t sums, std::span<const uint32_t> decoded,
                  uint32_t failed, double share, bool hurry, bool single,
                  double mean = 0);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_PLANNING_SKETCH_SCHEDULE_H_
