// Serves the connections that peers and operators' tools open to this replica.
// Each accepted connection has a thread that answers what is asked over it,
// except those of idle peers (idle_links.h). The number of threads is bounded.
// Connections that have not proven the cluster's secret yet are few and have
// little time, and they never keep a later one out.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_ACCEPTOR_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_ACCEPTOR_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "replication/admin/admin_server.h"
#include "replication/clone/clone_source.h"
#include "replication/peering/link.h"
#include "replication/peering/log.h"
#include "replication/peering/open_connections.h"
#include "replication/peering/replicator_context.h"
#include "replication/replicator/idle_links.h"
#include "replication/replicator/incoming_connection.h"
#include "replication/replicator/unauthenticated_connections.h"
#include "rocksync/transport.h"

namespace rocksync {

class Acceptor {
 public:
  // `session_ended` is called after each session, with the peer's replica id.
  // `replica` must outlive this.
  Acceptor(ReplicatorContext* replica,
           std::function<void(uint64_t, const SessionResult&)> session_ended,
           VerifyCall verify)
      : replica_(replica),
        session_ended_(std::move(session_ended)),
        clones_(replica),
        admin_server_(replica, &clones_, std::move(verify)),
        idle_links_(std::make_shared<IdleLinks>(
            replica,
            [this](Link* link, std::string first) {
              return ServeOne(link, std::move(first));
            })),
        unauthenticated_(
            std::make_shared<UnauthenticatedConnections>(kMaxUnauthenticated)) {
  }

  ~Acceptor() { Join(); }

  // Called before the first Receive.
  void Start() { clones_.Start(); }

  // Begins to serve a connection. From any thread; returns at once.
  void Receive(IncomingConnection incoming);

  std::vector<ServedClone> ServedClones() const { return clones_.Served(); }

  // Waits for the threads, which end when their connections are closed and
  // `replica->stopping` is set. The database may be gone once this returns.
  // REQUIRES: no Receive runs any more.
  void Join();

 private:
  // The most connections that have not proven the secret, at a port that is not
  // shared.
  static constexpr size_t kMaxUnauthenticated = 16;

  // Serves one connection.
  struct Server {
    std::thread thread;
    std::atomic<bool> over{false};
    // Guarded by mutex_; false: authenticating, or about to end.
    bool authenticated = false;
  };

  // REQUIRES: mutex_ is held.
  size_t CountAuthenticated() const;
  bool Full() const;

  // Ends the authentication. Returns true if the peer may stay: it has proven
  // the secret, was not dropped meanwhile, and there is room for it.
  bool Conclude(bool proven, UnauthenticatedPlace* place, Server* server);
  void Serve(IncomingConnection incoming, Server* server);
  rocksdb::Status ServeReplica(ListedConnection connection, std::string first,
                               Server* server);
  // Keeps the link without the server's thread. Returns false if its transport
  // cannot do that.
  bool LeaveIdle(std::unique_ptr<Link>* link, Server* server);
  // Serves one session or stream. Returns true if the link may be kept.
  bool ServeOne(Link* link, std::string first);
  SessionSlot SlotFor(uint64_t peer_id);

  ReplicatorContext* const replica_;
  const std::function<void(uint64_t, const SessionResult&)> session_ended_;
  CloneSource clones_;
  AdminServer admin_server_;
  RefusalLog refusals_;
  const std::shared_ptr<IdleLinks> idle_links_;
  // The unauthenticated connections that did not come over a shared port.
  const std::shared_ptr<UnauthenticatedConnections> unauthenticated_;
  std::mutex mutex_;
  std::list<Server> servers_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_ACCEPTOR_H_
