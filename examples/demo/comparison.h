// What the replicas hold, read with plain RocksDB: nothing of the library is
// asked.

#ifndef EXAMPLES_DEMO_COMPARISON_H_
#define EXAMPLES_DEMO_COMPARISON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace rocksync {

// A database as it is now, also while a process writes to it; later changes do
// not show.
rocksdb::Status OpenView(const std::string& directory,
                         std::unique_ptr<rocksdb::DB>* view);

struct ScanComparison {
  bool equal = false;            // all of `after`, every key and value
  std::string first_difference;  // for people; empty if equal
  uint64_t keys = 0;             // in the union of `after`
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;

  // What had to travel: a pair is needed once per replica whose state it
  // changes from `before` to `after`. A delete has no value.
  uint64_t pairs_needed = 0;
  uint64_t key_bytes_needed = 0;
  uint64_t value_bytes_needed = 0;
};

// Walks all keys of all views once, in memory that does not grow with them.
// before[i] and after[i] are of one replica.
rocksdb::Status Compare(const std::vector<std::unique_ptr<rocksdb::DB>>& before,
                        const std::vector<std::unique_ptr<rocksdb::DB>>& after,
                        ScanComparison* comparison);

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_COMPARISON_H_
