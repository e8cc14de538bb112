// Copies the files of a running replica into a directory, over several
// connections at once.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_RECEIVER_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_RECEIVER_H_

#include <string>

#include "replication/clone/clone_directory.h"
#include "rocksdb/status.h"
#include "rocksync/clone.h"
#include "sketch/element/element.h"

namespace rocksync {

// The credentials with which the receiver authenticates.
struct CloneCredentials {
  std::string cluster;  // its name
  ClusterSecret secret{};
};

// Copies what is not there yet and leaves `directory` finished. OK: `*copied`
// says what was copied. InvalidArgument: one side refuses the other. Busy: the
// source cannot serve the clone now. NoSpace: the disk has too little room.
// IOError, TimedOut: the connection failed. Aborted: it was cancelled. After
// any error or a crash, the next call resumes.
rocksdb::Status ReceiveFiles(const CloneOptions& options,
                             const CloneCredentials& credentials,
                             uint64_t min_free_bytes, CloneDirectory* directory,
                             CloneProgress* copied);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_RECEIVER_H_
