#include "replication/store/offline/missing_files.h"

#include <algorithm>
#include <memory>

#include "replication/base/rocksdb_version.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/marker.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/info_log.h"

namespace rocksync {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

MissingFiles FindMissingFiles(
    rocksdb::Env* env, const std::string& directory, const std::string& wal_dir,
    const std::string& empty_directory, rocksdb::DBOptions options,
    const std::vector<ColumnFamilyDescriptor>& families) {
  MissingFiles missing;
  options.info_log = std::make_shared<NoLog>();
  options.max_open_files = -1;  // else it looks at some of them
  // Where no log is, which would be read into memory.
  options.wal_dir = empty_directory;
  options.track_and_verify_wals_in_manifest = false;
  std::vector<std::string> names;
  std::vector<ColumnFamilyDescriptor> all;
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status = rocksdb::DB::ListColumnFamilies(options, directory, &names);
  for (const std::string& name : names) {
    const auto known = std::find_if(
        families.begin(), families.end(),
        [&](const ColumnFamilyDescriptor& f) { return f.name == name; });
    if (known != families.end()) all.push_back(*known);
  }
  if (status.ok()) {
    status = OpenPlainForReadOnly(options, directory, all, &handles, &db);
  }
  missing.table = MissingTableOf(status, directory);
  Marker marker;
  if (ReadMarker(env, directory, &marker).ok()) {
    missing.log =
        LostLogOf(env, marker, wal_dir, CurrentManifest(env, directory));
  }
  for (ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return missing;
}

}  // namespace rocksync
