// Reads a replica at rest with plain RocksDB, every pair and every entry, and
// compares: index equals data. Nothing of the store but its formats is used.

#ifndef ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_
#define ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_

#include <string>
#include <vector>

#include "sketch/digest.h"
#include "tests/crash/history.h"

namespace rocksync::crash {

struct Scan {
  Pairs pairs;
  bool has_index = false;
  bool being_read = false;  // adoption or re-check is due: entries may miss
  uint64_t tombstones = 0;
  Digest digest;                   // of all entries
  std::vector<std::string> wrong;  // what disagrees; at most a few lines
};

// Opens read-only; the log is replayed in memory and the directory not changed.
Scan ScanReplica(const std::string& directory);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_
