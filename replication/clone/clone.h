// A clone from beginning to end, in the steps that tools take one by one.

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

// It has been cancelled.
bool Cancelled(const CloneOptions& clone);

// Ends its sessions, and whatever it waits for of a peer. For any thread.
void Stop(ReplicatorContext* replica);

// What is copied is there, and this stage begins.
void TellStage(const CloneOptions& clone, CloneProgress::Stage stage,
               const CloneResult& copied);

// Of a clone: it dials the source alone.
ReplicatorOptions ReplicatorOptionsOf(const CloneOptions& clone);

// InvalidArgument: names what is wrong with them.
rocksdb::Status CheckCloneOptions(const CloneOptions& clone);

// NotSupported: the copy lies in one directory, and these options name others.
rocksdb::Status CheckPlaces(
    const rocksdb::DBOptions& options, const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& families);

// A new connection with the source, over which it and `replica` have met with
// one member list. TryAgain: the list keeps changing.
rocksdb::Status MeetSource(const CloneOptions& clone,
                           ReplicatorContext* replica,
                           std::unique_ptr<Link>* link);

// A session with the source, of a replica that is open, in as many attempts as
// `clone.io_timeout` allows. Sets `proven_equal`, or says why not.
void Prove(ReplicatedDB* db, const CloneOptions& clone, CloneResult* result);

// Copies the source's files into a directory that was prepared, unless all are
// there. Sets all of `result` but the proof.
rocksdb::Status CopyFiles(const ReplicatedDBOptions& replication,
                          const CloneOptions& clone, CloneDirectory* directory,
                          CloneResult* result);

// Copies the source's files into the directory `name`, which can then be opened
// and becomes the replica `result->replica_id` when it is. Nothing is opened.
// OK at once if an earlier call got so far.
rocksdb::Status CopyReplica(rocksdb::Env* env,
                            const ReplicatedDBOptions& replication,
                            const std::string& name, const CloneOptions& clone,
                            CloneResult* result);

// Opens a copy as the new replica, proves it equal to the source, and closes
// it. `options_file` is put back unless it is null: the options are not the
// application's, or not quite.
rocksdb::Status BecomeReplica(
    const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
    const std::string& name,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
    const CloneOptions& clone, CloneResult* result,
    const KeptOptionsFile* options_file = nullptr);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_H_
