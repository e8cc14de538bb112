#include "replication/store/write/free_space.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "replication/store/write/write_stall.h"
#include "rocksdb/env.h"

namespace rocksync {

using rocksdb::Status;

std::vector<std::string> DirectoriesOf(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  std::vector<std::string> directories = {name};
  if (!options.wal_dir.empty() && options.wal_dir != name) {
    directories.push_back(options.wal_dir);
  }
  const auto add = [&](const std::vector<rocksdb::DbPath>& paths) {
    for (const rocksdb::DbPath& path : paths) {
      if (std::find(directories.begin(), directories.end(), path.path) ==
          directories.end()) {
        directories.push_back(path.path);
      }
    }
  };
  add(options.db_paths);
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    add(family.options.cf_paths);
  }
  return directories;
}

namespace {

uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

struct Room {
  std::string directory;
  uint64_t free_bytes = UINT64_MAX;  // this also if the Env does not know
};

Room LeastRoom(rocksdb::Env* env, const std::vector<std::string>& directories) {
  Room least;
  for (const std::string& directory : directories) {
    uint64_t free = 0;
    if (!env->GetFreeSpace(directory, &free).ok() || free >= least.free_bytes) {
      continue;
    }
    least = {directory, free};
  }
  return least;
}

constexpr char kWritesGoOn[] =
    "make room on that disk, then writes go on by themselves; "
    "min_free_bytes (rocksync-store: --min-free-mib) is what is kept free";

}  // namespace

Status CheckRoom(rocksdb::Env* env, const std::vector<std::string>& directories,
                 uint64_t least, const std::string& remedy) {
  const Room room = LeastRoom(env, directories);
  return room.free_bytes >= least
             ? Status::OK()
             : Status::NoSpace("rocksync: " + room.directory + " has " +
                                   std::to_string(room.free_bytes) +
                                   " bytes free, and " + std::to_string(least) +
                                   " are needed",
                               remedy);
}

Status FreeSpace::Look(uint64_t wall_ms, uint64_t bytes, bool deletes) {
  uint64_t memtables = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables,
                                &memtables);
  const uint64_t taken = memtables + bytes;
  Status status = CheckRoom(db_->GetEnv(), directories_,
                            SaturatedSum(reserve_, taken), kWritesGoOn);
  Note(memtables, bytes, status);
  if (status.ok()) {
    unseen_bytes_.store(0, std::memory_order_relaxed);
    look_at_ms_.store(wall_ms + 1000, std::memory_order_relaxed);
    return status;
  }
  look_at_ms_.store(0, std::memory_order_relaxed);  // check at the next write
  return deletes ? CheckRoom(db_->GetEnv(), directories_,
                             SaturatedSum(reserve_ / 2, taken), kWritesGoOn)
                 : status;
}

void FreeSpace::Note(uint64_t memtables, uint64_t bytes, const Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    refused_bytes_ = refuses_ ? std::min(refused_bytes_, bytes) : bytes;
    if (!std::exchange(refuses_, true)) {
      flush_at_ms_ = 0;
      rocksdb::Warn(db_->GetDBOptions().info_log,
                    "rocksync: writes are refused from now on: %s",
                    status.ToString().c_str());
    }
    return;
  }
  // Room for a smaller write does not end the state.
  if (!refuses_ ||
      !CheckRoom(db_->GetEnv(), directories_,
                 SaturatedSum(reserve_, memtables + refused_bytes_), "")
           .ok()) {
    return;
  }
  refuses_ = false;
  rocksdb::Warn(db_->GetDBOptions().info_log,
                "rocksync: there is room on the disk again, writes go on");
}

// Flushes all memtables, so that logs can be removed. The reserve is in
// addition to what memtables take, so a flush has room. The flush is not waited
// for, as the caller holds locks. Beginning one waits for the write before it,
// so none is begun while writes stall; nor by a request for statistics, as
// somebody may have locked the log (LockWAL).
void FreeSpace::LetLogsGo(uint64_t wall_ms) {
  uint64_t at = flush_at_ms_;
  // With atomic_flush no memtable is behind the others.
  if (wall_ms < at || db_->GetDBOptions().atomic_flush || WritesStall(db_) ||
      !flush_at_ms_.compare_exchange_strong(at, wall_ms + kFlushEveryMs)) {
    return;
  }
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  for_each_handle_([&](rocksdb::ColumnFamilyHandle* family) {
    // The previous flush may have made writes stall for a moment.
    if (db_->Flush(options, family).IsTryAgain()) flush_at_ms_ = 0;
  });
}

DiskSpaceStats FreeSpace::Now(uint64_t wall_ms) {
  if (reserve_ != 0) {
    Look(wall_ms, 0, /*deletes=*/false).PermitUncheckedError();
  }
  const Room room = LeastRoom(db_->GetEnv(), directories_);
  DiskSpaceStats stats;
  stats.min_free_bytes = reserve_;
  if (room.free_bytes != UINT64_MAX) stats.free_bytes = room.free_bytes;
  const std::lock_guard lock(mutex_);
  stats.writes_refused = refuses_;
  return stats;
}

}  // namespace rocksync
