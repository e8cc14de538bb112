// Connects to an address and opens a link over the connection. Repeats this a
// few times while the two replicas have to agree anew. The caller chooses the
// address and records which replica it met.

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

// The longest time to connect, or io_timeout if that is less. A few threads
// dial all peers, so a peer that does not answer must not delay the others for
// longer.
inline constexpr std::chrono::milliseconds kConnectTimeout{5'000};

struct DialTarget {
  std::string address;
  std::chrono::milliseconds connect_timeout;
  std::function<bool()> cancelled;  // polled while connecting
};

// Opens a link to `target`. Returns TryAgain if the two replicas did not agree
// in any of the attempts, or if it was cancelled between two of them. Other
// errors as Transport::Connect and Link::Open. `*shown_id`, if not null, is set
// to the replica id of the last certificate seen at that address, or 0.
rocksdb::Status DialLink(ReplicatorContext* replica, const DialTarget& target,
                         std::unique_ptr<Link>* link,
                         uint64_t* shown_id = nullptr);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_DIAL_LINK_H_
