// Collects the changes of one batch for the change log.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "replication/store/write/change_buffer.h"

namespace rocksync {

// If the batch changes a key several times, all at one version, this keeps only
// the last change: a replica may not hold the others as pairs.
class LastChanges {
 public:
  // `position`: the key's in the index.
  void Add(uint64_t position, const Change& change);

  std::vector<Change> Take();

 private:
  bool ChangedAgain(size_t i) const;

  std::vector<Change> changes_;
  std::vector<std::pair<uint64_t, size_t>> order_;  // position, number
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_
