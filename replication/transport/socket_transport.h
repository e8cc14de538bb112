// The Transport over sockets, TLS or plain: dials, listens, and enforces the
// limits. One thread runs everything asynchronous.

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
  uint64_t replica_id = 0;  // that this side's certificate names
  // The state of the certificate. Empty: there is no certificate.
  std::function<CertificateState()> certificate;
  std::function<void(std::shared_ptr<rocksdb::Logger>)> set_logger;
};

// Creates a transport. Returns InvalidArgument if a limit is out of range (the
// message names it), and Aborted if the system gives no thread or descriptor. A
// child of fork cannot use the transport: Connect and Listen are NotSupported
// there, and the last reference leaks it.
rocksdb::Status NewSocketTransport(const SocketTransportOptions& options,
                                   std::shared_ptr<Transport>* transport);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_SOCKET_TRANSPORT_H_
