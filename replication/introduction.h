// The set-up of a connection, carried over it: who is there, and is it to be
// talked to.

#ifndef ROCKSYNC_REPLICATION_INTRODUCTION_H_
#define ROCKSYNC_REPLICATION_INTRODUCTION_H_

#include <cstdint>
#include <memory>

#include "replication/protocol/session.h"
#include "replication/protocol/storage_view.h"
#include "replication/replica.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

struct Introduction {
  uint64_t peer_id = 0;
  SessionSeed seed{};
  std::unique_ptr<StorageView> view;  // of the families both agreed upon
};

// InvalidArgument: one of the two refuses the other, the message names what
// and the remedy; the peer has been told. Others: the connection failed.
rocksdb::Status Introduce(Replica* replica, Role role, Connection* connection,
                          Introduction* met);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_INTRODUCTION_H_
