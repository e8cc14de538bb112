// Serves the connections that peers and operators' tools open to this replica:
// a bounded number of threads, one for each accepted connection but for those
// of peers that are idle (idle_links.h), which answer what is asked over it.
// Connections that have not proven the cluster's secret
// yet are few and have little time, and they never keep a later one out.

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
#include "replication/peering/replica.h"
#include "replication/replicator/idle_links.h"
#include "rocksync/transport.h"

namespace rocksync {

class Acceptor {
 public:
  // `met` is called after each session, with the peer's replica id. `replica`
  // must outlive this.
  Acceptor(Replica* replica,
           std::function<void(uint64_t, const SessionResult&)> met,
           VerifyCall verify)
      : replica_(replica),
        met_(std::move(met)),
        clones_(replica),
        admin_server_(replica, &clones_, std::move(verify)),
        idle_links_(std::make_shared<IdleLinks>(
            replica, [this](Link* link, std::string first) {
              return ServeOne(link, std::move(first));
            })) {}

  ~Acceptor() { Join(); }

  // Before the first Receive.
  void Start() { clones_.Start(); }

  // From any thread; returns at once.
  void Receive(std::unique_ptr<Connection> connection);

  std::vector<ServedClone> ServedClones() const { return clones_.Served(); }

  // Waits for the threads, which end when their connections are closed and
  // `replica->stopping` is set. No Receive may run any more; after it the
  // database may be gone.
  void Join();

 private:
  struct Visit {
    std::thread thread;
    std::atomic<bool> over{false};
    // Under the lock:
    enum class State { kAuthenticating, kAuthenticated, kLeaving };
    State state = State::kAuthenticating;
    Connection* connection = nullptr;  // while authenticating
    uint64_t peer_id = 0;              // by its certificate
  };

  // With the lock held.
  size_t Count(Visit::State state) const;
  bool Full() const;
  // Makes room for one more that has not proven the secret, by OldestOfMost.
  void DropUnauthenticated();

  // The incoming peer of `visit` has proven the secret, or has to leave. False:
  // it has to leave.
  bool Conclude(bool proven, Visit* visit);
  void Serve(std::unique_ptr<Connection> incoming, Visit* visit);
  rocksdb::Status ServeReplica(ListedConnection connection, std::string first,
                               Visit* visit);
  // The link goes on without the visit's thread. False: it cannot.
  bool LeaveIdle(std::unique_ptr<Link>* link, Visit* visit);
  // A session or a stream. True: the link may be kept.
  bool ServeOne(Link* link, std::string first);
  SessionSlot SlotFor(uint64_t peer_id);

  Replica* const replica_;
  const std::function<void(uint64_t, const SessionResult&)> met_;
  CloneSource clones_;
  AdminServer admin_server_;
  RefusalLog refusals_;
  const std::shared_ptr<IdleLinks> idle_links_;
  std::mutex mutex_;
  std::list<Visit> visits_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_ACCEPTOR_H_
