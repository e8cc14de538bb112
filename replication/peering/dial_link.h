// Connects to an address and opens a link over the connection; again, a few
// times, while the two have to agree anew. Which address, and what is noted of
// who was met, is for the caller.

#ifndef ROCKSYNC_REPLICATION_PEERING_DIAL_LINK_H_
#define ROCKSYNC_REPLICATION_PEERING_DIAL_LINK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "rocksdb/status.h"

namespace rocksync {

// A few threads dial all peers, so those that do not answer must not hold up
// the others for longer than this, or io_timeout if that is less.
inline constexpr std::chrono::milliseconds kConnectTimeout{5'000};

struct DialTarget {
  std::string address;
  std::chrono::milliseconds connect_timeout;
  std::function<bool()> cancelled;  // polled while connecting
};

// TryAgain: they did not agree in any of the attempts, or it was cancelled
// meanwhile. Others as Transport::Connect and Link::Open. `*shown_id`, if not
// null: the replica id of the last certificate that was seen there; 0: none.
rocksdb::Status DialLink(ReplicatorContext* replica, const DialTarget& target,
                         std::unique_ptr<Link>* link,
                         uint64_t* shown_id = nullptr);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_DIAL_LINK_H_
