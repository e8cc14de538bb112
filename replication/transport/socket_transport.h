// The Transport over sockets, TLS or plain: dials, listens, keeps the bounds.
// One thread runs everything asynchronous.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_TRANSPORT_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "replication/transport/byte_stream.h"
#include "rocksdb/status.h"
#include "rocksync/tls_transport.h"
#include "rocksync/transport.h"

namespace rocksync {

struct SocketTransportOptions {
  std::function<std::unique_ptr<ByteStream>(asio::io_context*)> new_stream;
  std::function<bool(uint64_t replica_id, const std::string& address)> allow;
  std::function<void(const rocksdb::Status& why)> refused;
  SocketLimits limits;
  uint64_t replica_id = 0;  // what our certificate says
  // Empty: there is none.
  std::function<CertificateState()> certificate;
  std::function<void(std::shared_ptr<rocksdb::Logger>)> set_logger;
};

// InvalidArgument names a limit that cannot be; Aborted: the system gives no
// thread or no descriptor. A child of fork cannot use it: Connect and Listen
// are NotSupported there, and the last reference leaks it.
rocksdb::Status NewSocketTransport(const SocketTransportOptions& options,
                                   std::shared_ptr<Transport>* transport);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_TRANSPORT_H_
