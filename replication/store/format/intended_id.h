// A replica's id, made before its database is (`rocksync id --make`), so that a
// certificate that names it can be signed before the first opening. A file in
// the database's directory, which that opening takes up and removes.
//
//   file := 16 hex digits, "\n"

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_INTENDED_ID_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_INTENDED_ID_H_

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kIntendedIdFileName[] = "ROCKSYNC.id";

// NotFound: there is none. Corruption names the file.
rocksdb::Status ReadIntendedId(rocksdb::Env* env, const std::string& directory,
                               uint64_t* id);
// Durable when it returns. REQUIRES: the directory is there.
rocksdb::Status WriteIntendedId(rocksdb::Env* env, const std::string& directory,
                                uint64_t id);
// OK also if there is none.
rocksdb::Status RemoveIntendedId(rocksdb::Env* env,
                                 const std::string& directory);

// Held where an id is made, and where a first opening takes it up and removes
// it, by one at a time: who prints the id is to have printed the replica's. A
// lock of the directory itself, which leaves nothing in it.
class IntendedIdLock {
 public:
  // Waits for five seconds at most. REQUIRES: the directory is there.
  explicit IntendedIdLock(const std::string& directory);
  ~IntendedIdLock();
  IntendedIdLock(const IntendedIdLock&) = delete;
  IntendedIdLock& operator=(const IntendedIdLock&) = delete;

  // Somebody else held it all the time. Not of a file system without such locks
  // (NFS has none of directories): there nobody waits for anybody.
  bool is_busy() const { return busy_; }

 private:
  const int file_;
  bool busy_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_INTENDED_ID_H_
