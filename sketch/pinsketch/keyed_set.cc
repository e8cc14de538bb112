#include "sketch/pinsketch/keyed_set.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "sketch/element/mapping.h"

namespace rocksync {
namespace {

// A sort first makes parts of about this many entries, then sorts each in the
// nearest cache.
constexpr size_t kPart = 2048;
constexpr int kMaxFirstBits = 12;
// Bits to sort by beyond log2(n), so that few entries agree in all of them, and
// the processor predicts the branches of the last step well.
constexpr int kSpareBits = 5;
// The number of elements that are mixed at a time.
constexpr size_t kBlock = 64;

// Turns counts into the positions where each value's part begins.
void SumUp(std::vector<uint32_t>* counts) {
  uint32_t begin = 0;
  for (uint32_t& count : *counts) begin += std::exchange(count, begin);
}

// Visits the entry of each element: its place and, below, its ordinal.
template <class Visit>
void ForEachEntry(std::span<const ElementHash> elements, const MappingKey& key,
                  const Visit& visit) {
  uint64_t mixes[kBlock];
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t count = std::min(kBlock, elements.size() - at);
    MixAll(elements.subspan(at, count), key, mixes);
    for (size_t i = 0; i < count; ++i) {
      visit((mixes[i] & ~uint64_t{kMaxKeyedElements - 1}) | (at + i));
    }
  }
}

// Parts of an array, by the leading bits of their entries' places: part i is
// [begins[i], ends[i]).
struct Parts {
  std::vector<uint32_t> begins;
  std::vector<uint32_t> ends;
};

// Prefetches the next cache line of a part. Appending to hundreds of parts in
// turn would wait at each new line: three times as long as all the rest.
inline void FetchNextLine(const uint64_t* written) {
  __builtin_prefetch(written + 64 / sizeof(uint64_t), 1);
}

// Distributes entries to 2^bits parts, each with room for six standard
// deviations more than the mean, so that nothing need be counted first. Returns
// false if that is too little for one: uniform places do that once in 10^5
// sets.
bool DistributeToRooms(std::span<const ElementHash> elements,
                       const MappingKey& key, int bits,
                       std::vector<uint64_t>* entries, Parts* parts) {
  const double mean = std::ldexp(static_cast<double>(elements.size()), -bits);
  const auto room = static_cast<uint32_t>(mean + 6 * std::sqrt(mean));
  for (uint32_t begin = 0; begin < room << bits; begin += room) {
    parts->begins.push_back(begin);
  }
  parts->ends = parts->begins;
  // Behind the last part is a place for entries without room.
  entries->resize((size_t{room} << bits) + 1);
  uint64_t* const to = entries->data();
  uint32_t* const ends = parts->ends.data();
  bool fits = true;
  ForEachEntry(elements, key, [&](uint64_t entry) {
    const size_t part = entry >> (64 - bits);
    const bool full = ends[part] == (part + 1) * room;
    fits &= !full;
    to[ends[part]] = entry;
    FetchNextLine(to + ends[part]);
    ends[part] += !full;
  });
  return fits;
}

// Distributes entries to parts of exact size: computes each place twice.
void DistributeCounted(std::span<const ElementHash> elements,
                       const MappingKey& key, int bits,
                       std::vector<uint64_t>* entries, Parts* parts) {
  entries->resize(elements.size());
  parts->begins.assign(size_t{1} << bits, 0);
  ForEachEntry(elements, key,
               [&](uint64_t entry) { ++parts->begins[entry >> (64 - bits)]; });
  SumUp(&parts->begins);
  parts->ends = parts->begins;
  ForEachEntry(elements, key, [&](uint64_t entry) {
    uint64_t* const to = &(*entries)[parts->ends[entry >> (64 - bits)]++];
    *to = entry;
    FetchNextLine(to);
  });
}

// Sorts, in linear time if every entry is near its place.
void InsertionSort(std::span<uint64_t> entries) {
  uint64_t* const data = entries.data();
  for (size_t i = 1; i < entries.size(); ++i) {
    const uint64_t entry = data[i];
    size_t j = i;
    for (; j > 0 && data[j - 1] > entry; --j) data[j] = data[j - 1];
    data[j] = entry;
  }
}

// Sorts entries by the bits [shift, shift + bits). Holds how many entries have
// each value, and then where the next one of it goes.
class Digit {
 public:
  Digit(int shift, int bits)
      : shift_(shift), mask_((uint64_t{1} << bits) - 1), next_(mask_ + 1) {}

  void Clear() { std::fill(next_.begin(), next_.end(), 0); }
  void Count(uint64_t entry) { ++next_[entry >> shift_ & mask_]; }
  // Distributes, stably, the entries that were counted and no others.
  void Distribute(std::span<const uint64_t> from, uint64_t* to) {
    SumUp(&next_);
    uint32_t* const next = next_.data();
    for (const uint64_t entry : from)
      to[next[entry >> shift_ & mask_]++] = entry;
  }

