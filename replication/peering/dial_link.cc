#include "replication/peering/dial_link.h"

#include <utility>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

// One of the two has learned of a newer member list. A few lists may have been
// missed, but each set-up takes over the newest one that is there.
constexpr int kMaxSetups = 4;

}  // namespace

rocksdb::Status DialLink(ReplicatorContext* replica, const DialTarget& target,
                         std::unique_ptr<Link>* link, uint64_t* shown_id) {
  if (shown_id != nullptr) *shown_id = 0;
  rocksdb::Status s;
  for (int setups = 0; setups < kMaxSetups; ++setups) {
    std::unique_ptr<Connection> connection;
    s = replica->transport->Connect(target.address, target.connect_timeout,
                                    target.cancelled, &connection);
    if (s.ok()) {
      const uint64_t shown = connection->peer_replica_id();
      if (shown_id != nullptr && shown != 0) *shown_id = shown;
      s = Link::Open(replica, std::move(connection), link);
    }
    if (!s.IsTryAgain() || target.cancelled()) break;
  }
  return s;
}

}  // namespace rocksync
