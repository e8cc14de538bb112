// Which directories this process has open. RocksDB compares the texts of paths
// alone: it would open "x" and "./x" both, and as POSIX has it the end of
// either one ends the other's lock, so that a second process may write to it,
// too.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// While it lives no other claim on the directory is granted in this process,
// under any of the directory's names, nor by another copy of the library (with
// Env::Default(), and one RocksDB for both). Claims are per Env, as the names
// of two may mean different places. Thread-safe.
class DirectoryClaim {
 public:
  // The directory need not be there. IOError: another claim is on it.
  static rocksdb::Status Take(rocksdb::Env* env, const std::string& directory,
                              std::unique_ptr<DirectoryClaim>* claim);
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

  // The directory was made, or put in the place of another one.
  void LookAgain();

 private:
  struct Claimed;
  class Claims;

  explicit DirectoryClaim(std::unique_ptr<Claimed> claimed);

  const std::unique_ptr<Claimed> claimed_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_
