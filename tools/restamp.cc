#include "tools/restamp.h"

#include <ostream>

#include "replication/store/offline/own_options.h"
#include "replication/transport/certificate.h"
#include "rocksdb/env.h"
#include "rocksync/replicated_db.h"
#include "tools/offline_db.h"
#include "tools/stand_ins.h"
#include "tools/with_noun.h"

namespace rocksync {

int RunRestamp(const RestampToolOptions& options, std::ostream& out,
               std::ostream& err) {
  ReplicatedDBOptions replication;
  replication.cluster_name = options.credentials.cluster;
  replication.max_clock_ahead_ms = options.max_ahead_ms;
  rocksdb::Status status =
      ReadClusterSecret(options.credentials, &replication.cluster_secret);
  RestampResult result;
  if (status.ok()) status = CheckWalDirs(options.wal_dirs, {options.directory});
  if (status.ok()) status = CheckHasIndex(options.directory, kNoReplica);
  OwnOptions own;
  if (status.ok()) {
    status =
        LoadOwnOptions(rocksdb::Env::Default(), options.directory,
                       WalDirOf(options.wal_dirs, options.directory), &own);
  }
  if (status.ok()) {
    status = ExplainMissingComparator(
        ReplicatedDB::Restamp(own.db, replication, options.directory,
                              own.families, &result),
        options.directory);
  }
  if (!status.ok()) {
    err << "rocksync restamp " << options.directory << ": " << status.ToString()
        << "\n";
    return 2;
  }
  out << result.restamped << " of " << CountedElements(result.entries_read)
      << " restamped";
  if (result.furthest_ahead_ms > 0) {
    out << ", the furthest was " << result.furthest_ahead_ms / 1000
        << " s ahead";
  }
  if (result.restamped == 0) {
    out << "; no version is more than " << options.max_ahead_ms / 1000
        << " s ahead of this computer's clock, "
        << UtcText(rocksdb::Env::Default()->NowMicros() / 1000)
        << ": correct it first if it is wrong";
  }
  if (result.damaged > 0) {
    out << "; " << result.damaged
        << (result.damaged == 1 ? " does not match its index entry and was left"
                                : " do not match their index entries and were "
                                  "left");
  }
  out << "\n";
  return 0;
}

}  // namespace rocksync
