// rocksync diff DIR DIR: how two offline databases differ.

#ifndef ROCKSYNC_TOOLS_DIFF_H_
#define ROCKSYNC_TOOLS_DIFF_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace rocksync {

struct DiffOptions {
  std::string left;
  std::string right;
  uint64_t max_keys = 100;  // listed; all are counted
  bool json = false;        // one JSON object a line
  // "DIR=LOGDIR" each: where the log of a directory is, if its own files do not
  // say (offline_db.h).
  std::vector<std::string> wal_dirs = {};
};

// Exit codes, as diff(1) has them.
inline constexpr int kDiffEqual = 0;
inline constexpr int kDiffDifferent = 1;
inline constexpr int kDiffError = 2;

// Compares the column families of two databases, plain or replicated, pair by
// pair; the index of a replicated one is not data and not compared. Reads both
// once in key order and holds one pair of each in memory. Neither directory is
// written to; both are locked meanwhile, so a database in use is an error.
//
// Lists on `out`, as it goes:
//   < FAMILY KEY    only on the left
//   > FAMILY KEY    only on the right
//   ~ FAMILY KEY    on both, with different values
//   < FAMILY, > FAMILY   a family that only one side has
// and last how many of each. A key with other bytes than printable ASCII, with
// a blank, or that begins with 0x, is shown in hexadecimal after 0x. The marks
// are those of `rocksync verify` (difference_line.h).
int RunDiff(const DiffOptions& options, std::ostream& out, std::ostream& err);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_DIFF_H_
