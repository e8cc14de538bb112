// The threads that dial peers for sessions, each peer when it is due
// (peer_list.h). Whenever all threads are busy, one more is started, up to a
// bound, since a peer that does not answer keeps a thread for seconds.

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

// Owns the threads and the list of peers. Thread-safe but for Start and Join.
// `replica` must outlive it.
class SessionDialers {
 public:
  SessionDialers(ReplicatorContext* replica, uint64_t seed);
  ~SessionDialers() { Join(); }

  // Starts to dial. Returns Aborted if the system gives no thread.
  rocksdb::Status Start();

  // Replaces the peers, each address once. The dialer of a removed peer is
  // retired, and hangs up when the caller releases it.
  PeerList::Change SetPeers(const std::vector<std::string>& addresses);
  std::vector<PeerList::Peer> peers() const;

  // Requests a session with the peer of this number soon.
  void AskForSession(size_t number);
  // Retries failed sessions now: what kept this replica from sessions is over.
  void RetryFailed();
  // Records how a session that this replica dialed, or tried to, ended.
  void RecordSession(size_t number, const SessionResult& result);
  // Records how a session that a peer dialed ended: if without an error, that
  // peer need not be dialed so soon.
  void RecordIncomingSession(uint64_t replica_id, const SessionResult& result);

  // Calls `meet` with the dialer of a peer that a call names. `meet` also gets
  // the peer's number if the peer is in the list.
  SessionResult WithDialer(
      const std::string& address,
      const std::function<SessionResult(Dialer*, std::optional<size_t>)>& meet);

  // Wakes the threads: the replica is not paused any more.
  void Wake();

  // Waits for the threads, which end when connections are closed.
  // REQUIRES: `replica->stopping` is set, unless it was never started.
  void Join();

 private:
  void Loop();
  // Sleeps until a peer is due; nullopt: look again.
  std::optional<PeerList::Peer> AwaitDue();
  // Makes sure that a thread waits for the next peer that is due.
  // REQUIRES: mutex_ is held.
  void KeepOneFree();
  // Runs one session with a peer that is due.
  void RunSession(const PeerList::Peer& peer);

  ReplicatorContext* const replica_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PeerList peers_;
  std::vector<std::thread> threads_;
  size_t free_ = 0;  // number of threads not in a session
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SESSION_DIALERS_H_
