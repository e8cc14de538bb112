#include "replication/clone/clone.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "replication/base/directories.h"
#include "replication/clone/attended.h"
#include "replication/clone/clone_directory.h"
#include "replication/clone/clone_receiver.h"
#include "replication/clone/open_replica.h"
#include "replication/peering/dial_link.h"
#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/open/kept_options_file.h"
#include "replication/store/write/refusals.h"
#include "rocksync/max_duration.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;
using std::chrono::milliseconds;

constexpr size_t kMaxConnections = 16;
constexpr milliseconds kBusyPause{100};
// The most meetings in a row. A connection ends when one of the two replicas
// installs the other's member list, each time the newest that either has.
constexpr int kMaxMeetings = 4;

void Tell(const CloneOptions& clone, const CloneProgress& progress) {
  if (clone.progress) clone.progress(progress);
}

Status WasCancelled() { return Status::Aborted("the copy was cancelled"); }

// Runs sessions with the source. Returns OK if the two were proven equal, else
// why not.
Status SessionWithSource(ReplicatedDB* db, const CloneOptions& clone) {
  ReplicatorContext replica(ReplicatorOptionsOf(clone), db, clone.transport);
  const EndIfCancelled end(clone.cancelled, [&] { Stop(&replica); });
  const auto patience = std::chrono::steady_clock::now() + clone.io_timeout;
  Status s;
  for (int overtaken = 0; overtaken < kMaxMeetings;) {
    std::unique_ptr<Link> link;
    s = MeetSource(clone, &replica, &link);
    if (!s.ok()) return s;
    const SessionResult met = link->RunSession("", /*slot=*/true);
    s = met.status;
    if (Cancelled(clone) && (!s.ok() || met.busy || met.expired)) break;
    if (s.IsTryAgain()) {
      ++overtaken;
    } else if (!s.ok() || (!met.busy && !met.expired)) {
      return s;
    } else if (met.busy) {
      s = Status::Busy("peer busy: the source is in another session", met.why);
      if (std::chrono::steady_clock::now() >= patience) return s;
      std::this_thread::sleep_for(kBusyPause);
    }
    if (Cancelled(clone)) break;
  }
  return Cancelled(clone) ? WasCancelled() : s;
}

}  // namespace

bool Cancelled(const CloneOptions& clone) {
  return clone.cancelled && clone.cancelled();
}

void Stop(ReplicatorContext* replica) {
  replica->stopping = true;
  replica->connections.CloseAll();
}

void TellStage(const CloneOptions& clone, CloneProgress::Stage stage,
               const CloneResult& copied) {
  CloneProgress progress;
  progress.stage = stage;
  progress.bytes = progress.bytes_done = copied.bytes;
  progress.bytes_received = copied.bytes_received;
  Tell(clone, progress);
}

ReplicatorOptions ReplicatorOptionsOf(const CloneOptions& clone) {
  ReplicatorOptions options;
  options.peers = {clone.source};
  options.io_timeout = clone.io_timeout;
  return options;
}

void Prove(ReplicatedDB* db, const CloneOptions& clone, CloneResult* result) {
  const Status s = SessionWithSource(db, clone);
  result->proven_equal = s.ok();
  if (!s.ok()) result->session_error = s.ToString();
}

Status CheckPlaces(const rocksdb::DBOptions& options, const std::string& name,
                   const std::vector<ColumnFamilyDescriptor>& families) {
  const Status named = CheckDatabaseName(name);
  if (!named.ok()) return named;
  const bool log_elsewhere = !options.wal_dir.empty() &&
                             options.wal_dir != name &&
                             options.wal_dir != name + "/";
  const bool tables_elsewhere =
      !options.db_paths.empty() ||
      std::any_of(families.begin(), families.end(),
                  [](const ColumnFamilyDescriptor& family) {
                    return !family.options.cf_paths.empty();
                  });
  if (!log_elsewhere && !tables_elsewhere) return Status::OK();
  return Status::NotSupported(
      std::string("rocksync: a copy of a replica with ") +
          (log_elsewhere ? "DBOptions::wal_dir"
                         : "DBOptions::db_paths or cf_paths"),
      "it lies in one directory: leave the option out, or let sessions bring "
      "the pairs");
}

