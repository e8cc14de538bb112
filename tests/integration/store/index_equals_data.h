// The check that a store is judged by: index and data say the same.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_INDEX_EQUALS_DATA_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_INDEX_EQUALS_DATA_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sketch/element/digest.h"
#include "sketch/element/element.h"

namespace rocksync {

struct ScanResult {
  uint64_t pairs = 0;  // in replicated families
  uint64_t tombstones = 0;
  uint64_t quarantined = 0;
  uint64_t pending = 0;  // entries whose hash no flush has completed
  Digest digest;         // of all elements, recomputed from the data
};

// Reads the database in `directory` with plain RocksDB, read-only, and checks
// that every pair of a replicated family has one live entry whose hash is that
// of the stored value, and every live entry its pair. Quarantined entries are
// counted and let through.
::testing::AssertionResult IndexEqualsData(const std::string& directory,
                                           const ClusterSecret& secret,
                                           ScanResult* result = nullptr);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_INDEX_EQUALS_DATA_H_
