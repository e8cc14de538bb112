// With what a tool opens a database whose program is not at hand.

#ifndef ROCKSYNC_TOOLS_COPIED_OPTIONS_H_
#define ROCKSYNC_TOOLS_COPIED_OPTIONS_H_

#include <string>

#include "replication/store/offline/own_options.h"
#include "rocksdb/status.h"
#include "rocksync/options.h"

namespace rocksync {

// The options that the source's program had, from the OPTIONS file in
// `directory`, without its paths, which may be those of another database on
// this machine.
rocksdb::Status LoadCopiedOptions(const std::string& directory,
                                  OwnOptions* own);

// Those of a replica that a copy is to replace. InvalidArgument: its log is
// in another directory (`wal_dir`: see LoadOwnOptions), which a copy does not
// replace.
rocksdb::Status LoadReplacedOptions(const std::string& directory,
                                    const std::string& wal_dir,
                                    OwnOptions* own);

// Adds to `replication` which families are replicated, by the index of the
// database, and which of them have a merge operator; takes the index's family
// out of `own`. Opens the database read-only.
rocksdb::Status ReadReplicatedFamilies(const std::string& directory,
                                       OwnOptions* own,
                                       ReplicatedDBOptions* replication);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_COPIED_OPTIONS_H_
