#include "tools/id.h"

#include <memory>
#include <ostream>

#include "replication/json.h"
#include "replication/store/meta_records.h"
#include "rocksync/replicated_db.h"
#include "tools/offline_db.h"

namespace rocksync {
namespace {

using rocksdb::Status;

Status ReadIdentity(const OfflineDB& offline, const std::string& directory,
                    IdentityRecord* identity) {
  const Status lost = Status::Corruption(
      "rocksync: the index of " + directory + " does not say the replica's id",
      "see docs/operating.md, \"A database that does not open\"");
  for (rocksdb::ColumnFamilyHandle* handle : offline.handles()) {
    if (handle->GetName() != kIndexFamilyName) continue;
    std::string bytes;
    const Status status =
        offline.db()->Get({}, handle, MetaKey(kIdentityRecord), &bytes);
    if (!status.ok() && !status.IsNotFound()) return status;
    return status.ok() && Decode(bytes, identity) ? status : lost;
  }
  return lost;
}

}  // namespace

int RunId(const IdOptions& options, std::ostream& out, std::ostream& err) {
  const std::string& directory = options.directory;
  IdentityRecord identity;
  std::unique_ptr<OfflineDB> offline;
  Status status = CheckWalDirs(options.wal_dirs, {directory});
  if (status.ok()) status = CheckHasIndex(directory);
  if (status.ok()) {
    status = OfflineDB::Open(directory, options.wal_dirs, &offline);
  }
  if (status.ok()) status = ReadIdentity(*offline, directory, &identity);
  if (!status.ok()) {
    err << "rocksync id " << directory << ": " << status.ToString() << "\n";
    return 2;
  }
  out << HexId(identity.replica_id) << "\n";
  return 0;
}

}  // namespace rocksync
