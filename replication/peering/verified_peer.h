// The peer of a verification, which must be the same at each look.

#ifndef ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_
#define ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

struct VerifiedPeer {
  uint64_t peer_id = 0;               // 0: before the first look
  uint64_t link = 0;                  // number of the connection
  std::vector<std::string> families;  // names, by ordinal
  // The peer was reached over a new connection. Its families may have been
  // dropped and made anew before, so what earlier looks found says nothing.
  bool reconnected = false;
};

// Sets `peer` at the first look. TryAgain of a later one: `now` is another
// replica or has other families, or only the connection is another one, and
// then `reconnected` is set.
rocksdb::Status CheckIsSame(const VerifiedPeer& now, VerifiedPeer* peer);

// InvalidArgument names those of one side alone.
rocksdb::Status CheckSameFamilies(const std::vector<std::string>& here,
                                  const std::vector<std::string>& there);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_
