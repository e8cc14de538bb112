// Loads the options with which a program other than its own opens an offline
// database: the database's own options, and its log where that is. RocksDB
// opens a database with other options as well; it takes a log that it does not
// find for one that never was, and what was in it is lost.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

struct OwnOptions {
  rocksdb::DBOptions db;
  // All families of the database, the index among them.
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
};

// What to do with a log of which a part is lost or damaged.
enum class DamagedLog {
  kRefused,
  kReadAround,  // reads as much of it as there is
};

// Loads the newest OPTIONS file in `directory`, within bounds
// (bounded_options.h). The log is in `wal_dir` if that is not empty, and does
// not belong to another database. Else it is where the file says, which counts
// only where it cannot mean another database's log: a copy has the file of its
// original.
//
// Returns an error that names the remedy if there is no such file, if it lacks
// a family, or if the log is elsewhere, not there, or damaged before its end.
// What RocksDB cannot make by its name (comparators, merge operators and
// filters of an application) is left at RocksDB's default. RocksDB refuses what
// then does not fit, but for Merge records of the log: the caller looks for
// these first (unreplayable_records.h).
rocksdb::Status LoadOwnOptions(rocksdb::Env* env, const std::string& directory,
                               const std::string& wal_dir, OwnOptions* options,
                               DamagedLog damaged_log = DamagedLog::kRefused);

// Sets `*wal_dir` to where the log of `directory` is, as LoadOwnOptions finds
// it: `given` or, if that is empty, `by_options`, which the OPTIONS file says.
rocksdb::Status ChooseLogDirectory(rocksdb::Env* env,
                                   const std::string& directory,
                                   const std::string& by_options,
                                   const std::string& given,
                                   std::string* wal_dir);

// Looks for the log of `directory` in `wal_dir`, which ChooseLogDirectory
// chose, for a caller that goes on without it. Sets `*lost` to a log file that
// is not as the last close left it, or to all of the log, and why; empty if
// there is none, or nothing is known. Returns InvalidArgument if the log is
// elsewhere.
rocksdb::Status FindLostLog(rocksdb::Env* env, const std::string& directory,
                            const std::string& wal_dir, std::string* lost);

// Sets `*damaged` to a log file in `wal_dir` in which whole batches follow a
// place that does not read; empty if there is none. RocksDB reads up to the
// place, and then removes the file. Reads the log.
rocksdb::Status FindDamagedLog(rocksdb::Env* env, const std::string& wal_dir,
                               std::string* damaged);

// Returns `options` without a wal_dir that is the database's own directory.
// RocksDB would write it into the OPTIONS file, and a copy of the database that
// is opened with that file would then write into the log of its original.
rocksdb::DBOptions WithLogAtHome(rocksdb::DBOptions options,
                                 const std::string& directory);

// Checks that a caller's options look for the log of this database where it is.
rocksdb::Status CheckWalDir(const rocksdb::DBOptions& options,
                            const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_
