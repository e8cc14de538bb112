// Replaces a replica by the copy that brings it up to date
// (ReplicatedDB::Resync). It uses three directories beside each other:
//
//   NAME            the replica, until the switch
//   NAME.resync     the copy, until the switch
//   NAME.replaced   the former NAME, until it is removed
//
// and takes these steps, each durable before the next:
//   1. the record of the copy (clone_record.h) says kResynced
//   2. NAME and NAME.resync are exchanged
//   3. NAME.resync, now the former replica, becomes NAME.replaced
//   4. files of others in NAME.replaced move to NAME; RocksDB's files and then
//      the directory are removed
//   5. NAME loses the record, once NAME.replaced is gone
// If the file system cannot exchange directories, NAME becomes NAME.replaced in
// step 2, and NAME.resync becomes NAME in step 3. Another program that opens
// NAME in between finds nothing there.
//
// So after a crash at any moment an opening of NAME finds the replica as it
// was, or takes the remaining steps and finds the copy.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_
#define ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Return the directories for a database's `name`, however that is written.
// Absolute, if the Env knows.
std::string ResyncDirectory(rocksdb::Env* env, const std::string& name);
std::string ReplacedDirectory(rocksdb::Env* env, const std::string& name);

// Gives the directory of the copy, which exists, the mode of `name`, and its
// owner as far as this process may.
void TakeOverMode(rocksdb::Env* env, const std::string& name);

// Returns OK if a switch of `name` could begin. InvalidArgument: NAME.replaced
// exists. NotSupported: NAME or NAME.resync is a link or a mount point, which
// cannot be exchanged, or something in NAME is a mount point.
rocksdb::Status CheckSwitch(rocksdb::Env* env, const std::string& name);

// Takes all steps. After an error NAME is the replica or the copy.
// REQUIRES: the copy is closed and durable. The replica is, too, the caller
// holds its lock (LOCK), and CheckSwitch allows its directory.
rocksdb::Status SwitchDirectories(rocksdb::Env* env, const std::string& name);

// Takes the remaining steps of a switch that was interrupted, or takes step 2
// back if the copy was removed since; called before `name` is opened. If there
// was no switch it only looks whether two files exist. What cannot be removed
// or moved from NAME.replaced is tried again the next time, and does not
// prevent the opening. Returns Aborted if another program has made a database
// in NAME between the two steps.
rocksdb::Status FinishSwitch(rocksdb::Env* env, const std::string& name);

// Checks, for anything else that uses `name`, that no interrupted switch has
// left NAME empty. Returns Aborted if one has, and an opening has to finish it,
// or if another program has made a database there since.
rocksdb::Status CheckNoSwitchIsLeft(rocksdb::Env* env, const std::string& name);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRECTORY_DIRECTORY_SWITCH_H_
