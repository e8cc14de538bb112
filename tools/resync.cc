#include "tools/resync.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"
#include "replication/store/directory/directory_switch.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/open/damaged_files.h"
#include "rocksync/clone.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "tools/copied_options.h"
#include "tools/copy_progress.h"
#include "tools/id.h"
#include "tools/offline_db.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr char kNoReplicaYet[] =
    "it is a plain database: open it once as a replica; or clone into a new "
    "directory";

// The replica's own certificate; for trials the one that it has there.
Status MakeOwnTransport(const ResyncToolOptions& options,
                        std::shared_ptr<Transport>* transport) {
  uint64_t id = 0;
  if (!options.credentials.trial_directory.empty()) {
    const Status status =
        ReadReplicaId(options.directory, options.wal_dirs, &id);
    if (!status.ok()) return status;
  }
  return MakeReplicaTransport(options.credentials, id, transport);
}

Status Resync(const ResyncToolOptions& options, bool watched,
              ResyncResult* result) {
  ReplicatedDBOptions replication;
  replication.cluster_name = options.credentials.cluster;
  ResyncOptions resync;
  resync.copy_from_share = options.copy_from_share;
  CloneOptions& clone = resync.copy;
  clone.source = options.source;
  clone.connections = options.connections;
  clone.io_timeout =
      std::chrono::milliseconds(options.credentials.peer_timeout_ms);
  if (watched) clone.progress = ShowProgress;
  Status status = CheckAddress(options.source, /*or_directory=*/false);
  if (status.ok()) {
    status = CheckWalDirs(options.wal_dirs, {options.directory});
  }
  // A run that was interrupted between two renames left nothing there.
  if (status.ok()) {
    status = FinishSwitch(rocksdb::Env::Default(), options.directory);
  }
  if (status.ok()) status = CheckHasIndex(options.directory, kNoReplicaYet);
  if (status.ok()) {
    status =
        ReadClusterSecret(options.credentials, &replication.cluster_secret);
  }
  OwnOptions own;
  if (status.ok()) {
    status = LoadReplacedOptions(
        options.directory, WalDirOf(options.wal_dirs, options.directory), &own);
  }
  if (status.ok()) status = MakeOwnTransport(options, &clone.transport);
  if (status.ok()) {
    status = ReadReplicatedFamilies(options.directory, &own, &replication);
  }
  if (!status.ok()) return status;
  return ReplicatedDB::Resync(own.db, replication, options.directory,
                              own.families, resync, result);
}

void PrintResync(const ResyncToolOptions& options, const ResyncResult& result,
                 std::ostream& out) {
  const CloneResult& copy = result.copy;
  if (options.json) {
    nlohmann::ordered_json line = {
        {"replica_id", ReplicaIdHex(copy.replica_id)},
        {"source_id", ReplicaIdHex(copy.source_id)},
        {"copied", result.copied},
        {"bytes", copy.bytes},
        {"bytes_received", copy.bytes_received},
        {"carried_over", result.carried_over},
        {"proven_equal", copy.proven_equal}};
    if (!copy.session_error.empty()) line["session_error"] = copy.session_error;
    out << line.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
    return;
  }
  if (!result.copied) {
    out << options.directory << " is replica " << ReplicaIdHex(copy.replica_id)
        << "; less was missing than the share for a copy, and a session with "
           "replica "
        << ReplicaIdHex(copy.source_id) << " brought it\n";
  } else {
    out << options.directory << " is replica " << ReplicaIdHex(copy.replica_id)
        << " still, with the data of replica " << ReplicaIdHex(copy.source_id)
        << " and "
        << WithNoun(result.carried_over, "pair or delete", "pairs or deletes")
        << " that only it had; " << InUnits(copy.bytes_received) << " of "
        << InUnits(copy.bytes) << " came over the network\n";
  }
  if (copy.proven_equal) {
    out << "proven equal to its source\n";
  } else {
    out << "not proven equal to its source yet: " << copy.session_error << "\n";
  }
}

}  // namespace

int RunResync(const ResyncToolOptions& options, std::ostream& out,
              std::ostream& err) {
  const bool watched = !options.json && isatty(STDERR_FILENO) == 1;
  ResyncResult result;
  Status status = Resync(options, watched, &result);
  if (watched) ClearProgress();
  // Of a file of this replica, not of what came from the source.
  if (status.ToString().find(options.directory + "/") != std::string::npos) {
    status =
        NameDamagedFile(status, rocksdb::Env::Default(), options.directory);
  }
  if (!status.ok()) {
    err << "rocksync resync: " << status.ToString() << "\n";
    return 2;
  }
  PrintResync(options, result, out);
  return result.copy.proven_equal ? 0 : 1;
}

}  // namespace rocksync
