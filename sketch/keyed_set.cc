#include "sketch/keyed_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace rocksync {
namespace {

// One stable pass of a radix sort over `bits` bits from `shift` on.
void RadixPass(const std::vector<uint64_t>& from, int shift, int bits,
               std::vector<uint64_t>* to) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  std::vector<uint32_t> next(mask + 1, 0);
  for (const uint64_t entry : from) ++next[entry >> shift & mask];
  uint32_t begin = 0;
  for (uint32_t& count : next) {
    const uint32_t size = count;
    count = begin;
    begin += size;
  }
  for (const uint64_t entry : from) {
    (*to)[next[entry >> shift & mask]++] = entry;
  }
}

// Linear if every element is near its place.
void InsertionSort(std::vector<uint64_t>* entries) {
  uint64_t* const data = entries->data();
  for (size_t i = 1; i < entries->size(); ++i) {
    const uint64_t entry = data[i];
    size_t j = i;
    for (; j > 0 && data[j - 1] > entry; --j) data[j] = data[j - 1];
    data[j] = entry;
  }
}

}  // namespace

KeyedSet::KeyedSet(std::span<const ElementHash> elements,
                   const MappingKey& key) {
  assert(elements.size() <= kMaxKeyedElements);
  entries_.resize(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    entries_[i] =
        (Mix(elements[i], key) & ~uint64_t{kMaxKeyedElements - 1}) | i;
  }
}

void KeyedSet::Remove(const std::vector<bool>& marked) {
  std::erase_if(entries_, [&](uint64_t entry) {
    return marked[entry & (kMaxKeyedElements - 1)];
  });
}

// Places are uniform, so the leading log2(n) + 2 bits nearly sort them.
void KeyedSet::Sort() {
  if (sorted_) return;
  sorted_ = true;
  if (entries_.size() < 256) {
    std::sort(entries_.begin(), entries_.end());
    return;
  }
  const int bits = std::bit_width(entries_.size()) + 2;
  const int low = bits / 2;
  std::vector<uint64_t> other(entries_.size());
  RadixPass(entries_, 64 - bits, low, &other);
  RadixPass(other, 64 - bits + low, bits - low, &entries_);
  InsertionSort(&entries_);
}

ShortIds::ShortIds(KeyedSet* set, const IdShape& shape) : shape_(shape) {
  assert(shape.groups >= 1 && shape.bits >= kMinFieldBits &&
         shape.bits <= kMaxFieldBits);
  if (shape.groups > 1) set->Sort();
  ids_.resize(set->size());
  groups_.resize(shape.groups);
  constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;
  const int shift = kPlaceBits - shape.bits;
  size_t end = 0;
  uint64_t previous = 0;
  for (size_t i = 0; i < set->size(); ++i) {
    const Uint128 product = Uint128{set->place(i)} * shape.groups;
    const uint64_t group = static_cast<uint64_t>(product >> kPlaceBits);
    const uint64_t id = (static_cast<uint64_t>(product) & kPlaceMask) >> shift;
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

std::vector<uint32_t> ShortIds::Sums(uint32_t first, uint32_t count,
                                     std::span<const uint32_t> groups) const {
  std::vector<ElementRange> ranges;
  ranges.reserve(groups.size());
  for (const uint32_t g : groups) ranges.push_back(groups_[g]);
  std::vector<uint32_t> sums;
  OddPowerSums(shape_.bits, first, count, ids_, ranges, &sums);
  return sums;
}

}  // namespace rocksync
