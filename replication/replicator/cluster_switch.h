// What a shared listener is made of: takes the connections that come to one
// port, hears which cluster each is for, and hands it to that one's replicator.

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

// Thread-safe.
class ClusterSwitch {
 public:
  using Accept = std::function<void(IncomingConnection)>;

  ClusterSwitch(std::shared_ptr<Transport> transport,
                size_t max_unauthenticated);
  ~ClusterSwitch();

  // Once. Errors as Transport::Listen.
  rocksdb::Status Listen(const std::string& address);

  // From now on `accept` is called, one call at a time and on any thread, with
  // each connection for this cluster, of which it keeps `max_accepted`; it must
  // return soon. InvalidArgument: somebody accepts them already.
  rocksdb::Status Add(const std::string& cluster, size_t max_accepted,
                      Accept accept);
  // `accept` is not called any more once this returns.
  void Remove(const std::string& cluster);
  std::vector<std::string> Clusters() const;

  const std::shared_ptr<Transport>& transport() const { return transport_; }
  SharedLog* log() const { return log_.get(); }

 private:
  // The database of one cluster.
  struct Listener {
    size_t max_accepted = 0;
    std::mutex mutex;  // held while calling
    Accept accept;     // empty: removed
  };
  // Serves one connection, until it is known whose it is.
  struct Server {
    std::thread thread;
    std::atomic<bool> over{false};
  };

  // Tells the transport how many connections all databases keep. REQUIRES:
  // mutex_ is held.
  void SumMaxAccepted();
  void Receive(std::unique_ptr<Connection> connection);
  void Serve(IncomingConnection incoming);
  // False: nobody accepts it, and it is still there.
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
