#include "sketch/element/cpu_features.h"

namespace rocksync {
namespace {

CpuLevel Detect() {
#if ROCKSYNC_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
      __builtin_cpu_supports("pclmul")) {
    if (__builtin_cpu_supports("gfni") && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return CpuLevel::kGfni;
    }
    return CpuLevel::kAvx2;
  }
#endif
  return CpuLevel::kPortable;
}

}  // namespace

CpuLevel BestCpuLevel() {
  static const CpuLevel level = Detect();
  return level;
}

}  // namespace rocksync
