#include "replication/store/open/all_families.h"

#include <algorithm>

#include "replication/base/directories.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/open/damaged_files.h"
#include "replication/store/open/log_files.h"
#include "replication/store/write/free_space.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;

Status CheckIsDatabase(const rocksdb::DBOptions& options,
                       const std::string& name) {
  rocksdb::Env* const env = options.env;
  const Status allowed = CheckMayReadFiles(name, options.wal_dir);
  if (!allowed.ok()) return allowed;
  if (!env->FileExists(name + "/CURRENT").IsNotFound()) return Status::OK();
  const Status lost = CheckNothingIsThere(env, name);
  if (!lost.ok()) return lost;
  if (env->FileExists(name).IsNotFound()) {
    return Status::PathNotFound("rocksync: " + name + " is not there",
                                "give the directory of a database");
  }
  return Status::PathNotFound(
      "rocksync: " + name + " is no RocksDB database, it has no file CURRENT",
      "give the directory of a database");
}

}  // namespace

rocksdb::Status AllFamilies(const rocksdb::DBOptions& options,
                            const std::string& name,
                            const std::vector<ColumnFamilyDescriptor>& given,
                            const rocksdb::ColumnFamilyOptions& index_options,
                            std::vector<ColumnFamilyDescriptor>* all) {
  std::vector<std::string> names;
  rocksdb::Status status = CheckIsDatabase(options, name);
  if (!status.ok()) return status;
  status =
      NameDamagedFile(rocksdb::DB::ListColumnFamilies(options, name, &names),
                      options.env, name);
  for (const std::string& family : names) {
    const auto known = std::find_if(
        given.begin(), given.end(),
        [&](const ColumnFamilyDescriptor& d) { return d.name == family; });
    if (family == kIndexFamilyName) {
      all->emplace_back(family, index_options);
    } else if (known != given.end()) {
      all->push_back(*known);
    } else {
      all->emplace_back(family, rocksdb::ColumnFamilyOptions());
    }
    all->back().options.disable_auto_compactions = true;
  }
  return status;
}

rocksdb::Status CheckRoomToOpen(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& families) {
  // Room for a MANIFEST, a WAL, and what RocksDB flushes of the last WAL.
  constexpr uint64_t kLeast = uint64_t{2} << 20;
  return CheckRoom(options.env, DirectoriesOf(options, name, families), kLeast,
                   "an opening writes that much; make room on that disk and "
                   "open again");
}

rocksdb::Status OpenExisting(
    rocksdb::DBOptions options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& families,
    std::vector<rocksdb::ColumnFamilyHandle*>* handles,
    std::unique_ptr<rocksdb::DB>* db) {
  options.create_if_missing = false;
  const rocksdb::Status room = CheckRoomToOpen(options, name, families);
  if (!room.ok()) return room;
  return NameDamagedFile(OpenPlain(options, name, families, handles, db),
                         options.env, name);
}

}  // namespace rocksync
