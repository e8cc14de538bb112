#include "tools/detach.h"

#include <ostream>

#include "replication/store/offline/own_options.h"
#include "rocksync/replicated_db.h"
#include "tools/offline_db.h"
#include "tools/stand_ins.h"

namespace rocksync {

int RunDetach(const DetachOptions& options, std::ostream& out,
              std::ostream& err) {
  const std::string& directory = options.directory;
  OwnOptions own;
  rocksdb::Status status = CheckWalDirs(options.wal_dirs, {directory});
  if (status.ok()) status = CheckHasIndex(directory, kPlainAlready);
  if (status.ok()) {
    status = LoadOwnOptions(rocksdb::Env::Default(), directory,
                            WalDirOf(options.wal_dirs, directory), &own);
  }
  if (status.ok()) {
    status = ExplainMissingComparator(
        ReplicatedDB::Detach(own.db, directory, own.families), directory);
  }
  if (!status.ok()) {
    err << "rocksync detach " << directory << ": " << status.ToString() << '\n';
    return 2;
  }
  out << directory << " is a plain database now\n";
  return 0;
}

}  // namespace rocksync
