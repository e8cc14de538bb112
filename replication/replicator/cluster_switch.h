// The core of a shared listener: accepts the connections that come to one port,
// reads which cluster each names, and hands it to that cluster's replicator.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_SWITCH_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_SWITCH_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/peering/log.h"
#include "replication/replicator/incoming_connection.h"
#include "replication/replicator/shared_log.h"
#include "replication/replicator/unauthenticated_connections.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// Assigns connections to clusters. Thread-safe.
class ClusterSwitch {
 public:
  using Accept = std::function<void(IncomingConnection)>;

  ClusterSwitch(std::shared_ptr<Transport> transport,
                size_t max_unauthenticated);
  ~ClusterSwitch();

  // Begins to listen. To be called once. Errors as Transport::Listen.
  rocksdb::Status Listen(const std::string& address);

  // Calls `accept` from now on with each connection for this cluster, one call
  // at a time and on any thread; it must return soon. It keeps `max_accepted`
  // of them. InvalidArgument: the cluster has been added already.
  rocksdb::Status Add(const std::string& cluster, size_t max_accepted,
                      Accept accept);
  // Removes the cluster. Its `accept` is not called any more once this returns.
  void Remove(const std::string& cluster);
  std::vector<std::string> Clusters() const;

  const std::shared_ptr<Transport>& transport() const { return transport_; }
  SharedLog* log() const { return log_.get(); }

 private:
  // The database of one cluster.
  struct Listener {
    size_t max_accepted = 0;
    std::mutex mutex;  // held while `accept` is called
    Accept accept;     // empty: removed
  };
  // The thread that serves one connection until its cluster is known.
  struct Server {
    std::thread thread;
    std::atomic<bool> over{false};
  };

  // Tells the transport how many connections all databases keep.
  // REQUIRES: mutex_ is held.
  void SumMaxAccepted();
  void Receive(std::unique_ptr<Connection> connection);
  void Serve(IncomingConnection incoming);
  // Hands the connection to the cluster's replicator. Returns false, and leaves
  // `*incoming` as it is, if there is none.
  bool HandOver(const std::string& cluster, IncomingConnection* incoming);

  const std::shared_ptr<Transport> transport_;
  const std::shared_ptr<SharedLog> log_ = std::make_shared<SharedLog>();
  const size_t max_unauthenticated_;
  const size_t max_servers_;
  const std::shared_ptr<UnauthenticatedConnections> unauthenticated_;
  bool listening_ = false;
  std::atomic<bool> closing_{false};
  RefusalLog refusals_;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Listener>> listeners_;  // by cluster
  std::list<Server> servers_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_CLUSTER_SWITCH_H_
