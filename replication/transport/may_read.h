// Explains why the user of this process may not read a file.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Returns IOError if the user of this process may not read `file`. The message
// names the user, and says how to let it read the file or enter the file's
// directory. Returns OK also if there is no such file.
rocksdb::Status CheckUserMayRead(const std::string& file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_
