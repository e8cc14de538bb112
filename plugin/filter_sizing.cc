#include "plugin/filter_sizing.h"

#include <algorithm>
#include <cmath>

#include "plugin/filter_format.h"

namespace rocksync {
namespace {

// The least share of the bytes of a filter's keys that is in lines. A filter of
// one line would otherwise have up to a third more keys than its bits are for,
// 2.4 % false positives instead of 0.87 % at 10 bits.
constexpr double kLeastShareOfLines = 0.9;

// Returns the mean over lines of (share of bits set)^probes. A line takes part
// in a Poisson-distributed number of keys, each setting probes_per_key bits in
// it.
double MeanLinePass(double keys_per_line, double probes_per_key,
                    uint32_t probes) {
  const double most = keys_per_line + 10 * std::sqrt(keys_per_line) + 10;
  const double log_unset = std::log1p(-1. / kFilterLineBits) * probes_per_key;
  const double log_mean = std::log(keys_per_line);
  double log_weight = -keys_per_line;
  double sum = probes == 0 ? std::exp(log_weight) : 0;
  for (double keys = 1; keys <= most; ++keys) {
    log_weight += log_mean - std::log(keys);
    sum +=
        std::exp(log_weight) * std::pow(-std::expm1(log_unset * keys), probes);
  }
  return std::min(sum, 1.);
}

// Divides probes: the first line gets two or three more than the second if
// there are enough. Half as many absent keys pass it as would at equal parts,
// and there are hardly more false positives.
FilterProbes Divide(uint32_t probes) {
  const uint32_t first =
      std::min((probes + 1) / 2 + (probes >= 4), kMaxLineProbes);
  return {first, probes - first};
}

}  // namespace

double FilterFalsePositiveRate(double keys, double lines, FilterProbes probes) {
  if (keys <= 0) return 0;
  if (lines <= 0 || probes.first == 0) return 1;
  // A line is the first line of some keys and the second of others. They are
  // replaced by keys of one kind that set the same number of bits in it, by
  // mean and variance.
  const double first = probes.first;
  const double second = probes.second;
  const double probes_per_key =
      (first * first + second * second) / (first + second);
  const double keys_per_line = keys / lines * (first + second) / probes_per_key;
  return MeanLinePass(keys_per_line, probes_per_key, probes.first) *
         MeanLinePass(keys_per_line, probes_per_key, probes.second);
}

FilterProbes ChooseProbes(double bits_per_key) {
  constexpr double kKeys = 1e6;
  constexpr double kAsGood = 1.03;
  const double lines = kKeys * bits_per_key / kFilterLineBits;
  FilterProbes best = Divide(2);
  double best_rate = 1;
  for (uint32_t probes = 2; probes <= 2 * kMaxLineProbes; ++probes) {
    const FilterProbes divided = Divide(probes);
    const double rate = FilterFalsePositiveRate(kKeys, lines, divided);
    if (rate * kAsGood < best_rate) {
      best_rate = rate;
      best = divided;
    }
  }
  return best;
}

uint32_t FilterLineCount(size_t keys, double bits_per_key) {
  if (keys == 0) return 0;
  const double bytes = static_cast<double>(keys) * bits_per_key / 8;
  const double in_lines =
      std::max(bytes - double{kFilterTrailerBytes}, kLeastShareOfLines * bytes);
  const double lines = std::ceil(in_lines / kFilterLineBytes);
  return static_cast<uint32_t>(std::clamp(lines, 1., double{kMaxFilterLines}));
}

size_t FilterKeyCount(size_t bytes, double bits_per_key) {
  // RocksDB asks for larger partitions if this is 0; in those of one line the
  // trailer would be a quarter.
  if (bytes < kFilterTrailerBytes + 2 * kFilterLineBytes) return 0;
  const size_t lines = std::min<size_t>(
      (bytes - kFilterTrailerBytes) / kFilterLineBytes, kMaxFilterLines);
  const double in_lines = static_cast<double>(lines * kFilterLineBytes);
  const double bits = 8 * std::min(in_lines + double{kFilterTrailerBytes},
                                   in_lines / kLeastShareOfLines);
  return static_cast<size_t>(bits / bits_per_key);
}

double BitsAtHeight(const FilterPolicyOptions& options, FilterHeight height) {
  // The expected false positives of a lookup are the sum of the levels' rates.
  // At a given sum of bits it is smallest if a level's rate is proportional to
  // its number of keys: ln(ratio) / ln(2)^2 bits more for each level up. The
  // share of keys at heights 1 and 2 is 1/ratio and 1/ratio^2.
  const double ratio = options.level_size_ratio;
  const double step = std::log(ratio) / (std::log(2.) * std::log(2.));
  const double above_last = step * (1 / ratio + 2 / (ratio * ratio));
  const double bits =
      options.bits_per_key - above_last + step * static_cast<int>(height);
  return std::clamp(bits, kMinBitsPerKey, kMaxBitsPerKey);
}

bool HeightOf(const rocksdb::FilterBuildingContext& context,
              FilterHeight* height) {
  const bool from_tree =
      context.reason == rocksdb::TableFileCreationReason::kFlush ||
      context.reason == rocksdb::TableFileCreationReason::kCompaction ||
      context.reason == rocksdb::TableFileCreationReason::kRecovery;
  if (!from_tree ||
      context.compaction_style != rocksdb::kCompactionStyleLevel ||
      context.level_at_creation < 0) {
    return false;
  }
  *height = context.is_bottommost            ? FilterHeight::kLast
            : context.level_at_creation == 0 ? FilterHeight::kTop
                                             : FilterHeight::kMiddle;
  return true;
}

}  // namespace rocksync
