// A database whose list of files, or a part of whose files, is lost or damaged,
// made anew in another directory from the files that read.

#ifndef ROCKSYNC_REPLICATION_STORE_OFFLINE_REPAIR_H_
#define ROCKSYNC_REPLICATION_STORE_OFFLINE_REPAIR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

struct Repaired {
  // Tables that RepairDB left out, each as a whole, as a block of it does not
  // read, or as it is of a file that was ingested; they are in the folder
  // `lost`. By name, with what DescribeTable says.
  std::map<std::string, std::string> left_out;
  // Families that had no table, of which nothing is there: RepairDB knows
  // families by their tables alone.
  std::vector<std::string> without_table;
  // A table that the database lists and that is not there, as RocksDB names the
  // first one; empty: there is none, or the list (the MANIFEST) does not read.
  std::string missing_table;
  // A file of the log that is not as the last close left it, or cannot be read
  // in a copy, the first one, and why; empty: there is none, or nothing is
  // known, as after a kill.
  std::string lost_log;
  // A file of the log that is damaged, and has sound batches behind that;
  // empty: there is none. What a kill cut off is at the end.
  std::string damaged_log;
  uint64_t log_batches_dropped = 0;  // sound ones that RocksDB left out there
  // Replicated families that have pairs, and of which the index has no entry.
  std::vector<std::string> without_entries;
  uint64_t pairs = 0;      // of the application's families
  bool has_index = false;  // with its records
};

// Runs RocksDB's RepairDB on `copy`, which must not be there, with hard links
// to the tables of `directory`; merges the tables, so that none stands beside
// another; and replays copies of the logs onto that. RepairDB on all of it
// fails where a family is in tables up to a later point than the log begins: it
// puts the tables that it makes of the log beside those, and RocksDB refuses
// tables side by side whose sequence numbers overlap. Options are those of the
// OPTIONS file. `wal_dir` empty: where the log is the
// OPTIONS file says, as for other commands.
// `progress` is told what is being done. `directory` is locked, and not
// changed.
//
// Open takes `copy` for what was left after a loss: with the option
// open_copy_as_new_replica, or without an index adopt_after_index_loss.
//
// Takes as long as reading and writing the whole database, and as much room on
// the disk. After an error there is no `copy`; all is made
// in `copy`.unfinished, which a kill leaves. NotSupported: blob files, which
// RepairDB leaves out; tables in other directories; comparators that RocksDB
// cannot make by name. NotFound: `directory` was never a replica.
rocksdb::Status Repair(rocksdb::Env* env, const std::string& directory,
                       const std::string& wal_dir, const std::string& copy,
                       const std::function<void(const std::string&)>& progress,
                       Repaired* repaired);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_REPAIR_H_
