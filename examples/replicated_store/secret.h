// The cluster's secret, as a file.

#ifndef EXAMPLES_REPLICATED_STORE_SECRET_H_
#define EXAMPLES_REPLICATED_STORE_SECRET_H_

#include <array>
#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

using ClusterSecret = std::array<uint8_t, 32>;

// Reads a file of exactly 32 bytes, e.g. one made by
//   head -c 32 /dev/urandom > cluster-secret
rocksdb::Status ReadSecret(const std::string& file, ClusterSecret* secret);

// Reads `directory`/trial-secret, and makes it (and the directory) at first.
// Processes that do this at the same time get one secret.
rocksdb::Status MakeTrialSecret(const std::string& directory,
                                ClusterSecret* secret);

// Whether every user of this machine may read it.
bool IsOpenToAll(const std::string& file);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_SECRET_H_
