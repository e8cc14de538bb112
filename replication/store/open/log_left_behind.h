// Looks for the log of a database that was moved or copied.

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_

#include <string>

#include "replication/store/format/marker.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace rocksync {

// Checks, before a log is called lost, that it was not left behind. If a
// database is not where its marker says, its log is with it or, if the
// directory was renamed, where it was. Returns InvalidArgument if the log is in
// one of these places and not in `wal_dir`, where it is looked for. Both paths
// are absolute; nothing is known of an empty one.
rocksdb::Status CheckLogIsNotLeft(rocksdb::Env* env, const Marker& marker,
                                  const std::string& directory,
                                  const std::string& wal_dir);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_LEFT_BEHIND_H_
