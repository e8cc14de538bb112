// Checks files without which RocksDB opens a database all the same. RocksDB
// takes a missing log for one that never was, a damaged log for one that ends
// there, and a MANIFEST that is cut short for an earlier state. The marker
// names these files as the last close left them.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_

#include <string>
#include <vector>

#include "replication/store/format/marker.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Returns the MANIFEST of an open database; nothing if it cannot be read.
std::vector<FileLeft> ManifestLeft(rocksdb::DB* db);

// Returns the MANIFEST and the log files that the next opening needs. Reads the
// log. REQUIRES: the database is sealed (seal.h).
std::vector<FileLeft> FilesLeft(rocksdb::DB* db);

// Which of the files that the marker names are lost.
enum class Loss {
  kNone,
  kLog,    // a part of the log; all index entries are in tables
  kState,  // a part of the MANIFEST, or of a newer state over which this one
           // was put; or of a log that index entries may have been in
};

// Checks whether the files that the marker names are as they were left. Returns
// OK without a check once somebody else has opened the database. `manifest` is
// the content of CURRENT. Reads the log.
//
// Returns Aborted, with `*loss`, if they are not, or if this is what was left
// after such a loss (Marker::rest). Only a new replica may go on from there.
rocksdb::Status CheckFilesLeft(rocksdb::Env* env, const Marker& marker,
                               const std::string& directory,
                               const std::string& wal_dir,
                               const std::string& manifest, Loss* loss);

// Returns a log file that the marker names and that is not as it was left, and
// why; empty if there is none, or nothing is known.
std::string LostLogOf(rocksdb::Env* env, const Marker& marker,
                      const std::string& wal_dir, const std::string& manifest);

// Returns whether the current MANIFEST is the one that the marker names.
bool IsManifestLeft(const Marker& marker, const std::string& manifest);

// The recovery mode with which a new replica goes on from what is left of the
// log.
inline constexpr rocksdb::WALRecoveryMode kSalvageRecovery =
    rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;

// Notes in the marker, before RocksDB writes, that a new replica goes on from
// what is left.
rocksdb::Status NoteSalvage(rocksdb::Env* env, const std::string& directory,
                            Loss loss);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_
