// How a copy takes the place of the replica that it brings up to date
// (ReplicatedDB::Resync). Three directories beside each other:
//
//   NAME            the replica, until the switch
//   NAME.resync     the copy, until then
//   NAME.replaced   what was NAME, until it is removed
//
// in these steps, each durable before the next:
//   1. the record of the copy (clone_record.h) says kResynced
//   2. NAME and NAME.resync are exchanged
//   3. NAME.resync, the replica that was, becomes NAME.replaced
//   4. files of others in NAME.replaced go to NAME, RocksDB's are removed, and
//      the directory with them
//   5. NAME loses the record, once NAME.replaced is gone
// Where the file system cannot exchange directories, NAME becomes NAME.replaced
// in step 2, and NAME.resync NAME in step 3; another program that opens NAME in
// between finds nothing there.
//
// So of a crash at any moment an opening of NAME finds either the replica as it
// was or, having taken the steps that are left, the copy.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Of a database's `name`, however it is written. Absolute, if the Env knows.
std::string ResyncDirectory(rocksdb::Env* env, const std::string& name);
std::string ReplacedDirectory(rocksdb::Env* env, const std::string& name);

// Gives the directory of the copy, which is there, the mode of `name`, and its
// owner as far as this process may.
void TakeOverMode(rocksdb::Env* env, const std::string& name);

// OK: a switch of `name` could begin. InvalidArgument: NAME.replaced is there.
// NotSupported: NAME is a link or a mount point, which cannot be replaced, or
// NAME.resync is one, or something in NAME is a mount point.
rocksdb::Status CheckSwitch(rocksdb::Env* env, const std::string& name);

// Takes all steps. After an error the replica is where it was, or the copy is.
// REQUIRES: the copy is closed and durable, and so is the
// replica, whose lock (LOCK) the caller holds, and whose directory CheckSwitch
// allows.
rocksdb::Status SwitchDirectories(rocksdb::Env* env, const std::string& name);

// For whoever opens `name`: takes the steps that are left of a switch, if one
// was interrupted; or takes step 2 back, if somebody has removed the copy
// since. Else it only looks whether two files are there. What of NAME.replaced
// cannot be removed or moved is tried again the next time, and keeps nobody
// from opening NAME. Aborted: between the two steps another program has made a
// database in NAME.
rocksdb::Status FinishSwitch(rocksdb::Env* env, const std::string& name);

// For whoever does anything else with `name`. Aborted: a switch was interrupted
// when nothing was there, and an opening has to finish it; or another program
// has made a database there since.
rocksdb::Status CheckNoSwitchIsLeft(rocksdb::Env* env, const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_
