// Where the log of a database is that was moved or copied.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_

#include <string>

#include "replication/store/format/marker.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Before it is said that the log is lost. Of a database that is not where its
// marker says, the log is with it or, if the directory was renamed, where it
// was. InvalidArgument: it is in one of these places, and not in `wal_dir`,
// where it is looked for. Both paths are absolute; of an empty one nothing is
// known.
rocksdb::Status CheckLogIsNotLeft(rocksdb::Env* env, const Marker& marker,
                                  const std::string& directory,
                                  const std::string& wal_dir);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_
