// How far a copy of a replica is, for a person who waits.

#ifndef ROCKSYNC_TOOLS_COPY_PROGRESS_H_
#define ROCKSYNC_TOOLS_COPY_PROGRESS_H_

#include <cstdint>
#include <string>

#include "rocksync/clone.h"

namespace rocksync {

std::string InUnits(uint64_t bytes);  // "1.5 MB"

// A line on stderr that is written over and over.
void ShowProgress(const CloneProgress& progress);
void ClearProgress();

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_COPY_PROGRESS_H_
