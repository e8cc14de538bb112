// Dials one peer: keeps its address, and the link to it, which stays open
// between sessions.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_DIALER_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_DIALER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "replication/peering/verified_peer.h"

namespace rocksync {

// Runs one session with the peer at a time; other callers wait. A caller within
// a callback, of whatever database, does not wait for long: the running session
// may itself be waiting for what the callback holds up. Thread-safe. `replica`
// must outlive it.
class Dialer {
 public:
  Dialer(ReplicatorContext* replica, std::string address)
      : replica_(replica), address_(std::move(address)) {}

  // Runs one session with the peer, and connects first if there is no link.
  SessionResult RunSession();
  // Runs one session that only compares (see Link::Compare), and connects first
  // if there is no link. Busy if another session goes on, which may last for as
  // long as there are pairs to ship.
  SessionResult Compare(const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report);

  // Closes the link that is kept open, unless a session uses it.
  void HangUp();

  // Notes that the address was removed from the list of peers. From then on an
  // attempt to connect is given up, no session begins, and failures are neither
  // counted nor logged.
  void Retire() { retired_ = true; }
  bool retired() const { return retired_; }

  const std::string& address() const { return address_; }
  // Returns the peer's replica id, 0 until it is first met.
  uint64_t peer_id() const { return peer_id_; }

 private:
  SessionResult Run(bool patient,
                    const std::function<SessionResult()>& session);
  SessionResult RunInSlot(const std::function<SessionResult()>& session);
  SessionResult RunAlone(const std::function<SessionResult()>& session);
  rocksdb::Status Connect();
  SessionResult Fail(const rocksdb::Status& status, bool index_build);

  ReplicatorContext* const replica_;
  const std::string address_;
  std::atomic<uint64_t> peer_id_{0};
  std::atomic<bool> retired_{false};
  std::mutex mutex_;
  std::condition_variable free_;
  bool busy_ = false;           // guarded by mutex_
  std::unique_ptr<Link> link_;  // used by the thread that set busy_
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_DIALER_H_
