// Reads the pairs of a family in order, by an iterator, and one by one where a
// value does not read.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_FAMILY_WALK_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_FAMILY_WALK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/index/family_table.h"
#include "replication/store/upkeep/pair_judge.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/iterator.h"
#include "rocksdb/status.h"

namespace rocksync {

// Walks over the pairs of a family, in one thread. Its arguments must outlive
// it.
class FamilyWalk {
 public:
  // `build_state` is the work in the family's record. `from` is the last key
  // that was read before; empty: begin at the first one. `tries` counts over
  // several walks how often the present pair was read in vain; the caller sets
  // it to 0 once pairs were dealt with.
  FamilyWalk(IndexedDB* indexed, const Family& family, uint8_t build_state,
             std::string from, int* tries)
      : indexed_(indexed),
        family_(family),
        build_state_(build_state),
        from_(std::move(from)),
        resumed_(!from_.empty()),
        tries_(tries) {}

  // Reads the next few pairs; maybe none although there are more. `*end`: there
  // are no more, and none in `*pairs`. Returns NotSupported for a wide-column
  // entity. Other errors: the keys do not read, or a value may read the next
  // time.
  rocksdb::Status Next(std::vector<Candidate>* pairs, bool* end);

 private:
  void Seek();
  rocksdb::Status ReadFrom(std::vector<Candidate>* pairs);
  // Reads each pair by itself where the iterator ended with `error`.
  rocksdb::Status ReadOneByOne(const rocksdb::Status& error,
                               std::vector<Candidate>* pairs, bool* end);
  rocksdb::Status ReadValue(Candidate* candidate);

  IndexedDB* const indexed_;
  const Family& family_;
  const uint8_t build_state_;
  std::string from_;
  bool resumed_;
  int* const tries_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  uint64_t read_ = 0;  // by this iterator
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_FAMILY_WALK_H_
