// Mixes (mapping.h) of many elements at once: portable code, AVX2 and AVX-512
// with equal results.

#ifndef ROCKSYNC_SKETCH_ELEMENT_MIX_KERNELS_H_
#define ROCKSYNC_SKETCH_ELEMENT_MIX_KERNELS_H_

#include <cstdint>
#include <span>

#include "sketch/element/cpu_features.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"

namespace rocksync {

// out[i] becomes Mix(elements[i], key).
void MixAll(std::span<const ElementHash> elements, const MappingKey& key,
            uint64_t* out, CpuLevel level = BestCpuLevel());

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_MIX_KERNELS_H_
