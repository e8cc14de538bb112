// The OPTIONS file of a database, kept as its own program's opening wrote it,
// while somebody else opens the database with options of their own: RocksDB
// writes these into a new file, and the program may take its options from
// there.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Read, then open the database, then PutBack while it is open, as often as
// RocksDB has written a file: with the opening, and with each family that is
// dropped.
class KeptOptionsFile {
 public:
  KeptOptionsFile(rocksdb::Env* env, const std::string& directory)
      : env_(env), directory_(directory) {}

  // OK also if there is none. `from`: of what the database is a copy.
  rocksdb::Status Read() { return ReadFrom(directory_); }
  rocksdb::Status ReadFrom(const std::string& from);

  // The family is not there any more.
  void LeaveOut(const std::string& family);

  // Writes what was read in place of the newest OPTIONS file, durably, and a
  // kill leaves one or the other. What says where the log and LOG are stays as
  // this opening had it, if that is elsewhere, and so does RocksDB's version,
  // if it is newer: files of it are there now. If there was no file, removes
  // the newest. REQUIRES: nobody else opens the database, as this process has
  // it open, say.
  rocksdb::Status PutBack() const;

 private:
  rocksdb::Env* const env_;
  const std::string directory_;
  bool any_ = false;
  std::string bytes_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_
