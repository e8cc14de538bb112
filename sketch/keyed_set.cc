#include "sketch/keyed_set.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "sketch/mix_kernels.h"

namespace rocksync {
namespace {

// A sort first makes parts of about this many entries, and then sorts each in
// the nearest cache.
constexpr size_t kPart = 2048;
constexpr int kMaxFirstBits = 12;
// Beyond log2(n), so that few entries agree in all the bits sorted by: what the
// processor guesses in the last step then comes true.
constexpr int kSpareBits = 5;
// Elements that are mixed at a time.
constexpr size_t kBlock = 64;

// Turns counts into where each value's part begins.
void SumUp(std::vector<uint32_t>* counts) {
  uint32_t begin = 0;
  for (uint32_t& count : *counts) begin += std::exchange(count, begin);
}

// Distributes entries by `bits` bits from `shift` on, stably.
void Distribute(std::span<const uint64_t> from, int shift, int bits,
                std::vector<uint32_t>* next, uint64_t* to) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  next->assign(mask + 1, 0);
  for (const uint64_t entry : from) ++(*next)[entry >> shift & mask];
  SumUp(next);
  uint32_t* const ends = next->data();
  for (const uint64_t entry : from) to[ends[entry >> shift & mask]++] = entry;
}

// Linear if every element is near its place.
void InsertionSort(std::span<uint64_t> entries) {
  uint64_t* const data = entries.data();
  for (size_t i = 1; i < entries.size(); ++i) {
    const uint64_t entry = data[i];
    size_t j = i;
    for (; j > 0 && data[j - 1] > entry; --j) data[j] = data[j - 1];
    data[j] = entry;
  }
}

}  // namespace

// Places are uniform, so their leading log2(n) + kSpareBits bits sort all but a
// few: by parts, then each part from its lowest bits up. Places are computed
// twice, which takes less time than to move them once more.
KeyedSet::KeyedSet(std::span<const ElementHash> elements,
                   const MappingKey& key) {
  const size_t n = elements.size();
  assert(n <= kMaxKeyedElements);
  const auto for_each_entry = [&](const auto& visit) {
    uint64_t mixes[kBlock];
    for (size_t at = 0; at < n; at += kBlock) {
      const size_t count = std::min(kBlock, n - at);
      MixAll(elements.subspan(at, count), key, mixes);
      for (size_t i = 0; i < count; ++i) {
        visit((mixes[i] & ~uint64_t{kMaxKeyedElements - 1}) | (at + i));
      }
    }
  };
  entries_.resize(n);
  const int first =
      std::min(static_cast<int>(std::bit_width(n / kPart)), kMaxFirstBits);
  if (first == 0) {
    size_t i = 0;
    for_each_entry([&](uint64_t entry) { entries_[i++] = entry; });
    std::sort(entries_.begin(), entries_.end());
    return;
  }
  std::vector<uint32_t> ends(size_t{1} << first, 0);
  for_each_entry([&](uint64_t entry) { ++ends[entry >> (64 - first)]; });
  const uint32_t largest = *std::max_element(ends.begin(), ends.end());
  SumUp(&ends);
  for_each_entry(
      [&](uint64_t entry) { entries_[ends[entry >> (64 - first)]++] = entry; });
  const int bits = std::bit_width(n) + kSpareBits;
  const int last = (bits - first) / 2;
  std::vector<uint64_t> room(largest);
  std::vector<uint32_t> next;
  size_t begin = 0;
  for (const size_t end : ends) {
    const std::span<uint64_t> part(&entries_[begin], end - begin);
    Distribute(part, 64 - bits, last, &next, room.data());
    Distribute({room.data(), part.size()}, 64 - bits + last,
               bits - first - last, &next, part.data());
    InsertionSort(part);
    begin = end;
  }
}

void KeyedSet::Remove(const std::vector<bool>& marked) {
  std::erase_if(entries_, [&](uint64_t entry) {
    return marked[entry & (kMaxKeyedElements - 1)];
  });
}

// Up to this many power sums take one plan.
constexpr uint32_t kSumsAtOnce = 128;
// With fewer sums before, more are not likely.
constexpr uint32_t kFewSums = 12;

ShortIds::ShortIds(const KeyedSet& set, const IdShape& shape) : shape_(shape) {
  assert(shape.groups >= 1 && shape.bits >= kMinFieldBits &&
         shape.bits <= kMaxFieldBits &&
         shape.groups <= uint32_t{1} << (64 - kPlaceBits));
  ids_.resize(set.size());
  groups_.resize(shape.groups);
  constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  const int shift = kPlaceBits - shape.bits;
  size_t end = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    const uint64_t product = set.place(i) * shape.groups;  // below 2^64
    const uint64_t group = product >> kPlaceBits;
    const uint64_t id = (product & kPlaceMask) >> shift;
    ids_[i] = static_cast<uint32_t>(std::max<uint64_t>(id, 1));
    for (; previous < group; ++previous) {
      groups_[previous].end = i;
      groups_[previous + 1].begin = i;
    }
    end = i + 1;
  }
  for (; previous < shape.groups; ++previous) {
    groups_[previous].end = end;
    if (previous + 1 < shape.groups) groups_[previous + 1].begin = end;
  }
}

// All from the first one on cost less than further ones do later: their powers
// follow from each other (gram_plan.h).
void ShortIds::ComputeSingle(uint32_t end) {
  if (end <= single_.size()) return;
  const uint32_t ahead = std::min(
      end + end / 2, (end + kSumsAtOnce - 1) / kSumsAtOnce * kSumsAtOnce);
  if (ahead <= kSumsAtOnce) single_.clear();
  const uint32_t first = static_cast<uint32_t>(single_.size());
  std::vector<uint32_t> sums;
  OddPowerSums(shape_.bits, first, ahead - first, ids_, groups_, &sums);
  single_.insert(single_.end(), sums.begin(), sums.end());
}

std::vector<uint32_t> ShortIds::Sums(uint32_t first, uint32_t count,
                                     std::span<const uint32_t> groups) {
  if (shape_.groups == 1 && groups.size() == 1 && first >= kFewSums) {
    ComputeSingle(first + count);
    return {single_.begin() + first, single_.begin() + first + count};
  }
  std::vector<ElementRange> ranges;
  ranges.reserve(groups.size());
  for (const uint32_t g : groups) ranges.push_back(groups_[g]);
  std::vector<uint32_t> sums;
  OddPowerSums(shape_.bits, first, count, ids_, ranges, &sums);
  return sums;
}

}  // namespace rocksync
