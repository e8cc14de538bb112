// The secret of a trial cluster.

#ifndef EXAMPLES_REPLICATED_STORE_SECRET_H_
#define EXAMPLES_REPLICATED_STORE_SECRET_H_

#include <array>
#include <cstdint>
#include <string>

#include "rocksdb/status.h"

namespace rocksync {

using ClusterSecret = std::array<uint8_t, 32>;

// Reads `directory`/trial-secret, and makes it (and the directory) at first.
// Processes that do this at the same time get one secret.
rocksdb::Status MakeTrialSecret(const std::string& directory,
                                ClusterSecret* secret);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_SECRET_H_
