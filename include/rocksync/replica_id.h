// How a replica's id is written wherever people read it: in logs, statistics,
// certificates and the output of tools.

#ifndef ROCKSYNC_REPLICA_ID_H_
#define ROCKSYNC_REPLICA_ID_H_

#include <cstdint>
#include <string>

namespace rocksync {

// 16 lower-case hex digits, leading zeros included.
inline std::string ReplicaIdHex(uint64_t replica_id) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text.push_back("0123456789abcdef"[(replica_id >> shift) & 15]);
  }
  return text;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICA_ID_H_
