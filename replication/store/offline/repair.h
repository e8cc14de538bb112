// Makes a database anew in another directory from the files that read, where
// its list of files, or some of its files, are lost or damaged.

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
  // Tables that RepairDB left out, each as a whole, because a block of it does
  // not read, or because it is a file that was ingested; they are in the folder
  // `lost`. By name, with what DescribeTable says.
  std::map<std::string, std::string> left_out;
  // Families that had no table, so that nothing of them is there: RepairDB
  // knows families by their tables alone.
  std::vector<std::string> without_table;
  // The first table that the database lists and that is not there, as RocksDB
  // names it; empty if there is none, or the list (the MANIFEST) does not read.
  std::string missing_table;
  // The first log file that is not as the last close left it, or cannot be read
  // in a copy, and why; empty if there is none, or nothing is known, as after a
  // kill.
  std::string lost_log;
  // A damaged log file with sound batches behind the damage; empty if there is
  // none. What a kill cut off is at the end.
  std::string damaged_log;
  uint64_t log_batches_dropped = 0;  // sound ones that RocksDB left out
  // Replicated families that have pairs, and of which the index has no entry.
  std::vector<std::string> without_entries;
  uint64_t pairs = 0;      // of the application's families
  bool has_index = false;  // with its records
};

// Makes `copy`, which must not be there, from the files of `directory`. Runs
// RocksDB's RepairDB on hard links to the tables; merges the tables, so that
// none stands beside another; and replays copies of the logs onto that.
// RepairDB on all of it fails where a family's tables reach beyond the
// beginning of the log: it puts the tables that it makes of the log beside
// those, and RocksDB refuses tables side by side whose sequence numbers
// overlap. The options are those of the OPTIONS file. If `wal_dir` is empty,
// that file says where the log is, as for other commands. `progress` is told
// what is being done. `directory` is locked, and not changed.
//
// Open takes `copy` for what was left after a loss, and needs the option
// open_copy_as_new_replica or, without an index, adopt_after_index_loss.
//
// Takes as long as reading and writing the whole database, and as much room on
// the disk. All is made in `copy`.unfinished, which a kill leaves; after an
// error there is no `copy`. Returns NotSupported for blob files, which RepairDB
// leaves out, for tables in other directories, and for comparators that RocksDB
// cannot make by name; NotFound if `directory` was never a replica.
rocksdb::Status Repair(rocksdb::Env* env, const std::string& directory,
                       const std::string& wal_dir, const std::string& copy,
                       const std::function<void(const std::string&)>& progress,
                       Repaired* repaired);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OFFLINE_REPAIR_H_
