#include "tools/copy_progress.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

namespace rocksync {

std::string InUnits(uint64_t bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value,
                kUnits[unit]);
  return text;
}

void ShowProgress(const CloneProgress& progress) {
  std::string line;
  switch (progress.stage) {
    case CloneProgress::Stage::kAsking:
      line = "asking the source, which makes a checkpoint";
      break;
    case CloneProgress::Stage::kCopying:
      line = InUnits(progress.bytes_done) + " of " + InUnits(progress.bytes) +
             ", " + InUnits(progress.bytes_per_second) + "/s";
      if (progress.seconds_left > 0) {
        line += ", " + std::to_string(progress.seconds_left) + " s left";
      }
      break;
    case CloneProgress::Stage::kCarryingOver:
      line = "adding what only this replica holds";
      break;
    case CloneProgress::Stage::kOpening:
      line = "opening the copy";
      break;
    case CloneProgress::Stage::kProving:
      line = "a session with the source";
      break;
  }
  // Blanks over what was longer.
  constexpr size_t kWidth = 64;
  line.resize(std::max(line.size(), kWidth), ' ');
  std::cerr << "\r" << line << std::flush;
}

void ClearProgress() { std::cerr << "\r" << std::string(64, ' ') << "\r"; }

}  // namespace rocksync
