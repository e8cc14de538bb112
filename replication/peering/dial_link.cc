#include "replication/peering/dial_link.h"

#include <utility>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

// The most set-ups in a row. Each is repeated because one of the two learned of
// a newer member list. Even after several missed lists a few suffice, since
// each set-up installs the newest list that either side has.
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
