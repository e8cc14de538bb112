// The causes of RocksDB's errors that only their texts tell. All that this
// library reads out of such texts is read here: a new RocksDB that words one
// differently changes this file alone, and the tests of what follows from each
// (damaged files, locks, a log that fails) run with every RocksDB of
// docs/testing.md. Where a text is not understood, the error stays as it is.

#ifndef ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_
#define ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_

#include <string>
#include <string_view>

#include "rocksdb/status.h"

namespace rocksync {

// Not RocksDB's: an error of this library, which names the remedy already.
bool IsOurError(const rocksdb::Status& status);

// Whether an error of Env::LockFile means that somebody holds the lock. False
// if its file was not opened, since the file system is read-only or full, for
// example. Do not find out by opening the file: closing it would drop a lock
// that this process holds on it (POSIX).
bool IsLockHeld(const rocksdb::Status& status);

// Of the error of an opening: who has the database open already, to go behind
// its name; null if that is not what failed.
const char* WhoHasItOpen(const rocksdb::Status& status);

// Why a directory was not made.
enum class DirectoryFault { kNone, kIsFile, kNoParent, kOther };
DirectoryFault DirectoryFaultOf(const rocksdb::Status& status);

// A file that the error is about is not there.
bool IsMissingFile(const rocksdb::Status& status);

// Of an opening: what of the database does not read. kNone: the text names no
// cause, or a table.
enum class DamagedPart { kNone, kLog, kCurrent, kManifestEntry, kInManifest };
// kManifestEntry: a record of the MANIFEST. kInManifest: the MANIFEST, or a
// table that it lists, as RocksDB names it for both.
DamagedPart DamagedPartOf(const rocksdb::Status& status);

// The path of the table that the error of the database in `directory` names;
// empty: of none.
std::string TableOf(const rocksdb::Status& status,
                    const std::string& directory);
// As TableOf, of an error that IsMissingFile: the one that RocksDB did not
// find.
std::string TableNotFound(const rocksdb::Status& status,
                          const std::string& directory);

// Whether the error names one of RocksDB's numbered files with that extension
// (".log"), and not only a directory that ends so; or a MANIFEST.
bool NamesFile(const rocksdb::Status& status, std::string_view extension);
bool NamesManifest(const rocksdb::Status& status);

// A call that makes or drops a column family, or sets options, has done so, but
// the OPTIONS file could not be written (DBOptions::fail_if_options_file_error;
// newer versions always say it).
bool OnlyLacksOptionsFile(const rocksdb::Status& status);

// The options name a format of tables that RocksDB does not know.
bool IsUnknownTableFormat(const rocksdb::Status& status);
// A value was merged, and the options have no merge operator.
bool LacksMergeOperator(const rocksdb::Status& status);
// A RocksDB with assertions refuses the order of tables in a level.
bool IsOfTableOrder(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_
