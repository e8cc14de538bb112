// The steps of a clone, from beginning to end. Tools take them one by one.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_H_

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksync/clone.h"
#include "rocksync/options.h"
#include "rocksync/replicator.h"

namespace rocksync {

class CloneDirectory;
class KeptOptionsFile;
class Link;
class ReplicatedDB;
struct ReplicatorContext;

// Returns true if the clone has been cancelled.
bool Cancelled(const CloneOptions& clone);

// Ends the sessions of `replica`, and all waits for a peer. From any thread.
void Stop(ReplicatorContext* replica);

// Reports that this stage begins. `copied` says how much has been copied.
void TellStage(const CloneOptions& clone, CloneProgress::Stage stage,
               const CloneResult& copied);

// Returns options for a replica that dials only the source of the clone.
ReplicatorOptions ReplicatorOptionsOf(const CloneOptions& clone);

// Returns InvalidArgument if the options are wrong; the message names what is.
rocksdb::Status CheckCloneOptions(const CloneOptions& clone);

// Returns NotSupported if the options name several directories: a copy lies in
// one.
rocksdb::Status CheckPlaces(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// Opens a link to the source. Repeats this until the source and `replica` have
// the same member list; TryAgain: the list keeps changing.
rocksdb::Status MeetSource(const CloneOptions& clone,
                           ReplicatorContext* replica,
                           std::unique_ptr<Link>* link);

// Proves an open replica equal to the source by a session, and retries within
// `clone.io_timeout` while the source is busy. Sets `proven_equal`, or
// `session_error`.
void Prove(ReplicatedDB* db, const CloneOptions& clone, CloneResult* result);

// Copies the source's files into a prepared directory, unless all of them are
// there. Sets all of `result` except the proof.
rocksdb::Status CopyFiles(const ReplicatedDBOptions& replication,
                          const CloneOptions& clone, CloneDirectory* directory,
                          CloneResult* result);

// Copies the source's files into the directory `name`, but does not open it.
// The first opening makes it the replica `result->replica_id`. Returns OK at
// once if an earlier call copied all files.
rocksdb::Status CopyReplica(rocksdb::Env* env,
                            const ReplicatedDBOptions& replication,
                            const std::string& name, const CloneOptions& clone,
                            CloneResult* result);

// Opens a copy as the new replica, proves it equal to the source, and closes
// it. Puts `options_file` back unless it is null, for callers whose options are
// not, or not exactly, the application's.
rocksdb::Status BecomeReplica(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    const CloneOptions& clone, CloneResult* result,
    const KeptOptionsFile* options_file = nullptr);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_H_
