// One peer that this replica goes to: its address, and the link to it, kept
// open between sessions.

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

// Thread-safe: one session at a time, others wait. In a callback, of whatever
// database, they do not wait for long: whoever meets may be waiting for what
// the callback holds up. `replica` must outlive it.
class Dialer {
 public:
  Dialer(ReplicatorContext* replica, std::string address)
      : replica_(replica), address_(std::move(address)) {}

  // One session with the peer, connecting first if there is no link.
  SessionResult RunSession();
  // The same, but only to compare: see Link::Compare. Busy if another session
  // goes on, which may take as long as there is to ship.
  SessionResult Compare(const VerifyTask& task, VerifiedPeer* peer,
                        SessionReport* report);

  // Closes the link that is kept open, unless somebody uses it.
  void HangUp();

  // Its address was taken from the list of peers: an attempt to connect is
  // given up, no session begins, and what becomes of it is neither counted nor
  // logged.
  void Retire() { retired_ = true; }
  bool retired() const { return retired_; }

  const std::string& address() const { return address_; }
  // 0 until first met.
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
  bool busy_ = false;           // under mutex_
  std::unique_ptr<Link> link_;  // whoever meets uses it
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_DIALER_H_
