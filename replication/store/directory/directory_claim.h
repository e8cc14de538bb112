// The directories that this process has open. RocksDB compares only the texts
// of paths, so it would open both "x" and "./x". By the rules of POSIX locks,
// closing either would end the other's lock, and a second process could write,
// too.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_

#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// A claim on a directory. While it lives, no other claim is granted in this
// process under any name of the directory, nor by another copy of the library
// (with Env::Default(), and one RocksDB for both). Claims are per Env, as one
// name may mean different places in two. Thread-safe.
class DirectoryClaim {
 public:
  // Takes a claim. The directory need not exist. Returns IOError if another
  // claim is on it.
  static rocksdb::Status Take(rocksdb::Env* env, const std::string& directory,
                              std::unique_ptr<DirectoryClaim>* claim);
  ~DirectoryClaim();
  DirectoryClaim(const DirectoryClaim&) = delete;
  DirectoryClaim& operator=(const DirectoryClaim&) = delete;

  // Updates the claim after the directory was made, or put in another's place.
  void LookAgain();

 private:
  struct Claimed;
  class Claims;

  explicit DirectoryClaim(std::unique_ptr<Claimed> claimed);

  const std::unique_ptr<Claimed> claimed_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_CLAIM_H_
