// The files that mark a directory in which a clone (replication/clone/) is
// made:
//
//   ROCKSYNC-CLONE  this record, until the first opening as a new replica
//   CURRENT         until all files are there and durable: a text that RocksDB
//                   takes for damage, so that no program opens a part
//
// One rename puts the copy's own CURRENT in place of the text. From then on the
// directory is a copy of the source, which becomes the replica of the record
// when it is opened. A copy that brings a replica up to date
// (ReplicatedDB::Resync) lies beside that replica. Only the resync opens it
// until it stands in the replica's place (store/directory/directory_switch.h).

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_CLONE_RECORD_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_CLONE_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

inline constexpr char kCloneRecordFileName[] = "ROCKSYNC-CLONE";

enum class ClonePurpose : uint8_t {
  kNewReplica = 0,
  kResync = 1,    // to take the place of the replica of this id
  kResynced = 2,  // has taken its place, or is about to
};

struct CloneRecord {
  ClonePurpose purpose = ClonePurpose::kNewReplica;
  uint64_t replica_id = 0;  // what the copy becomes, not 0
  uint64_t source_id = 0;   // the replica that is copied; 0: not known yet
  uint64_t ticket = 0;      // of the source's checkpoint; 0: none yet
};

std::string Encode(const CloneRecord& record);
// Returns false if the bytes are damaged or of a format that this code does not
// know.
[[nodiscard]] bool Decode(std::string_view bytes, CloneRecord* record);

// Reads the record of `directory`. Returns NotFound if there is none, and
// Corruption if it is damaged.
rocksdb::Status ReadCloneRecord(rocksdb::Env* env, const std::string& directory,
                                CloneRecord* record);
// Replaces the record. Durable when it returns OK.
rocksdb::Status WriteCloneRecord(rocksdb::Env* env,
                                 const std::string& directory,
                                 const CloneRecord& record);
// Removes the record. Returns OK if there was none. Durable when it returns.
rocksdb::Status RemoveCloneRecord(rocksdb::Env* env,
                                  const std::string& directory);

// Puts the text of an unfinished clone into CURRENT. Durable when it returns
// OK.
// REQUIRES: no database is there.
rocksdb::Status MarkUnfinished(rocksdb::Env* env, const std::string& directory);
// Whether `current`, the content of CURRENT, is that text.
bool IsUnfinishedClone(std::string_view current);
// The suffix of the directory in which a resync makes its copy, beside the
// replica's.
inline constexpr char kResyncSuffix[] = ".resync";
// Returns the error for a directory that holds an unfinished copy: Aborted,
// with what to do about a clone's copy or a resync's.
rocksdb::Status UnfinishedCopy(rocksdb::Env* env, const std::string& directory);
// Returns Aborted if `directory` holds a copy that has not become a replica:
// files are missing, or it was not opened yet. For code that works on replicas.
rocksdb::Status CheckNoUnfinishedClone(rocksdb::Env* env,
                                       const std::string& directory);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_CLONE_RECORD_H_
