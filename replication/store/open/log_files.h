// Checks whether the files of a database are where an opening looks for them.
// RocksDB takes a missing log for one that never was.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FILES_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FILES_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "replication/store/format/marker.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace rocksync {

// Lists the names of the write-ahead log's files in a directory; none if it is
// not there.
rocksdb::Status ListLogFiles(rocksdb::Env* env, const std::string& directory,
                             std::set<std::string>* names);

// Returns whether a file is a table or a blob file, by its name. RocksDB reads
// tables with LevelDB's extension (.ldb), too, and deletes unknown files with
// either one.
bool IsTableOrBlob(std::string_view name);

// Returns the number in a name that ListLogFiles found. Names have leading
// zeros, up to some number of digits, so they do not sort as numbers.
uint64_t LogNumber(const std::string& log);

// Checks that `wal_dir` holds the log that was written to `written_to`. Returns
// InvalidArgument if it lacks a log file that is not empty, has another file of
// that name, or has further log files. Reads the files. If there is no log in
// `written_to` (it was moved), nothing is known.
rocksdb::Status CheckLogIsTheSame(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& written_to,
                                  const std::string& wal_dir);

// Checks that `wal_dir` holds the last opening's log. Returns InvalidArgument
// if it lacks log files that are where that opening had them, or has other
// files of their names, as of another database; reads those. Returns Aborted if
// it has no log at all and `may_be_lost` is not set. Nothing is known of a
// directory that was moved or copied. Paths are absolute.
rocksdb::Status CheckLogIsThere(rocksdb::Env* env, const Marker& marker,
                                const std::string& directory,
                                const std::string& wal_dir, bool may_be_lost);

// Checks a directory without a CURRENT. Returns Corruption if tables, a log or
// a MANIFEST are there: RocksDB would make an empty database, and delete them.
// A MANIFEST-000001 alone is allowed, as an interrupted creation leaves it.
// Returns InvalidArgument if the directory is one of another database's paths,
// by the file ROCKSYNC.owner.
rocksdb::Status CheckNothingIsThere(rocksdb::Env* env,
                                    const std::string& directory);

// Returns InvalidArgument if there are log files in `wal_dir`, for a database
// that is new. RocksDB refuses them as well, but has made the database by then,
// and the next opening would take another database's log for its own. Tables
// are refused, too: RocksDB would delete them there.
rocksdb::Status CheckNoLogIsThere(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& wal_dir);

// Returns NotSupported if the file system of `options` makes log files that
// cannot be synced while they are written to (NewMemEnv). RocksDB opens a
// database there, and a sync fails later. Makes a file in the log's directory
// and removes it again; returns OK where it cannot.
rocksdb::Status CheckLogCanBeSynced(const rocksdb::DBOptions& options,
                                    const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FILES_H_
