#include "tools/clone.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <ostream>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/base/random_bits.h"
#include "replication/clone/clone.h"
#include "replication/store/offline/own_options.h"
#include "replication/store/open/kept_options_file.h"
#include "rocksync/replica_id.h"
#include "tools/copied_options.h"
#include "tools/copy_progress.h"
#include "tools/id.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// Of the new replica: what an earlier run chose, or what came of it; 0: there
// was none.
uint64_t IdOfEarlierRun(const std::string& directory) {
  uint64_t id = 0;
  if (ReadCloneReplicaId(rocksdb::Env::Default(), directory, &id).ok()) {
    return id;
  }
  return ReadReplicaId(directory, {}, &id).ok() ? id : 0;
}

// The new replica's own certificate; for trials one is made.
Status MakeCloneTransport(const CloneToolOptions& options,
                          std::shared_ptr<Transport>* transport) {
  const uint64_t earlier = IdOfEarlierRun(options.directory);
  return MakeReplicaTransport(options.credentials,
                              earlier == 0 ? RandomBits() : earlier, transport);
}

// A certificate does not say whether it is a replica's or an operator's, and
// what it is used for here cannot be taken back. Told by every run until the
// replica is there: an earlier one may have been another program's, or have had
// another certificate.
void TellWhoseIdItGets(const CloneToolOptions& options,
                       const Transport& transport, std::ostream& err) {
  if (!options.credentials.trial_directory.empty()) return;
  const std::string& file = options.credentials.tls.certificate_file;
  err << "rocksync clone: warning: " << options.directory << " becomes replica "
      << ReplicaIdHex(transport.replica_id()) << ", as " << file
      << " names it; if that is an operator's certificate, stop, remove "
      << options.directory
      << ", and give the clone a certificate of its own: whoever uses this one "
         "could speak as the replica"
      << std::endl;
}

// An earlier run opened the copy, and ended before it was proven equal: the
// database is the replica that our certificate names.
bool WasOpened(const CloneToolOptions& options, const Transport& transport,
               CloneResult* result) {
  uint64_t id = 0;
  const Status status = ReadReplicaId(options.directory, {}, &id);
  if (!status.ok() || id != transport.replica_id()) return false;
  result->replica_id = id;
  return true;
}

// Not OK: the copy is whole, and only its own program can open it.
Status OpenAndProve(const ReplicatedDBOptions& given,
                    const CloneToolOptions& options, const CloneOptions& clone,
                    CloneResult* result) {
  ReplicatedDBOptions replication = given;
  OwnOptions own;
  Status status = LoadCopiedOptions(options.directory, &own);
  if (status.ok()) {
    status = ReadReplicatedFamilies(options.directory, &own, &replication);
  }
  // Of the source, whose program will open this one, too.
  KeptOptionsFile options_file(rocksdb::Env::Default(), options.directory);
  if (status.ok()) status = options_file.Read();
  if (!status.ok()) return status;
  return BecomeReplica(own.db, replication, options.directory, own.families,
                       clone, result, &options_file);
}

void PrintClone(const CloneToolOptions& options, const CloneResult& result,
                const Status& opened, std::ostream& out) {
  const std::string session_error =
      opened.ok() ? result.session_error : opened.ToString();
  if (options.json) {
    nlohmann::ordered_json line = {
        {"replica_id", ReplicaIdHex(result.replica_id)}};
    // An earlier run knew it, and the replica does not.
    if (result.source_id != 0) {
      line["source_id"] = ReplicaIdHex(result.source_id);
    }
    line["bytes"] = result.bytes;
    line["bytes_received"] = result.bytes_received;
    line["opened"] = opened.ok();
    line["proven_equal"] = result.proven_equal;
    if (!session_error.empty()) line["session_error"] = session_error;
    out << line.dump(-1, ' ', false,
                     nlohmann::ordered_json::error_handler_t::replace)
        << "\n";
    return;
  }
  out << options.directory << " is replica " << ReplicaIdHex(result.replica_id);
  if (result.source_id == 0) {
    out << " already; nothing is left to copy\n";
  } else {
    out << ", a copy of replica " << ReplicaIdHex(result.source_id) << "; "
        << InUnits(result.bytes_received) << " of " << InUnits(result.bytes)
        << " came over the network\n";
  }
  if (result.proven_equal) {
    out << "proven equal to its source\n";
  } else if (opened.ok()) {
    out << "not proven equal to its source yet: " << session_error << "\n";
  } else {
    out << "it was not opened here, its own program opens it and its first "
           "session proves it equal: "
        << session_error << "\n";
  }
}

}  // namespace

int RunClone(const CloneToolOptions& options, std::ostream& out,
             std::ostream& err) {
  ReplicatedDBOptions replication;
  replication.cluster_name = options.credentials.cluster;
  CloneOptions clone;
  clone.source = options.source;
  clone.connections = options.connections;
  clone.io_timeout =
      std::chrono::milliseconds(options.credentials.peer_timeout_ms);
  const bool watched = !options.json && isatty(STDERR_FILENO) == 1;
  Status status = CheckAddress(options.source, /*or_directory=*/false);
  if (status.ok()) {
    status =
        ReadClusterSecret(options.credentials, &replication.cluster_secret);
  }
  if (status.ok()) status = MakeCloneTransport(options, &clone.transport);
  CloneResult result;
  bool told = false;
  if (status.ok()) {
    // The first report comes when DIR is known to be a clone's, and nothing was
    // copied yet.
    clone.progress = [&](const CloneProgress& progress) {
      if (!told) TellWhoseIdItGets(options, *clone.transport, err);
      told = true;
      if (watched) ShowProgress(progress);
    };
    status = CopyReplica(rocksdb::Env::Default(), replication,
                         options.directory, clone, &result);
    if (status.IsInvalidArgument() &&
        WasOpened(options, *clone.transport, &result)) {
      status = Status::OK();
    }
  }
  if (!status.ok()) {
    if (watched) ClearProgress();
    err << "rocksync clone: " << status.ToString();
    // Of what came, nothing comes again.
    if (told && (status.IsIOError() || status.IsTimedOut())) {
      err << "; the same command goes on where this one ended";
    }
    err << "\n";
    return 2;
  }
  clone.progress = watched ? ShowProgress : nullptr;
  const Status opened = OpenAndProve(replication, options, clone, &result);
  if (watched) ClearProgress();
  PrintClone(options, result, opened, out);
  return result.proven_equal ? 0 : 1;
}

}  // namespace rocksync
