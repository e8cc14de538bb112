// A blocking Connection over an asynchronous FrameStream.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_CONNECTION_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_CONNECTION_H_

#include <asio/io_context.hpp>
#include <cstdint>
#include <memory>

#include "replication/transport/frame_stream.h"
#include "rocksync/transport.h"

namespace rocksync {

// Makes a connection of a stream whose opening has succeeded. To be called on
// the transport's thread. `context` runs on that thread until all its streams
// are closed.
std::unique_ptr<Connection> NewSocketConnection(
    std::shared_ptr<asio::io_context> context,
    std::shared_ptr<FrameStream> stream, uint64_t peer_replica_id);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_CONNECTION_H_