Status MeetSource(const CloneOptions& clone, ReplicatorContext* replica,
                  std::unique_ptr<Link>* link) {
  const auto cancelled = [&clone] { return Cancelled(clone); };
  const Status s = DialLink(replica,
                            {.address = clone.source,
                             .connect_timeout = clone.io_timeout,
                             .cancelled = cancelled},
                            link);
  return !s.ok() && cancelled() ? WasCancelled() : s;
}

Status CheckCloneOptions(const CloneOptions& clone) {
  const auto wrong = [](const char* what) {
    return Status::InvalidArgument(std::string("CloneOptions::") + what);
  };
  if (clone.transport == nullptr) return wrong("transport is null");
  if (clone.connections == 0 || clone.connections > kMaxConnections) {
    return wrong("connections must be 1 to 16");
  }
  if (clone.io_timeout <= milliseconds(0) || clone.io_timeout > kMaxDuration) {
    return wrong("io_timeout must be 1 ms to a year");
  }
  return clone.transport->CheckAddress(clone.source);
}

Status CopyFiles(const ReplicatedDBOptions& replication,
                 const CloneOptions& clone, CloneDirectory* directory,
                 CloneResult* result) {
  CloneProgress progress;
  Tell(clone, progress);
  // Copying few files may be over before `cancelled` is polled again.
  if (Cancelled(clone)) return WasCancelled();
  Status s;
  if (!directory->finished()) {
    s = ReceiveFiles(clone,
                     {replication.cluster_name, replication.cluster_secret},
                     replication.min_free_bytes, directory, &progress);
  }
  result->replica_id = directory->record().replica_id;
  result->source_id = directory->record().source_id;
  result->bytes = progress.bytes;
  result->bytes_received = progress.bytes_received;
  Tell(clone, progress);
  return s;
}

Status CopyReplica(rocksdb::Env* env, const ReplicatedDBOptions& replication,
                   const std::string& name, const CloneOptions& clone,
                   CloneResult* result) {
  *result = {};
  std::unique_ptr<CloneDirectory> directory;
  Status s = CheckDatabaseName(name);
  if (s.ok()) s = CheckCloneOptions(clone);
  if (s.ok()) {
    s = CloneDirectory::Prepare(env, name, clone.transport->replica_id(),
                                &directory);
  }
  if (!s.ok()) return s;
  return CopyFiles(replication, clone, directory.get(), result);
}

Status BecomeReplica(const rocksdb::DBOptions& options,
                     const ReplicatedDBOptions& replication,
                     const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& families,
                     const CloneOptions& clone, CloneResult* result,
                     const KeptOptionsFile* options_file) {
  TellStage(clone, CloneProgress::Stage::kOpening, *result);
  if (Cancelled(clone)) return WasCancelled();
  OpenReplica replica;
  Status s = replica.Open(options, replication, name, families);
  if (s.ok() && options_file != nullptr) s = options_file->PutBack();
  if (!s.ok()) return s;
  result->replica_id = replica.db()->Identity().replica_id;
  TellStage(clone, CloneProgress::Stage::kProving, *result);
  Prove(replica.db(), clone, result);
  return replica.Close();
}

Status ReadCloneReplicaId(rocksdb::Env* env, const std::string& directory,
                          uint64_t* replica_id) {
  CloneRecord record;
  Status status = CheckDatabaseName(directory);
  if (status.ok()) status = ReadCloneRecord(env, directory, &record);
  if (status.ok()) *replica_id = record.replica_id;
  return status;
}

Status ReplicatedDB::Clone(const rocksdb::DBOptions& options,
                           const ReplicatedDBOptions& replication,
                           const std::string& name,
                           const std::vector<ColumnFamilyDescriptor>& families,
                           const CloneOptions& clone, CloneResult* result) {
  CloneResult scratch;
  if (result == nullptr) result = &scratch;
  Status s = CheckPlaces(options, name, families);
  // Refuses before the copy what the opening would refuse after it.
  if (s.ok()) s = CheckOpenArguments(options, replication, families);
  if (!s.ok()) return s;
  return Attended(clone, [&](const CloneOptions& attended) {
    Status copied =
        CopyReplica(options.env, replication, name, attended, result);
    return copied.ok() ? BecomeReplica(options, replication, name, families,
                                       attended, result)
                       : copied;
  });
}

}  // namespace rocksync
