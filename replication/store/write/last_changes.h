// The changes of one batch as the change log has them.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "replication/store/write/change_log.h"

namespace rocksync {

// Of a key that the batch changes several times, all at one version, it keeps
// the last change alone: the others are no pairs that a replica may hold.
class LastChanges {
 public:
  // `position`: of the key in the index.
  void Add(uint64_t position, const Change& change);

  std::vector<Change> Take();

 private:
  bool ChangedAgain(size_t i) const;

  std::vector<Change> changes_;
  std::vector<std::pair<uint64_t, size_t>> order_;  // position, number
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_LAST_CHANGES_H_
