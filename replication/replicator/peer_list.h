// The addresses that a replicator dials: the peers of its options or of
// SetPeers, with the time at which each is due, and other addresses that calls
// named.

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

// Not thread-safe, but the dialers that it hands out may be used and released
// without the caller's lock. A dialer hangs up when its last reference goes.
class PeerList {
 public:
  struct Peer {
    size_t number;  // as in the schedule; never reused
    std::shared_ptr<Dialer> dialer;
  };
  // The peers that a change of the list added and removed.
  struct Change {
    std::vector<Peer> added;
    std::vector<Peer> removed;
  };

  // Makes a list of the peers of the options, each address once. `replica` must
  // outlive it.
  PeerList(ReplicatorContext* replica, uint64_t seed, uint64_t now_ms);

  // Replaces the peers, each address once. A peer that stays keeps its number
  // and schedule; a new one is due now.
  Change Set(const std::vector<std::string>& addresses, uint64_t now_ms);

  std::vector<Peer> peers() const;

  // Returns a peer that is due, and counts it as being met until EndMeeting;
  // nullopt if none is due.
  std::optional<Peer> BeginDue(uint64_t now_ms);
  std::optional<uint64_t> NextDueMs() const {
    return schedule_.NextDueMs(met_now_);
  }
  void EndMeeting(size_t number) { met_now_.erase(number); }

  // Requests a session with this peer soon.
  void Ask(size_t number, uint64_t now_ms) { schedule_.Ask(number, now_ms); }
  // See schedule.h.
  void RetryFailed(uint64_t now_ms) { schedule_.RetryFailed(now_ms); }
  void Ended(size_t number, SessionOutcome outcome, uint64_t now_ms) {
    schedule_.Ended(number, outcome, now_ms);
  }
  // Returns true if other peers have their turns first: a connection to this
  // one would be idle for long and may be closed.
  bool WaitsForItsTurn(size_t number) const {
    return schedule_.WaitsForItsTurn(number);
  }
  // Records that a session which this replica id dialed ended without an error,
  // so that the peer's own turn can wait.
  void RecordIncomingProof(uint64_t replica_id, uint64_t now_ms);

  // Returns the dialer of an address, and the peer's number if it is a peer's.
  // Any other address gets a new dialer if it has none yet; `*dropped` is set
  // to the dialer, if any, that was removed to make room for it.
  std::shared_ptr<Dialer> DialerOf(const std::string& address,
                                   std::optional<size_t>* number,
                                   std::shared_ptr<Dialer>* dropped);

 private:
  ReplicatorContext* const replica_;
  Schedule schedule_;
  std::map<size_t, std::shared_ptr<Dialer>> dialers_;  // by number
  std::set<size_t> met_now_;                           // numbers
  // Dialers of other addresses, the most recently used one last.
  std::deque<std::shared_ptr<Dialer>> others_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_PEER_LIST_H_
