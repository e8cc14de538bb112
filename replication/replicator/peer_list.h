// Whom a replicator goes to: the peers of its options or of SetPeers, when each
// is due, and other addresses that calls named.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_PEER_LIST_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_PEER_LIST_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replication/peering/replicator_context.h"
#include "replication/replicator/dialer.h"
#include "replication/replicator/schedule.h"

namespace rocksync {

// Not thread-safe, but what it hands out may be used, and let go, without the
// caller's lock: a dialer that is let go last hangs up.
class PeerList {
 public:
  struct Peer {
    size_t number;  // as in the schedule; never used again
    std::shared_ptr<Dialer> dialer;
  };
  // What a change of the list comes to.
  struct Change {
    std::vector<Peer> added;
    std::vector<Peer> removed;
  };

  // With the peers of the options, each address once. `replica` must outlive
  // it.
  PeerList(ReplicatorContext* replica, uint64_t seed, uint64_t now_ms);

  // From now on these, each address once. Who stays keeps number and schedule;
  // who is new is due now.
  Change Set(const std::vector<std::string>& addresses, uint64_t now_ms);

  std::vector<Peer> peers() const;

  // The peer that is due, and that somebody goes to it, until EndMeeting;
  // nullopt if none is.
  std::optional<Peer> BeginDue(uint64_t now_ms);
  std::optional<uint64_t> NextDueMs() const {
    return schedule_.NextDueMs(met_now_);
  }
  void EndMeeting(size_t number) { met_now_.erase(number); }

  // A session with this peer is wanted soon.
  void Ask(size_t number, uint64_t now_ms) { schedule_.Ask(number, now_ms); }
  // See schedule.h.
  void RetryFailed(uint64_t now_ms) { schedule_.RetryFailed(now_ms); }
  void Ended(size_t number, SessionOutcome outcome, uint64_t now_ms) {
    schedule_.Ended(number, outcome, now_ms);
  }
  // True if other peers have their turns first, so that a connection to this
  // one would be idle for long and may be closed.
  bool WaitsForItsTurn(size_t number) const {
    return schedule_.WaitsForItsTurn(number);
  }
  // A replica dialed this one and was proven equal: its own turn can wait.
  void RecordIncomingProof(uint64_t replica_id, uint64_t now_ms);

  // The dialer of an address, and its number if it is a peer's. A new one for
  // an address that is none; `*dropped`: one that had to go for it.
  std::shared_ptr<Dialer> DialerOf(const std::string& address,
                                   std::optional<size_t>* number,
                                   std::shared_ptr<Dialer>* dropped);

 private:
  ReplicatorContext* const replica_;
  Schedule schedule_;
  std::map<size_t, std::shared_ptr<Dialer>> dialers_;  // by number
  std::set<size_t> met_now_;                           // numbers
  // Of other addresses, the last used one last.
  std::deque<std::shared_ptr<Dialer>> others_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_PEER_LIST_H_
