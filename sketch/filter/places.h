// Builds and tests one-probe filters by the places (mapping.h) of many elements
// at once.

#ifndef ROCKSYNC_SKETCH_FILTER_PLACES_H_
#define ROCKSYNC_SKETCH_FILTER_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// Sets, for each element, bit p % 8 of bytes[p / 8], p being its place in
// [0, m), 1 <= m <= kMaxReductionRange. `bytes` has (m + 7) / 8 bytes.
void SetPlaces(std::span<const ElementHash> elements, const MappingKey& key,
               uint64_t m, uint8_t* bytes);

// Puts into `ordinals`, ascending, the ordinals of the elements whose bit is
// not set, counting from `first`, and returns their number. `ordinals` must
// have room for elements.size() of them.
size_t FindUnsetPlaces(std::span<const ElementHash> elements,
                       const MappingKey& key, uint64_t m, const uint8_t* bytes,
                       uint32_t first, uint32_t* ordinals);

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_FILTER_PLACES_H_
