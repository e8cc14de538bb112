// Whether the files of a database are where an opening will look for them.
// RocksDB takes a log that is not there for one that never was.

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

// Names of the write-ahead log's files in a directory; none if it is not there.
rocksdb::Status ListLogFiles(rocksdb::Env* env, const std::string& directory,
                             std::set<std::string>* names);

// A table has one of two endings: RocksDB reads LevelDB's, too, and deletes
// what it does not know with either.
bool IsTableOrBlob(std::string_view name);

// Of a name that ListLogFiles found. Names have leading zeros, up to some
// number of digits, so they do not sort as numbers.
uint64_t LogNumber(const std::string& log);

// InvalidArgument: a log file of `written_to` that holds anything is not in
// `wal_dir`, or another one has its name there, or `wal_dir` holds others
// beside. Reads them. Without a log in `written_to` (it was moved) nothing is
// known.
rocksdb::Status CheckLogIsTheSame(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& written_to,
                                  const std::string& wal_dir);

// InvalidArgument: `wal_dir` lacks log files that are where the last opening
// had them, or has other ones of their names, as of another database. Reads
// those. Aborted: it has none at all, and `may_be_lost` is not set. Of a
// directory that was moved or copied nothing is known. Paths are absolute.
rocksdb::Status CheckLogIsThere(rocksdb::Env* env, const Marker& marker,
                                const std::string& directory,
                                const std::string& wal_dir, bool may_be_lost);

// Corruption: there is no CURRENT, but tables, a log or a MANIFEST. RocksDB
// would begin an empty database, and delete them. A MANIFEST-000001 alone is
// what a creation leaves that was interrupted. InvalidArgument: the
// directory is one of another database's paths, by the file ROCKSYNC.owner.
rocksdb::Status CheckNothingIsThere(rocksdb::Env* env,
                                    const std::string& directory);

// Refused: there are log files, for a database that is new. RocksDB refuses
// them as well, but has made the database by then, and the next opening would
// take the log of another database for its own. Tables, too: RocksDB would
// delete them there.
rocksdb::Status CheckNoLogIsThere(rocksdb::Env* env,
                                  const std::string& directory,
                                  const std::string& wal_dir);

// NotSupported: the file system of `options` makes log files that cannot be
// synced while they are written to (NewMemEnv). RocksDB opens a database there,
// and a sync fails later. Makes a file in the log's directory and takes it away
// again; says OK where it cannot.
rocksdb::Status CheckLogCanBeSynced(const rocksdb::DBOptions& options,
                                    const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FILES_H_
