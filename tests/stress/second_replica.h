// What is asked of a database after each run of db_stress, killed or not.

#ifndef ROCKSYNC_TESTS_STRESS_SECOND_REPLICA_H_
#define ROCKSYNC_TESTS_STRESS_SECOND_REPLICA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync::stress {

struct Check {
  uint64_t pairs = 0;              // in all families
  uint64_t tombstones = 0;         // in the index
  std::vector<std::string> wrong;  // empty: nothing
};

// Reads the database with plain RocksDB and compares index and data. Then opens
// it as a replica and makes the second one, which lives in a folder of the
// first (".second") and is kept from check to check, equal to it; closes both
// and compares them by plain RocksDB. A directory without a database passes.
Check CheckDatabase(const std::string& directory);

// A planted fault: takes the first pair out of the database behind the index.
rocksdb::Status DropPair(const std::string& directory);

}  // namespace rocksync::stress

#endif  // ROCKSYNC_TESTS_STRESS_SECOND_REPLICA_H_
