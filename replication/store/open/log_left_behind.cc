#include "replication/store/open/log_left_behind.h"

#include <vector>

#include "replication/base/directories.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/path_ownership.h"

namespace rocksync {

using rocksdb::Status;

Status CheckLogIsNotLeft(rocksdb::Env* env, const Marker& marker,
                         const std::string& directory,
                         const std::string& wal_dir) {
  if (directory.empty() || wal_dir.empty() || marker.directory == directory) {
    return Status::OK();
  }
  std::vector<std::string> places = {directory};
  if (marker.wal_dir != marker.directory &&
      IsWithin(marker.wal_dir, marker.directory)) {
    places.push_back(directory +
                     marker.wal_dir.substr(marker.directory.size()));
  }
  Status status;
  for (const std::string& place : places) {
    if (status.ok() && place != wal_dir) {
      status = CheckLogIsTheSame(env, directory, place, wal_dir);
    }
  }
  if (!status.ok() || marker.wal_dir.empty() || marker.wal_dir == wal_dir) {
    return status;
  }
  FoundOwner found;
  status = FindOwner(env, marker.wal_dir, directory, &found);
  return status.ok() && found.ownership == Ownership::kOwn
             ? CheckLogIsTheSame(env, directory, marker.wal_dir, wal_dir)
             : status;
}

}  // namespace rocksync
