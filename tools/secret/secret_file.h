// The file of a cluster's secret.

#ifndef ROCKSYNC_TOOLS_SECRET_SECRET_FILE_H_
#define ROCKSYNC_TOOLS_SECRET_SECRET_FILE_H_

#include <array>
#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

// Reads a file of exactly 32 bytes, e.g. one made by
//   head -c 32 /dev/urandom > secret
// It may be a pipe. IOError names the file; PathNotFound: it is not there, and
// the message says how to make one;
// InvalidArgument: it has another size, or no end.
rocksdb::Status ReadSecretFile(const std::string& file,
                               std::array<uint8_t, 32>* secret);

// Whether every user of this machine may read the file, of a secret or a
// private key.
bool IsOpenToAll(const std::string& file);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_SECRET_SECRET_FILE_H_
