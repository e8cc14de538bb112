// The bundled transport: frames over TLS 1.3 over TCP, both sides
// authenticated, and the same over plain TCP for those who ask for it by name.
//
// A replica's certificate is signed by the cluster's CA and names the replica
// in a subjectAltName of type URI, exactly one of the form
//   rocksync:replica:0123456789abcdef
// with 16 hex digits. Replicas dial and listen: an extendedKeyUsage, if there
// is one, must hold both serverAuth and clientAuth. Whoever holds the CA's key
// can be any replica; host names are not checked, as a replica is its id and
// not its address.

#ifndef ROCKSYNC_TLS_TRANSPORT_H_
#define ROCKSYNC_TLS_TRANSPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// Bounds that a socket transport keeps for any peer. No duration may be
// longer than kMaxDuration (rocksync/max_duration.h), a year.
struct SocketLimits {
  // From the first byte of TCP to the end of the handshake of an accepted
  // connection; a dialed one has the timeout given to Connect.
  std::chrono::milliseconds handshake_timeout{10'000};

  // A connection over which nothing came and nothing went for this long is
  // closed. Must be longer than the silence the application allows itself.
  std::chrono::milliseconds idle_timeout{300'000};

  // Accepted connections alive at once; more are told so and closed. 0: as many
  // as whoever listens says that it keeps (Transport::SetMaxAccepted), which of
  // a replicator is its max_accepted; 64 where nobody says.
  size_t max_connections = 0;

  // Accepted connections that have not finished their handshake; if one more
  // comes, the oldest of them is dropped, so that silent ones do not keep
  // others out.
  size_t max_handshakes = 32;
};

struct TlsTransportOptions {
  // PEM files. The CA file may hold several CAs, e.g. while one replaces
  // another; nothing else is trusted, the system's CAs are not. The
  // certificate file holds this replica's certificate first, then any
  // intermediate ones.
  std::string ca_file;
  std::string certificate_file;
  std::string private_key_file;

  // Asked, on a thread of the transport, for each peer whose certificate is
  // valid, dialed and accepted; false refuses it. Empty: all are allowed. This
  // is the place to shut out a replica whose key was stolen. A connection that
  // is open stays until it ends: to end all of them, start the replicator anew.
  std::function<bool(uint64_t replica_id, const std::string& address)> allow;

  // Told, on a thread of the transport, of each accepted connection that was
  // turned away before it reached the application, and why: its certificate is
  // of another CA, say. Empty: no call. For a log; it must return soon, and an
  // attacker can cause many calls. The database's info log has a line, too, one
  // a second at most.
  std::function<void(const rocksdb::Status& why)> refused;

  // Told, on a thread of the transport, of Connect or of a replicator's
  // statistics, that the files above were changed: OK if they are in use now,
  // or why not. Empty: no call.
  std::function<void(const rocksdb::Status& why)> renewed;

  SocketLimits limits;
};

// Addresses are "host:port", "127.0.0.1:7400" or "[::1]:7400"; port 0 lets the
// system choose when listening.
//
// Files that are renewed are taken up by the next connection, dialed or
// accepted; those that are open keep what they began with. While the new files
// do not fit one another, do not read or name another replica, the earlier ones
// stay in use, and each connection tries the new ones again. Replace them whole
// (rename), or write the certificate last.
// InvalidArgument: a missing option, or a file that is not what it should be,
// e.g. a key that belongs to another certificate; Expired: the certificate or
// its CA is no longer valid; IOError: a file that cannot be read. The message
// names the file. No thread, socket or signal of the application is touched;
// SIGPIPE is never raised. Connections may outlive the transport, but are
// closed when it goes. A child of fork cannot use it: Connect and Listen are
// NotSupported there, and its last reference leaks it. A child that is forked
// in one of the callbacks and returns from it ends with a message.
rocksdb::Status NewTlsTransport(const TlsTransportOptions& options,
                                std::shared_ptr<Transport>* transport);

// The replica id that a PEM certificate names.
rocksdb::Status ReadReplicaId(const std::string& certificate_file,
                              uint64_t* replica_id);

struct PlaintextTransportOptions {
  std::function<void(const rocksdb::Status& why)> refused;  // as above
  SocketLimits limits;
};

// Plain TCP: no certificates, no secrecy, no integrity. A peer still has to
// prove at the start of a connection that it knows the cluster's secret; a peer
// that knows it is taken for whichever replica it says it is, and an attacker
// on the path can read and change everything after that proof. For a network
// that protects itself (WireGuard, a service mesh), and for experiments. It
// never talks to a TLS transport: each names the other's fault and closes.
rocksdb::Status NewInsecurePlaintextTransport(
    const PlaintextTransportOptions& options,
    std::shared_ptr<Transport>* transport);

}  // namespace rocksync

#endif  // ROCKSYNC_TLS_TRANSPORT_H_
