// Pictures by gnuplot, from data files and the scripts of plots/.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_DRAWING_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_DRAWING_H_

#include <string>

#include "report.h"

namespace rocksync {

struct DrawingPaths {
  std::string data;
  std::string pictures;
};

// Runs plots/`script`.gp, which draws `name`.png from data files; that it did
// is one of the report's comparisons.
void Draw(const DrawingPaths& paths, const std::string& script,
          const std::string& name, Report* report);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_DRAWING_H_
