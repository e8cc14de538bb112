// The file of a cluster's secret.

#ifndef ROCKSYNC_CLUSTER_SECRET_H_
#define ROCKSYNC_CLUSTER_SECRET_H_

#include <array>
#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Reads ReplicatedDBOptions::cluster_secret from a file of exactly 32 bytes,
// e.g. one made once for the cluster by
//   head -c 32 /dev/urandom > secret
// It may be a pipe. Errors name the file and the remedy: PathNotFound if it is
// not there; IOError if the user of this process may not read it, or it cannot
// be read; InvalidArgument if it has another size, or no end; TimedOut if it is
// a pipe, and nothing came out of it for 5 s. With an error, *secret is as it
// was. Any thread.
rocksdb::Status ReadClusterSecret(const std::string& file,
                                  std::array<uint8_t, 32>* secret);

}  // namespace rocksync

#endif  // ROCKSYNC_CLUSTER_SECRET_H_
