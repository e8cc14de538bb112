// The set-up of a connection, carried over it: which replica the peer is,
// and whether the two may replicate.

#ifndef ROCKSYNC_REPLICATION_PEERING_PERFORM_SETUP_H_
#define ROCKSYNC_REPLICATION_PEERING_PERFORM_SETUP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "replication/membership/announcement.h"
#include "replication/peering/replicator_context.h"
#include "replication/session/session.h"
#include "replication/store/store_access.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SetupResult {
  uint64_t peer_id = 0;
  IncarnationId peer_incarnation;
  uint64_t peer_capabilities = 0;
  bool peer_is_copy = false;  // and was refused; or an older state of a replica
  SessionSeed seed{};
  // Of the families, member list and stable time that both agreed upon.
  std::unique_ptr<ReplicaView> view;
  // What both said of themselves.
  Announcement mine;
  Announcement theirs;
};

// InvalidArgument: one of the two refuses the other, the message names what
// and the remedy; the peer has been told. TryAgain: one of the two has taken
// over the other's member list, or what one said was overtaken on another
// connection; connect anew. Others: the connection failed. `first`: of the
// peer's messages, if it was received before; else empty.
rocksdb::Status PerformSetup(ReplicatorContext* replica, Role role,
                             Connection* connection, std::string first,
                             SetupResult* met);

// Agrees on the stable time with a peer that may be met. `mine`, `theirs`: what
// the two said of themselves.
rocksdb::Status AgreeWith(ReplicatorContext* replica, uint64_t peer_id,
                          const IncarnationId& peer_incarnation,
                          const Announcement& mine, const Announcement& theirs,
                          ReplicaView* view);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_PERFORM_SETUP_H_
