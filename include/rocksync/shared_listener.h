// One port and one certificate for several databases of one process, each a
// replica of a cluster of its own. A peer names its cluster as it connects, and
// the connection goes to the database of that cluster.
//
//   std::shared_ptr<rocksync::Transport> transport;
//   rocksync::NewTlsTransport(tls, &transport);
//   std::shared_ptr<rocksync::SharedListener> listener;
//   rocksync::SharedListenerOptions at;
//   at.address = "10.0.0.1:7400";
//   rocksync::SharedListener::Start(at, transport, &listener);
//   // For each database, opened with new_replica_id = transport->replica_id():
//   options.shared_listener = listener;
//   rocksync::Replicator::Start(options, db, nullptr, &replicator);
//
// A certificate names one replica id, so all these databases have that id:
// ReplicatedDBOptions::new_replica_id gives it to a new database, and a clone
// (ReplicatedDB::Clone with transport()) gets it by itself. Their clusters are
// strangers to each other: each has a name and a secret of its own.

#ifndef ROCKSYNC_SHARED_LISTENER_H_
#define ROCKSYNC_SHARED_LISTENER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

class ClusterSwitch;

struct SharedListenerOptions {
  // Where to listen, in the transport's notation, e.g. "127.0.0.1:7400".
  std::string address;

  // Accepted connections, of all databases, that have not proven their
  // cluster's secret yet, each with a thread that mostly sleeps. If one more
  // comes, the certificate with most of them loses its oldest one, so that
  // silent dialers keep nobody out; a peer whose connection was closed dials
  // again. Raise it if many databases have peers over long links. At least 1,
  // and well below SocketLimits::max_connections, if that is set.
  size_t max_unauthenticated = 16;
};

// Thread-safe. It listens until the last reference to it goes: that of the
// application, or that of a replicator that was given it; not in a callback of
// the transport. The databases come and go by their replicators: starting one
// adds its cluster, stopping it removes it and closes its connections, and
// neither disturbs the others. Whoever connects for a cluster that has no
// replicator running here is told so, without the names of those that have,
// and the logs of all of them have a line about it, one a second at most.
//
// All databases of a listener have the one id that its certificate names. One
// whose disk is lost cannot come back under it, as its peers would take it for
// an older state: it needs a certificate, and a listen_address, of its own. If
// all of them are lost, a new certificate for the listener is enough.
//
// Each replicator's max_accepted holds for its database. The bundled transport
// takes the sum of these and max_unauthenticated, unless
// SocketLimits::max_connections says another number: with a smaller one peers
// of one cluster may take the places of another's.
class SharedListener {
 public:
  // Listens over `transport`, which then serves this alone: neither Listen nor
  // StopListening may be called on it. What its options say (allow, refused,
  // limits, renewed certificates) holds for all databases. InvalidArgument: the
  // transport is null or listens already, max_unauthenticated is 0, or the
  // address is malformed. IOError: the address is taken, or not this machine's.
  static rocksdb::Status Start(const SharedListenerOptions& options,
                               std::shared_ptr<Transport> transport,
                               std::shared_ptr<SharedListener>* listener);

  // Waits for calls of replicators and threads of its own that end at once.
  ~SharedListener();
  SharedListener(const SharedListener&) = delete;
  SharedListener& operator=(const SharedListener&) = delete;

  // With the port that the system chose if 0 was asked for.
  std::string address() const;

  // With which replicators dial, and a clone of a replica elsewhere is made.
  const std::shared_ptr<Transport>& transport() const;

  // Names of the clusters whose replicators listen here now, in ascending
  // order.
  std::vector<std::string> clusters() const;

 private:
  friend struct SharedListenerAccess;
  explicit SharedListener(std::shared_ptr<ClusterSwitch> clusters);

  const std::shared_ptr<ClusterSwitch> switch_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SHARED_LISTENER_H_
