#include "replication/store/write/free_space.h"

#include <cstdint>
#include <utility>

#include "rocksdb/env.h"

namespace rocksync {

using rocksdb::Status;

std::vector<std::string> DirectoriesOf(const rocksdb::DBOptions& options,
                                       const std::string& name) {
  std::vector<std::string> directories = {name};
  if (!options.wal_dir.empty() && options.wal_dir != name) {
    directories.push_back(options.wal_dir);
  }
  for (const rocksdb::DbPath& path : options.db_paths) {
    if (path.path != name) directories.push_back(path.path);
  }
  return directories;
}

namespace {

uint64_t SaturatedSum(uint64_t a, uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

constexpr char kWritesGoOn[] =
    "make room on that disk, then writes go on by themselves; "
    "ReplicatedDBOptions::min_free_bytes is what is kept free";

}  // namespace

Status CheckRoom(rocksdb::Env* env, const std::vector<std::string>& directories,
                 uint64_t least, const std::string& remedy) {
  for (const std::string& directory : directories) {
    uint64_t free = 0;
    if (!env->GetFreeSpace(directory, &free).ok() || free >= least) continue;
    return Status::NoSpace("rocksync: " + directory + " has " +
                               std::to_string(free) + " bytes free, and " +
                               std::to_string(least) + " are needed",
                           remedy);
  }
  return Status::OK();
}

Status FreeSpace::Look(uint64_t wall_ms, uint64_t bytes, bool deletes) {
  uint64_t memtables = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables,
                                &memtables);
  const uint64_t taken = memtables + bytes;
  Status status = CheckRoom(db_->GetEnv(), directories_,
                            SaturatedSum(reserve_, taken), kWritesGoOn);
  if (status.ok()) {
    unseen_bytes_.store(0, std::memory_order_relaxed);
    look_at_ms_.store(wall_ms + 1000, std::memory_order_relaxed);
    return status;
  }
  look_at_ms_.store(0, std::memory_order_relaxed);  // again at the next write
  return deletes ? CheckRoom(db_->GetEnv(), directories_,
                             SaturatedSum(reserve_ / 2, taken), kWritesGoOn)
                 : status;
}

}  // namespace rocksync
