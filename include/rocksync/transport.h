// How frames get from one replica to another. The bundled transport
// (rocksync/tls_transport.h) speaks TLS 1.3 over TCP; an application may bring
// its own.

#ifndef ROCKSYNC_TRANSPORT_H_
#define ROCKSYNC_TRANSPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace rocksync {

// No frame is larger; a transport refuses to receive one before it allocates
// anything for it.
inline constexpr size_t kMaxFrameBytes = size_t{16} << 20;

// A new connection receives no larger frame than this, until SetFrameLimit is
// called: a certificate alone gives no right to more.
inline constexpr size_t kMaxUnauthenticatedFrameBytes = size_t{2} << 10;

// The limit that replicators set for what is said outside of sessions, once the
// peer has proven the cluster's secret.
inline constexpr size_t kMaxSetupFrameBytes = size_t{4} << 20;

// An ordered, reliable stream of frames between two replicas. One thread may
// send while another receives; Close may be called from any thread and makes
// pending and later calls return Aborted.
class Connection {
 public:
  virtual ~Connection() = default;

  // Sends one frame of 1 to kMaxFrameBytes bytes. Blocks while the peer is
  // slow. TimedOut after `timeout`, see also SetFrameTimeout; IOError names the
  // peer and the cause. After an error the connection is of no more use.
  virtual rocksdb::Status Send(const rocksdb::Slice& frame,
                               std::chrono::milliseconds timeout) = 0;

  // Waits for one frame. TimedOut: none came within `timeout`, see also
  // SetFrameTimeout; the connection is still good if no part of one had come.
  // With a timeout of 0 it only looks whether one has come, and the connection
  // is good in any case; what has come of it is not lost. Corruption: the peer
  // sent what is not a frame, or one that is too large; nothing is allocated
  // for that one, and the connection is of no more use.
  virtual rocksdb::Status Receive(std::string* frame,
                                  std::chrono::milliseconds timeout) = 0;

  // The largest frame that is received from now on, at most kMaxFrameBytes; on
  // a new connection kMaxUnauthenticatedFrameBytes. Not while a Receive is
  // under way. No limit for what is sent.
  virtual void SetFrameLimit(size_t bytes) = 0;

  // The longest time for one frame, from now on. Send and Receive return
  // TimedOut after `timeout` without progress, or after this time in all, if it
  // is longer. Progress is a byte of the frame, or of earlier frames that the
  // peer's machine acknowledges. 0, as on a new connection: `timeout` counts
  // alone. Not while a Receive or Send is under way. A transport that cannot
  // tell how far a frame has come does nothing.
  virtual void SetFrameTimeout(std::chrono::milliseconds /*time*/) {}

  // From now on the peer sends at times of its own, and not only in answer. So
  // its silence is measured by what comes from it alone: for Receive, what its
  // machine acknowledges is no progress, as a frozen process's machine
  // acknowledges, too. Otherwise as SetFrameTimeout.
  virtual void SetPeerSendsUnasked() {}

  // The replica id that the transport authenticated, or 0 if it does not
  // authenticate.
  virtual uint64_t peer_replica_id() const = 0;

  // For messages: address or name of the peer.
  virtual std::string peer_name() const = 0;

  // Bytes on the wire so far, the transport's own included where it knows them.
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;

  virtual void Close() = 0;

  // Has `come` called once, on a thread of the transport, as soon as Receive
  // would not have to wait: a whole frame has come, also before this call, or
  // the connection has ended. Part of a frame is nothing yet. `come` must
  // return soon, and may be called before this returns and after the connection
  // is gone. Not while a Receive is under way, and no Receive until it was
  // called; Close is allowed, and has it called.
  //
  // False: this transport cannot tell, and `come` is not called. Then each
  // connection that a replicator accepts costs it a thread that waits in
  // Receive; else those that are idle cost none.
  virtual bool WhenReceivable(std::function<void()> /*come*/) { return false; }
};

// The certificate that a transport shows to peers.
struct CertificateState {
  // When peers do not accept it any more, milliseconds since the Unix epoch:
  // the earliest end of validity in its chain, its own or its CA's. 0: there is
  // none.
  uint64_t expires_ms = 0;
  // Which of them that is: "the certificate in FILE", or "the CA in FILE
  // (NAME)", with which the certificates of all peers end. Empty: there is
  // none.
  std::string first_to_expire;
  // How often files that were changed on disk were taken into use.
  uint64_t renewals = 0;
  // Why the files that are on disk now are not in use, and earlier ones are;
  // empty: they are in use.
  std::string error;
};

// Is `address` one that the bundled transports can connect to, by its form:
// "host:port" or "[IPv6]:port", with a port other than 0? Uses no network; a
// name is not resolved. InvalidArgument quotes the address and says what to
// write. For options of a program, before it has a transport. Thread-safe.
rocksdb::Status CheckHostPort(const std::string& address);

// Makes connections. Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // Connects to `address` (the transport's own notation, "host:port" for the
  // bundled one) and returns when the peer has let us in. IOError: nothing
  // listens there; NotSupported: the other end speaks another protocol;
  // InvalidArgument: a malformed address, or one side refuses the other's
  // certificate; Busy: the peer has too many connections; TimedOut; Aborted:
  // `cancelled`, which may be empty and is polled several times a second,
  // returned true. The message names the address and what to do.
  virtual rocksdb::Status Connect(const std::string& address,
                                  std::chrono::milliseconds timeout,
                                  const std::function<bool()>& cancelled,
                                  std::unique_ptr<Connection>* connection) = 0;

  // Is `address` one that Connect can go to, by its form? Uses no network.
  // InvalidArgument quotes the address and says what to write.
  virtual rocksdb::Status CheckAddress(const std::string& address) const {
    if (!address.empty()) return rocksdb::Status::OK();
    return rocksdb::Status::InvalidArgument("address \"\" is empty",
                                            "write the peer's address");
  }

  // Tells the transport how many accepted connections the listener keeps at
  // once, so that a limit of its own can match. Called before Listen and, with
  // a shared listener, again as databases come and go; a replicator says its
  // max_accepted. A transport that has no such bound does nothing.
  virtual void SetMaxAccepted(size_t /*connections*/) {}

  // Starts to listen; `accept` is called on a thread of the transport for each
  // authenticated connection and must return soon. Again only after
  // StopListening. IOError names an address that is taken or is not ours.
  virtual rocksdb::Status Listen(
      const std::string& address,
      std::function<void(std::unique_ptr<Connection>)> accept) = 0;

  // The address listened on, with the port the system chose if 0 was asked
  // for; empty if not listening.
  virtual std::string listen_address() const = 0;

  // The replica id that peers will see in peer_replica_id, 0 if none.
  virtual uint64_t replica_id() const { return 0; }

  // Of the certificate that new connections show. Brief: statistics ask.
  virtual CertificateState certificate() const { return {}; }

  // Where the transport writes what an operator should know, such as renewed
  // certificates; null: nowhere any more, once this returns. A replicator gives
  // its database's info log for as long as it runs. The transport of an
  // application need not log.
  virtual void SetLogger(std::shared_ptr<rocksdb::Logger> /*logger*/) {}

  // Stops listening; `accept` is not called any more once this returns.
  virtual void StopListening() = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TRANSPORT_H_
