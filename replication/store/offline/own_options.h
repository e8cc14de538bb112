// The options with which a program other than its own opens an offline
// database: the database's own options, and its log where that is. RocksDB
// opens a database with other options as well, takes a log that it does not
// find for one that never was, and what was in it is lost.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_

#include <string>
#include <vector>

#include "rocksdb/db.h"

namespace rocksync {

struct OwnOptions {
  rocksdb::DBOptions db;
  // All families that the database has, the index among them.
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
};

// What is made of a log of which a part is lost or damaged.
enum class DamagedLog {
  kRefused,
  kReadAround,  // as much of it as there is
};

// By the newest OPTIONS file in `directory`. Where the log is, `wal_dir` says
// if it is not empty, unless that belongs to another database; else that file,
// whose word counts only where it cannot be that of another database: a copy
// has the file of its original. Refused with an error that names the remedy: no
// such file, a family that it lacks, a log that is elsewhere, not there, or
// damaged before its end. What RocksDB cannot make by its name (comparators,
// merge operators and filters of an application) is left at RocksDB's default;
// RocksDB refuses what then does not fit, but for Merge records of the log: who
// opens the database looks for these first (unreplayable_records.h).
rocksdb::Status LoadOwnOptions(rocksdb::Env* env, const std::string& directory,
                               const std::string& wal_dir, OwnOptions* options,
                               DamagedLog damaged_log = DamagedLog::kRefused);

// Where the log of `directory` is, as LoadOwnOptions finds it: `given`, or if
// that is empty `by_options`, the OPTIONS file's word.
rocksdb::Status ChooseLogDirectory(rocksdb::Env* env,
                                   const std::string& directory,
                                   const std::string& by_options,
                                   const std::string& given,
                                   std::string* wal_dir);

// Looks for the log of `directory` in `wal_dir`, which ChooseLogDirectory
// chose, for what goes on without it. `*lost`: a file of it that is not as the
// last close left it, or all of it, and why; empty: there is none, or nothing
// is known. InvalidArgument: the log is elsewhere.
rocksdb::Status FindLostLog(rocksdb::Env* env, const std::string& directory,
                            const std::string& wal_dir, std::string* lost);

// `*damaged`: a file of the log in `wal_dir` in which whole batches follow a
// place that does not read; empty: there is none. RocksDB reads up to the
// place, and removes the file then. Reads the log.
rocksdb::Status FindDamagedLog(rocksdb::Env* env, const std::string& wal_dir,
                               std::string* damaged);

// `options`, without a wal_dir that is the database's own directory: RocksDB
// would write it into the OPTIONS file, and a copy of the database that is
// opened with that file would then write into the log of its original.
rocksdb::DBOptions WithLogAtHome(rocksdb::DBOptions options,
                                 const std::string& directory);

// Whether a caller's options look for the log of this database where it is.
rocksdb::Status CheckWalDir(const rocksdb::DBOptions& options,
                            const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_OWN_OPTIONS_H_