 private:
  const int shift_;
  const uint64_t mask_;
  std::vector<uint32_t> next_;
};

// Sorts each part by the bits [64 - bits, 64 - first) and moves it to the end
// of the one before, which never reaches beyond its begin.
void SortParts(const Parts& parts, int first, int bits, uint64_t* entries) {
  size_t largest = 0;
  for (size_t i = 0; i < parts.begins.size(); ++i) {
    largest = std::max<size_t>(largest, parts.ends[i] - parts.begins[i]);
  }
  const int low_bits = (bits - first) / 2;
  Digit low(64 - bits, low_bits);
  Digit high(64 - bits + low_bits, bits - first - low_bits);
  std::vector<uint64_t> room(largest);
  size_t done = 0;
  for (size_t i = 0; i < parts.begins.size(); ++i) {
    const std::span<const uint64_t> part(entries + parts.begins[i],
                                         parts.ends[i] - parts.begins[i]);
    low.Clear();
    high.Clear();
    for (const uint64_t entry : part) {
      low.Count(entry);
      high.Count(entry);
    }
    low.Distribute(part, room.data());
    const std::span<uint64_t> sorted(entries + done, part.size());
    high.Distribute({room.data(), part.size()}, sorted.data());
    InsertionSort(sorted);
    done += sorted.size();
  }
}

}  // namespace

// Places are uniform, so sorting by their leading log2(n) + kSpareBits bits
// leaves only a few unsorted: first by parts, then each part from its lowest
// bits up.
KeyedSet::KeyedSet(std::span<const ElementHash> elements,
                   const MappingKey& key) {
  const size_t n = elements.size();
  assert(n <= kMaxKeyedElements);
  const int first =
      std::min(static_cast<int>(std::bit_width(n / kPart)), kMaxFirstBits);
  if (first == 0) {
    entries_.reserve(n);
    ForEachEntry(elements, key,
                 [&](uint64_t entry) { entries_.push_back(entry); });
    std::sort(entries_.begin(), entries_.end());
    return;
  }
  Parts parts;
  if (!DistributeToRooms(elements, key, first, &entries_, &parts)) {
    DistributeCounted(elements, key, first, &entries_, &parts);
  }
  SortParts(parts, first, std::bit_width(n) + kSpareBits, entries_.data());
  entries_.resize(n);
}

void KeyedSet::Remove(const std::vector<bool>& marked) {
  std::erase_if(entries_, [&](uint64_t entry) {
    return marked[entry & (kMaxKeyedElements - 1)];
  });
}

// The most power sums that share a plan.
constexpr uint32_t kSumsAtOnce = 128;
// A set that has had fewer sums is not likely to need more.
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

// Computes all sums from the first one on, since their powers follow from each
// other (gram_plan.h): that costs less than computing more of them later.
void ShortIds::ComputeSingle(uint32_t end) {
  if (end <= known_) return;
  const uint32_t ahead = std::min(
      end + end / 2, (end + kSumsAtOnce - 1) / kSumsAtOnce * kSumsAtOnce);
  if (ahead <= kSumsAtOnce) sums_.clear();
  const uint32_t first = static_cast<uint32_t>(sums_.size());
  std::vector<uint32_t> sums;
  OddPowerSums(shape_.bits, first, ahead - first, ids_, groups_, &sums);
  sums_.insert(sums_.end(), sums.begin(), sums.end());
  known_ = ahead;
}

// Computes a third more sums than are likely to be enough for most groups.
void ShortIds::ComputeAll(uint32_t end) {
  known_ = end + end / 3;
  OddPowerSums(shape_.bits, 0, known_, ids_, groups_, &sums_);
}

std::vector<uint32_t> ShortIds::Sums(uint32_t first, uint32_t count,
                                     std::span<const uint32_t> groups) {
  const uint32_t end = first + count;
  if (groups_.size() == 1) {
    if (first >= kFewSums) ComputeSingle(end);
  } else if (first == 0 && end >= kFewSums && end <= kSumsAtOnce &&
             groups.size() == groups_.size() &&
             ids_.size() >= kGramElements * groups_.size()) {
    ComputeAll(end);
  }
  std::vector<uint32_t> sums;
  if (end <= known_) {
    sums.reserve(groups.size() * count);
    for (const uint32_t g : groups) {
      const auto row =
          sums_.begin() + static_cast<ptrdiff_t>(size_t{g} * known_);
      sums.insert(sums.end(), row + first, row + end);
    }
    return sums;
  }
  std::vector<ElementRange> ranges;
  ranges.reserve(groups.size());
  for (const uint32_t g : groups) ranges.push_back(groups_[g]);
  OddPowerSums(shape_.bits, first, count, ids_, ranges, &sums);
  return sums;
}

}  // namespace rocksync
