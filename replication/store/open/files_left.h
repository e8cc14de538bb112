// Files without which RocksDB opens a database all the same: a log that is not
// there it takes for one that never was, one that is damaged for one that ends
// there, and a MANIFEST that is cut short for an earlier state. The marker
// names them as the last close left them.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_

#include <string>
#include <vector>

#include "replication/store/format/marker.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// The MANIFEST of an open database, none if it cannot be read.
std::vector<FileLeft> ManifestLeft(rocksdb::DB* db);

// The MANIFEST and the files of the log that the next opening needs. Reads the
// log. REQUIRES: the database is sealed (seal.h).
std::vector<FileLeft> FilesLeft(rocksdb::DB* db);

// What is lost of the files that the marker names.
enum class Loss {
  kNone,
  kLog,    // of the log alone, and the index has all that it said
  kState,  // of the MANIFEST, or of a newer state over which this one was put;
           // or nothing is known of the index
};

// Whether the files that the marker names are as they were left. Says nothing,
// and OK, once somebody else has opened the database. `manifest` is what
// CURRENT holds. Reads the log.
//
// Aborted: they are not, or this is the rest of one of which they were not.
// Only a new replica may go on from there.
rocksdb::Status CheckFilesLeft(rocksdb::Env* env, const Marker& marker,
                               const std::string& directory,
                               const std::string& wal_dir,
                               const std::string& manifest, Loss* loss);

// A file of the log that the marker names and that is not as it was left, and
// why; empty: there is none, or nothing is known.
std::string LostLogOf(rocksdb::Env* env, const Marker& marker,
                      const std::string& wal_dir, const std::string& manifest);

// Whether the current MANIFEST is the one that the marker names.
bool IsManifestLeft(const Marker& marker, const std::string& manifest);

// How a new replica goes on from what there is of the log.
inline constexpr rocksdb::WALRecoveryMode kSalvageRecovery =
    rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;

// Notes in the marker that what is left is gone on with, before RocksDB writes.
rocksdb::Status NoteSalvage(rocksdb::Env* env, const std::string& directory,
                            Loss loss);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_FILES_LEFT_H_
