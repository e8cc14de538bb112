// Keeps the OPTIONS file of a database as its own program's opening wrote it,
// while another program opens the database with other options. RocksDB writes
// those into a new file, and the database's own program may take its options
// from there.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Keeps an OPTIONS file and puts it back. Call Read, then open the database,
// then PutBack while it is open, each time that RocksDB has written a file:
// with the opening, and with each family that is dropped.
class KeptOptionsFile {
 public:
  KeptOptionsFile(rocksdb::Env* env, const std::string& directory)
      : env_(env), directory_(directory) {}

  // Reads the newest file in the directory, or in `from`, of which it is a
  // copy. Returns OK also if there is none.
  rocksdb::Status Read() { return ReadFrom(directory_); }
  rocksdb::Status ReadFrom(const std::string& from);

  // Leaves out a family that is no longer there.
  void LeaveOut(const std::string& family);

  // Writes what was read in place of the newest OPTIONS file, durably; a kill
  // leaves one or the other. Two things stay as this opening has them: where
  // the log and LOG are, if that is elsewhere now, and RocksDB's version, if it
  // is newer, as files of it are there now. If there was no file to read,
  // removes the newest. REQUIRES: nobody else opens the database, for example
  // because this process has it open.
  rocksdb::Status PutBack() const;

 private:
  rocksdb::Env* const env_;
  const std::string directory_;
  bool any_ = false;
  std::string bytes_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_KEPT_OPTIONS_FILE_H_
