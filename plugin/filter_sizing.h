// The size of a filter, its number of probes, and how a tree's bits are shared
// between its levels.

#ifndef ROCKSYNC_PLUGIN_FILTER_SIZING_H_
#define ROCKSYNC_PLUGIN_FILTER_SIZING_H_

#include <cstddef>
#include <cstdint>

#include "plugin/filter_format.h"
#include "rocksdb/filter_policy.h"
#include "rocksync/filter_policy.h"

namespace rocksync {

constexpr double kMinBitsPerKey = 1;
constexpr double kMaxBitsPerKey = 50;
constexpr double kMinLevelSizeRatio = 2;
constexpr double kMaxLevelSizeRatio = 100;

// Returns the expected false positive rate of a filter of `lines` lines with
// `keys` keys, within about 2 % of what is measured. Takes about 20
// microseconds.
double FilterFalsePositiveRate(double keys, double lines, FilterProbes probes);

// Returns the number of probes beyond which another would save less than 3 % of
// the false positives, so divided that few absent keys pass the first line.
// Takes about 0.3 ms.
FilterProbes ChooseProbes(double bits_per_key);

// Returns the lines of a filter for `keys` keys. The trailer counts as a part
// of the bits, though as a tenth of them at most.
uint32_t FilterLineCount(size_t keys, double bits_per_key);

// Returns the most keys whose filter has at most `bytes` bytes; 0 if these are
// less than two lines and a trailer.
size_t FilterKeyCount(size_t bytes, double bits_per_key);

// A file's height above the last level of its tree, as far as known when it is
// made.
enum class FilterHeight { kLast, kMiddle, kTop };
constexpr int kFilterHeights = 3;

// Returns the bits per key at a height, such that the tree's mean is
// bits_per_key.
double BitsAtHeight(const FilterPolicyOptions& options, FilterHeight height);

// Returns false if the context does not tell (then bits_per_key applies).
bool HeightOf(const rocksdb::FilterBuildingContext& context,
              FilterHeight* height);

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_SIZING_H_
