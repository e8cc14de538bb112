// A disk that loses power after so many operations: from then on nothing is
// written, and what was not synced before is gone, names included.

#ifndef ROCKSYNC_TESTS_INTEGRATION_STORE_MORTAL_DISK_H_
#define ROCKSYNC_TESTS_INTEGRATION_STORE_MORTAL_DISK_H_

#include <cstdint>
#include <memory>

#include "rocksdb/env.h"

namespace rocksync {

// Counted is what changes what such a loss leaves: syncing, renaming and
// deleting a file, and syncing a directory. Files that are made count as
// durable once synced themselves; a rename and a deletion, once their directory
// is.
class MortalDisk {
 public:
  MortalDisk();
  ~MortalDisk();

  // For databases below `root`; must outlive them.
  rocksdb::Env* env() const { return env_.get(); }

  void DieAfter(uint64_t operations);
  bool dead() const;

  // Brings what is on the real disk to what would be found after the loss. No
  // database may be open.
  void LosePower();

 private:
  struct State;
  class File;
  class Directory;
  class FileSystem;
  class Clock;
  class Machine;

  const std::shared_ptr<State> state_;
  const std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_STORE_MORTAL_DISK_H_
