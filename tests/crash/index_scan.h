// Reads an offline replica with plain RocksDB, every pair and every entry, and
// compares: index equals data. Nothing of the store but its formats is used.

#ifndef ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_
#define ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replication/membership/tombstone_gc.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"
#include "tests/crash/history.h"

namespace rocksync::crash {

struct DatabaseScan {
  // By family and key.
  std::map<std::pair<std::string, std::string>, std::string> contents;
  bool has_index = false;
  bool being_read = false;  // an index build is due: entries may miss
  uint64_t tombstones = 0;
  Digest digest;  // of all entries
  Digest live;    // of those that are no tombstones
  // By family and key, of tombstones too.
  std::map<std::pair<std::string, std::string>, Version> versions;
  uint64_t replica_id = 0;
  uint64_t incarnation = 0;
  uint64_t lease = 0;
  GcState gc;
  std::vector<std::string> wrong;  // what disagrees; at most a few lines
};

// Opens read-only; the log is replayed in memory and the directory not changed.
// `max_lead_ms`: how far the lease of the clock may be ahead of the wall
// clock.
DatabaseScan ScanDatabase(const std::string& directory,
                          const ClusterSecret& secret, uint64_t max_lead_ms);

// The same of a replica of the crash machines, whose keys are numbers.
struct Scan : DatabaseScan {
  Pairs pairs;
};
Scan ScanReplica(const std::string& directory);

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_INDEX_SCAN_H_
