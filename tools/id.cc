#include "tools/id.h"

#include <memory>
#include <ostream>

#include "replication/json.h"
#include "replication/store/meta_records.h"
#include "rocksync/replicated_db.h"
#include "tools/resting_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status ReadIdentity(const RestingDB& resting, const std::string& directory,
                    IdentityRecord* identity) {
  const Status lost = Status::Corruption(
      "rocksync: the index of " + directory + " does not say the replica's id",
      "see docs/operating.md, \"A database that does not open\"");
  for (rocksdb::ColumnFamilyHandle* handle : resting.handles()) {
    if (handle->GetName() != kIndexFamilyName) continue;
    std::string bytes;
    const Status status =
        resting.db()->Get({}, handle, MetaKey(kIdentityRecord), &bytes);
    if (!status.ok() && !status.IsNotFound()) return status;
    return status.ok() && Decode(bytes, identity) ? status : lost;
  }
  return lost;
}

}  // namespace

int RunId(const IdOptions& options, std::ostream& out, std::ostream& err) {
  const std::string& directory = options.directory;
  IdentityRecord identity;
  std::unique_ptr<RestingDB> resting;
  Status status = CheckWalDirs(options.wal_dirs, {directory});
  if (status.ok()) status = CheckHasIndex(directory);
  if (status.ok()) {
    status = RestingDB::Open(directory, options.wal_dirs, &resting);
  }
  if (status.ok()) status = ReadIdentity(*resting, directory, &identity);
  if (!status.ok()) {
    err << "rocksync id " << directory << ": " << status.ToString() << "\n";
    return 2;
  }
  out << HexId(identity.replica_id) << "\n";
  return 0;
}

}  // namespace rocksync
