// The level of kernels that this machine can run. Every kernel exists in
// portable code too, with equal results.

#ifndef ROCKSYNC_SKETCH_ELEMENT_CPU_FEATURES_H_
#define ROCKSYNC_SKETCH_ELEMENT_CPU_FEATURES_H_

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define ROCKSYNC_X86 1
#else
#define ROCKSYNC_X86 0
#endif

namespace rocksync {

enum class CpuLevel : uint8_t {
  kPortable = 0,  // standard C++
  kAvx2 = 1,      // AVX2, BMI2, PCLMULQDQ
  kGfni = 2,      // kAvx2, GFNI and AVX-512 F, BW, DQ, VL
};

// Returns the highest level of this machine; the same at every call.
CpuLevel BestCpuLevel();

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_CPU_FEATURES_H_
