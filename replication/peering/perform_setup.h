// Runs the set-up over a connection: finds out which replica the peer is, and
// whether the two may replicate.

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
  bool peer_is_copy = false;  // a copy or an older state, and refused for it
  SessionSeed seed{};
  // View of the families, member list and stable time that both agreed upon.
  std::unique_ptr<ReplicaView> view;
  // What each side announced.
  Announcement mine;
  Announcement theirs;
};

// Runs the set-up. Returns InvalidArgument if one of the two refuses the other;
// the message names the cause and the remedy, and the peer has been told.
// Returns TryAgain if one of the two installed the other's member list, or if
// what one said was overtaken on another connection; connect anew. Other
// errors: the connection failed. `first` is the peer's first message if it was
// received before, else empty.
rocksdb::Status PerformSetup(ReplicatorContext* replica, Role role,
                             Connection* connection, std::string first,
                             SetupResult* met);

// Agrees on the stable time with a peer that was not refused. `mine` and
// `theirs` are the announcements of the two.
rocksdb::Status AgreeWith(ReplicatorContext* replica, uint64_t peer_id,
                          const IncarnationId& peer_incarnation,
                          const Announcement& mine, const Announcement& theirs,
                          ReplicaView* view);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_PERFORM_SETUP_H_
