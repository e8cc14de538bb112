// The kernels that can run on this machine.

#ifndef ROCKSYNC_TESTS_UNIT_SKETCH_PINSKETCH_CPU_LEVELS_H_
#define ROCKSYNC_TESTS_UNIT_SKETCH_PINSKETCH_CPU_LEVELS_H_

#include <vector>

#include "sketch/element/cpu_features.h"

namespace rocksync {

inline std::vector<CpuLevel> CpuLevelsHere() {
  std::vector<CpuLevel> levels = {CpuLevel::kPortable};
  for (const CpuLevel level : {CpuLevel::kAvx2, CpuLevel::kGfni}) {
    if (BestCpuLevel() >= level) levels.push_back(level);
  }
  return levels;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_SKETCH_PINSKETCH_CPU_LEVELS_H_
