#include "rocksync/tls_transport.h"

#include "replication/transport/certificate.h"
#include "replication/transport/identity.h"
#include "replication/transport/socket_transport.h"
#include "replication/transport/tls_context.h"

namespace rocksync {

rocksdb::Status NewTlsTransport(const TlsTransportOptions& options,
                                std::shared_ptr<Transport>* transport) {
  std::shared_ptr<const TlsContext> tls;
  rocksdb::Status s =
      TlsContext::Load(options.ca_file, options.certificate_file,
                       options.private_key_file, &tls);
  if (!s.ok()) return s;
  SocketTransportOptions socket;
  socket.new_stream = [tls](asio::io_context* context) {
    return NewTlsStream(context, tls);
  };
  socket.replica_id = tls->replica_id();
  socket.allow = options.allow;
  socket.refused = options.refused;
  socket.limits = options.limits;
  return NewSocketTransport(socket, transport);
}

rocksdb::Status NewInsecurePlaintextTransport(
    const PlaintextTransportOptions& options,
    std::shared_ptr<Transport>* transport) {
  SocketTransportOptions socket;
  socket.new_stream = NewPlainStream;
  socket.refused = options.refused;
  socket.limits = options.limits;
  return NewSocketTransport(socket, transport);
}

rocksdb::Status ReadReplicaId(const std::string& certificate_file,
                              uint64_t* replica_id) {
  X509Ptr certificate;
  rocksdb::Status s = ReadCertificate(certificate_file, &certificate);
  if (s.ok()) s = ReplicaIdOf(certificate.get(), replica_id);
  return s;
}

}  // namespace rocksync
