// The causes of RocksDB's errors that can be told only from their texts. This
// is the only file that interprets such texts: a new RocksDB that words one
// differently changes this file alone. The tests of what follows from each
// (damaged files, locks, a log that fails) run with every RocksDB of
// docs/testing.md. An error whose text is not understood stays as it is.

#ifndef ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_
#define ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_

#include <string>
#include <string_view>

#include "rocksdb/status.h"

namespace rocksync {

// Whether the error is of this library, not of RocksDB: it names the remedy.
bool IsOurError(const rocksdb::Status& status);

// Whether an error of Env::LockFile means that somebody holds the lock. False
// if the lock's file could not be opened, for example on a read-only or full
// file system. Do not find out by opening the file: closing it would drop a
// lock that this process holds on it (POSIX).
bool IsLockHeld(const rocksdb::Status& status);

// Tells from the error of an opening who has the database open already, in
// words that follow the database's name. Null if the opening failed for another
// reason.
const char* WhoHasItOpen(const rocksdb::Status& status);

// Why a directory could not be created.
enum class DirectoryFault { kNone, kIsFile, kNoParent, kOther };
DirectoryFault DirectoryFaultOf(const rocksdb::Status& status);

// Whether the error says that a file does not exist.
bool IsMissingFile(const rocksdb::Status& status);

// The part of the database that an opening could not read. kNone: the text
// names no cause, or a table.
enum class DamagedPart { kNone, kLog, kCurrent, kManifestEntry, kInManifest };
// kManifestEntry: a record of the MANIFEST. kInManifest: the MANIFEST or a
// table that it lists, as RocksDB names the MANIFEST for both.
DamagedPart DamagedPartOf(const rocksdb::Status& status);

// Returns the path of the table that an error of the database in `directory`
// names; empty if it names none.
std::string TableOf(const rocksdb::Status& status,
                    const std::string& directory);
// Like TableOf, for an error that IsMissingFile: returns the table that RocksDB
// did not find.
std::string TableNotFound(const rocksdb::Status& status,
                          const std::string& directory);

// Whether the error names a numbered file of RocksDB with this extension
// (".log"), and not only a directory whose name ends so; or, for the second, a
// MANIFEST.
bool NamesFile(const rocksdb::Status& status, std::string_view extension);
bool NamesManifest(const rocksdb::Status& status);

// Whether a call that creates or drops a column family, or sets options, has
// succeeded except that the OPTIONS file could not be written. Older versions
// report that only with DBOptions::fail_if_options_file_error, newer ones
// always.
bool OnlyLacksOptionsFile(const rocksdb::Status& status);

// Whether the options name a format of tables that RocksDB does not know.
bool IsUnknownTableFormat(const rocksdb::Status& status);
// Whether a value has merge operands, and the options have no merge operator.
bool LacksMergeOperator(const rocksdb::Status& status);
// Whether a RocksDB with assertions refuses the order of tables in a level.
bool IsOfTableOrder(const rocksdb::Status& status);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_BASE_ROCKSDB_ERRORS_H_
