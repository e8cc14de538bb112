// The id of a replica whose database does not exist yet (`rocksync id --make`),
// so that a certificate that names it can be signed before the first opening.
// The file is in the database's directory; that opening takes the id and
// removes the file.
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

// Reads the id. NotFound: there is none. Corruption names the file.
rocksdb::Status ReadIntendedId(rocksdb::Env* env, const std::string& directory,
                               uint64_t* id);
// Writes the id. Durable when it returns. REQUIRES: the directory exists.
rocksdb::Status WriteIntendedId(rocksdb::Env* env, const std::string& directory,
                                uint64_t id);
// Removes the file. Returns OK also if there is none.
rocksdb::Status RemoveIntendedId(rocksdb::Env* env,
                                 const std::string& directory);

// An exclusive lock for making an id, and for the first opening, which takes
// the id and removes the file: so an id that was printed is the replica's. It
// is a lock of the directory itself, which leaves no file there.
class IntendedIdLock {
 public:
  // Waits for at most five seconds. REQUIRES: the directory exists.
  explicit IntendedIdLock(const std::string& directory);
  ~IntendedIdLock();
  IntendedIdLock(const IntendedIdLock&) = delete;
  IntendedIdLock& operator=(const IntendedIdLock&) = delete;

  // Whether another holder had the lock all the time. Always false on a file
  // system without such locks (NFS has none of directories): there nobody
  // waits.
  bool is_busy() const { return busy_; }

 private:
  const int file_;
  bool busy_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_INTENDED_ID_H_
