// What to say of a file that the user of this process may not read.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// IOError: names the user, and how to let it read the file, or enter the
// directory of the file. OK also if nothing is there.
rocksdb::Status CheckUserMayRead(const std::string& file);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_MAY_READ_H_
