#include "sketch/filter/places.h"

#include <algorithm>

namespace rocksync {
namespace {

// How many elements get their places computed before the first bit is touched:
// the accesses to bits are then as independent as the processor can use. In
// larger blocks computing places and touching bits overlap less.
constexpr size_t kBlock = 64;

// Calls visit(begin, places, n) for each block of elements, the places being
// those of elements [begin, begin + n).
template <typename Visit>
void ForEachBlock(std::span<const ElementHash> elements, const MappingKey& key,
                  uint64_t m, const Visit& visit) {
  // The distance, in elements, of prefetches. Elements are streamed once, and
  // between them a filter of hundreds of kilobytes is touched at random.
  constexpr size_t kAhead = 512;
  constexpr size_t kElementsPerLine = 64 / sizeof(ElementHash);
  uint64_t places[kBlock];
  for (size_t at = 0; at < elements.size(); at += kBlock) {
    const size_t n = std::min(kBlock, elements.size() - at);
    if (m <= kMaxShortRange) {
      const uint32_t range = static_cast<uint32_t>(m);
      for (size_t i = 0; i < n; ++i) {
        const ElementHash* const element = elements.data() + at + i;
        if (i % kElementsPerLine == 0) __builtin_prefetch(element + kAhead);
        places[i] = ShortScale(ShortMix(*element, key), range);
      }
    } else {
      MixAll(elements.subspan(at, n), key, places);
      for (size_t i = 0; i < n; ++i) places[i] = Scale(places[i], m);
    }
    visit(at, places, n);
  }
}

}  // namespace

void SetPlaces(std::span<const ElementHash> elements, const MappingKey& key,
               uint64_t m, uint8_t* bytes) {
  // The lambda copies `bytes`: the bytes written could be the pointer itself,
  // which would be read again for every bit.
  ForEachBlock(
      elements, key, m, [bytes](size_t, const uint64_t* places, size_t n) {
        for (size_t i = 0; i < n; ++i) {
          const uint64_t p = places[i];
          bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | 1 << p % 8);
        }
      });
}

size_t FindUnsetPlaces(std::span<const ElementHash> elements,
                       const MappingKey& key, uint64_t m, const uint8_t* bytes,
                       uint32_t first, uint32_t* ordinals) {
  size_t count = 0;
  ForEachBlock(elements, key, m,
               [&count, bytes, first, ordinals](
                   size_t begin, const uint64_t* places, size_t n) {
                 // This has no branch: half of those on a half full filter
                 // would be mispredicted.
                 for (size_t i = 0; i < n; ++i) {
                   const uint64_t p = places[i];
                   ordinals[count] = first + static_cast<uint32_t>(begin + i);
                   count += ~static_cast<size_t>(bytes[p / 8] >> p % 8) & 1;
                 }
               });
  return count;
}

}  // namespace rocksync
