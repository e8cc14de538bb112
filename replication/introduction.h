// The set-up of a connection, carried over it: who is there, and is it to be
// talked to.

#ifndef ROCKSYNC_REPLICATION_INTRODUCTION_H_
#define ROCKSYNC_REPLICATION_INTRODUCTION_H_

#include <cstdint>
#include <memory>

#include "replication/protocol/forgetting.h"
#include "replication/protocol/session.h"
#include "replication/replica.h"
#include "replication/store/store_access.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

struct Introduction {
  uint64_t peer_id = 0;
  Incarnation peer_life;
  SessionSeed seed{};
  // Of the families, member list and horizon both agreed upon.
  std::unique_ptr<ReplicaView> view;
  // What both said of themselves.
  Announcement mine;
  Announcement theirs;
};

// InvalidArgument: one of the two refuses the other, the message names what
// and the remedy; the peer has been told. TryAgain: one of the two has taken
// over the other's member list, or what one said was overtaken on another
// connection; connect anew. Others: the connection failed.
rocksdb::Status Introduce(Replica* replica, Role role, Connection* connection,
                          Introduction* met);

// Both have said this of themselves, and they may meet: agrees on the horizon.
rocksdb::Status AgreeWith(Replica* replica, uint64_t peer_id,
                          const Incarnation& peer_life,
                          const Announcement& mine, const Announcement& theirs,
                          ReplicaView* view);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_INTRODUCTION_H_
