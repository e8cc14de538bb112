#include "rocksync/tls_transport.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "replication/transport/certificate.h"
#include "replication/transport/identity.h"
#include "replication/transport/socket_transport.h"
#include "replication/transport/tls_files.h"

namespace rocksync {
namespace {

using Told = std::function<void(const rocksdb::Status& why)>;

// Ends a child of fork that returns from a callback: it would go on as the
// transport of its parent, with which it shares all sockets.
void EndForkedChild(pid_t parent) {
  if (::getpid() == parent) return;
  std::fputs(
      "rocksync: a child of fork has returned from a callback of a transport, "
      "which is its parent's: let it exec there, or leave by _exit\n",
      stderr);
  std::abort();
}

Told EndingForkedChild(const Told& told) {
  if (told == nullptr) return nullptr;
  return [told, parent = ::getpid()](const rocksdb::Status& why) {
    told(why);
    EndForkedChild(parent);
  };
}

}  // namespace

rocksdb::Status NewTlsTransport(const TlsTransportOptions& options,
                                std::shared_ptr<Transport>* transport) {
  std::unique_ptr<TlsFiles> loaded;
  rocksdb::Status s = TlsFiles::Load(
      options.ca_file, options.certificate_file, options.private_key_file,
      EndingForkedChild(options.renewed), &loaded);
  if (!s.ok()) return s;
  const std::shared_ptr<TlsFiles> files = std::move(loaded);
  SocketTransportOptions socket;
  socket.new_stream = [files](asio::io_context* context) {
    return NewTlsStream(context, files->Current());
  };
  socket.replica_id = files->Current()->replica_id();
  socket.certificate = [files] { return files->State(); };
  socket.set_logger = [files](std::shared_ptr<rocksdb::Logger> logger) {
    files->SetLogger(std::move(logger));
  };
  if (options.allow != nullptr) {
    socket.allow = [allow = options.allow, parent = ::getpid()](
                       uint64_t replica_id, const std::string& address) {
      const bool allowed = allow(replica_id, address);
      EndForkedChild(parent);
      return allowed;
    };
  }
  socket.refused = [files, told = EndingForkedChild(options.refused)](
                       const rocksdb::Status& why) {
    files->LogRefusal(why);
    if (told != nullptr) told(why);
  };
  socket.limits = options.limits;
  return NewSocketTransport(socket, transport);
}

rocksdb::Status NewInsecurePlaintextTransport(
    const PlaintextTransportOptions& options,
    std::shared_ptr<Transport>* transport) {
  SocketTransportOptions socket;
  socket.new_stream = NewPlainStream;
  socket.refused = EndingForkedChild(options.refused);
  socket.limits = options.limits;
  return NewSocketTransport(socket, transport);
}

rocksdb::Status ReadReplicaId(const std::string& certificate_file,
                              uint64_t* replica_id) {
  if (certificate_file.empty()) {
    return rocksdb::Status::InvalidArgument(
        "the name of the certificate's file is empty",
        "give the PEM file of a replica's certificate");
  }
  X509Ptr certificate;
  rocksdb::Status s = ReadCertificate(certificate_file, &certificate);
  if (s.ok()) s = ReplicaIdOf(certificate.get(), replica_id);
  return s;
}

}  // namespace rocksync
