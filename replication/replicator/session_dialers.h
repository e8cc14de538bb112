// The threads that go to peers for sessions, each peer when it is due
// (peer_list.h). One more thread is begun whenever all are busy, up to a bound,
// as a peer that does not answer keeps one for seconds.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SESSION_DIALERS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SESSION_DIALERS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "replication/replicator/dialer.h"
#include "replication/replicator/peer_list.h"
#include "rocksdb/status.h"

namespace rocksync {

// Thread-safe but for Start and Join. `replica` must outlive it.
class SessionDialers {
 public:
  SessionDialers(ReplicatorContext* replica, uint64_t seed);
  ~SessionDialers() { Join(); }

  // Aborted: there is no thread for it.
  rocksdb::Status Start();

  // From now on these, each address once. Who was removed is retired, and hangs
  // up when the caller lets go of it.
  PeerList::Change SetPeers(const std::vector<std::string>& addresses);
  std::vector<PeerList::Peer> peers() const;

  // A session with the peer of this number is wanted soon.
  void AskForSession(size_t number);
  // What kept this replica from sessions is over.
  void RetryFailed();
  // How a session ended that this replica dialed for, or tried to have.
  void RecordSession(size_t number, const SessionResult& result);
  // The same of one that a replica came here for: no need to go to it so soon.
  void RecordIncomingSession(uint64_t replica_id, const SessionResult& result);

  // Meets a peer that a call names, and which may be in the list (then it has a
  // number) or not.
  SessionResult WithDialer(
      const std::string& address,
      const std::function<SessionResult(Dialer*, std::optional<size_t>)>& meet);

  // The replica is not paused any more.
  void Wake();

  // Waits for the threads, which end when connections are closed. REQUIRES:
  // `replica->stopping` is set, unless it was never started.
  void Join();

 private:
  void Loop();
  // Sleeps until a peer is due; nullopt: look again.
  std::optional<PeerList::Peer> AwaitDue();
  // Has somebody look for the next peer that is due. REQUIRES: mutex_ is held.
  void KeepOneFree();
  // One session with a peer that is due.
  void RunSession(const PeerList::Peer& peer);

  ReplicatorContext* const replica_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PeerList peers_;
  std::vector<std::thread> threads_;
  size_t free_ = 0;  // of the threads
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SESSION_DIALERS_H_
