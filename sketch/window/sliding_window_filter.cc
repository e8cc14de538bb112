#include "sketch/window/sliding_window_filter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace rocksync {
namespace {

// The smallest generation: less saves no memory beside what one takes anyway.
constexpr uint64_t kSmallestBits = 4096;
// A full generation is followed by one that is this many times as large.
constexpr uint64_t kGrowth = 4;
// The first generation of a slice has room for this many times what the last
// slice brought.
constexpr double kHeadroom = 1.25;
// The largest generation takes one kLargestPart-th of the memory: so much is
// forgotten at once if there is not enough.
constexpr size_t kLargestPart = 8;

// The rates of generations add up: each gets a part.
FilterShape ShapeOfAGeneration(const SlidingWindowOptions& options,
                               uint64_t elements) {
  return ShapeFilter(elements, options.false_positive_rate /
                                   SlidingWindowFilter::kMaxGenerations);
}

double BitsPerElement(const SlidingWindowOptions& options) {
  constexpr uint64_t kMany = uint64_t{1} << 20;
  return static_cast<double>(ShapeOfAGeneration(options, kMany).bits) / kMany;
}

// Returns the length of a slice: kSlices of them cover the window.
uint64_t SliceOf(uint64_t window) {
  return window / SlidingWindowFilter::kSlices +
         (window % SlidingWindowFilter::kSlices != 0);
}

size_t BytesOfAMapping(uint32_t probes) { return probes * sizeof(MappingKey); }

}  // namespace

SlidingWindowFilter::SlidingWindowFilter(const SlidingWindowOptions& options,
                                         const MappingSeed& seed)
    : options_(options),
      seed_(seed),
      probes_(ShapeOfAGeneration(options, 1).probes),
      bits_per_element_(BitsPerElement(options)),
      max_fill_(std::pow(options.false_positive_rate / kMaxGenerations,
                         1.0 / probes_)),
      largest_bits_(std::min<uint64_t>(
          kMaxReductionRange,
          8 * ((options.max_bytes - sizeof(*this) -
                kMaxGenerations *
                    (sizeof(Generation) + BytesOfAMapping(probes_))) /
               kLargestPart))),
      memory_bytes_(sizeof(*this) + kMaxGenerations * sizeof(Generation)) {
  assert(options.false_positive_rate >= 1e-9 &&
         options.false_positive_rate <= 0.5);
  assert(options.max_bytes >= kMinSlidingWindowBytes);
  generations_.reserve(kMaxGenerations);
}

size_t SlidingWindowFilter::BytesOf(uint64_t bits) const {
  return (bits + 7) / 8 + BytesOfAMapping(probes_);
}

bool SlidingWindowFilter::HasLeftTheWindow(const Generation& generation) const {
  return (options_.window_ms != 0 &&
          now_ms_ - generation.last_ms >= options_.window_ms) ||
         (options_.window_elements != 0 &&
          inserted_ - generation.last_inserted >= options_.window_elements);
}

void SlidingWindowFilter::DropOldest() {
  memory_bytes_ -= BytesOf(generations_.front().filter.shape().bits);
  generations_.erase(generations_.begin());
}

void SlidingWindowFilter::Age(uint64_t now_ms) {
  now_ms_ = std::max(now_ms_, now_ms);
  while (!generations_.empty() && HasLeftTheWindow(generations_.front())) {
    DropOldest();
  }
}

bool SlidingWindowFilter::SliceIsOver() const {
  return (options_.window_ms != 0 &&
          now_ms_ - slice_begin_ms_ >= SliceOf(options_.window_ms)) ||
         (options_.window_elements != 0 &&
          inserted_ - slice_begin_inserted_ >=
              SliceOf(options_.window_elements));
}

// The first generation of a slice has room for what the last slice brought. If
// more time has passed than a slice, its rate counts.
void SlidingWindowFilter::BeginSlice() {
  double expected = static_cast<double>(inserted_ - slice_begin_inserted_);
  const uint64_t passed_ms = now_ms_ - slice_begin_ms_;
  if (options_.window_ms != 0 && passed_ms > SliceOf(options_.window_ms)) {
    expected *= static_cast<double>(SliceOf(options_.window_ms)) /
                static_cast<double>(passed_ms);
  }
  slice_begin_ms_ = now_ms_;
  slice_begin_inserted_ = inserted_;
  BeginGeneration(
      static_cast<uint64_t>(kHeadroom * expected * bits_per_element_));
}

// Returns whether one more element could set more bits than the rate allows.
bool SlidingWindowFilter::IsFull(const Generation& generation) const {
  return static_cast<double>(generation.bits_set + probes_) >
         max_fill_ * static_cast<double>(generation.filter.shape().bits);
}

void SlidingWindowFilter::BeginGeneration(uint64_t bits) {
  bits =
      std::clamp(bits, std::min(kSmallestBits, largest_bits_), largest_bits_);
  while (generations_.size() == kMaxGenerations ||
         memory_bytes_ + BytesOf(bits) > options_.max_bytes) {
    forgotten_early_ += generations_.front().elements;
    DropOldest();
  }
  generations_.push_back(
      {.filter = DistributedBloomFilter(
           {.bits = bits, .probes = probes_},
           FilterMapping(seed_, generations_begun_, probes_))});
  ++generations_begun_;
  memory_bytes_ += BytesOf(bits);
}

void SlidingWindowFilter::Insert(const ElementHash& hash, uint64_t now_ms) {
  Age(now_ms);
  if (generations_.empty() || SliceIsOver()) {
    BeginSlice();
  } else if (IsFull(generations_.back())) {
    BeginGeneration(kGrowth * generations_.back().filter.shape().bits);
  }
  Generation& newest = generations_.back();
  const uint32_t newly_set = newest.filter.Add(hash);
  newest.bits_set += newly_set;
  newest.elements += newly_set > 0;
  inserted_ += newly_set > 0;
  newest.last_ms = now_ms_;
  newest.last_inserted = inserted_;
}

bool SlidingWindowFilter::MayContain(const ElementHash& hash, uint64_t now_ms) {
  Age(now_ms);
  // Newest first: an element that comes twice mostly does so soon.
  return std::any_of(generations_.rbegin(), generations_.rend(),
                     [&](const Generation& generation) {
                       return generation.filter.MayContain(hash);
                     });
}

SlidingWindowStatistics SlidingWindowFilter::GetStatistics(uint64_t now_ms) {
  Age(now_ms);
  SlidingWindowStatistics statistics;
  double misses = 1;
  for (const Generation& generation : generations_) {
    const uint64_t bits = generation.filter.shape().bits;
    statistics.elements += generation.elements;
    statistics.bits += bits;
    statistics.bits_set += generation.bits_set;
    misses *= 1 - std::pow(static_cast<double>(generation.bits_set) /
                               static_cast<double>(bits),
                           probes_);
  }
  statistics.generations = static_cast<uint32_t>(generations_.size());
  statistics.false_positive_rate = 1 - misses;
  statistics.memory_bytes = memory_bytes_;
  statistics.inserted = inserted_;
  statistics.forgotten_early = forgotten_early_;
  return statistics;
}

}  // namespace rocksync
