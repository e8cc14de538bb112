// Checks that a verification meets the same peer at each look.

#ifndef ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_
#define ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rocksdb/status.h"

namespace rocksync {

struct VerifiedPeer {
  uint64_t peer_id = 0;               // 0: before the first look
  uint64_t link = 0;                  // the link's number
  std::vector<std::string> families;  // names, by ordinal
  // True if the peer was reached over a new connection. Its families may have
  // been dropped and created anew before, so what earlier looks found does not
  // count any more.
  bool reconnected = false;
};

// Sets `peer` at the first look. At a later look, returns TryAgain if `now` is
// another replica or has other families, or if only the connection is another
// one; in the last case it sets `reconnected`.
rocksdb::Status CheckIsSame(const VerifiedPeer& now, VerifiedPeer* peer);

// Returns InvalidArgument if the families differ; the message names those that
// only one side has.
rocksdb::Status CheckSameFamilies(const std::vector<std::string>& here,
                                  const std::vector<std::string>& there);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_VERIFIED_PEER_H_
