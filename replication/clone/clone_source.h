// Serves the files of this replica to replicas that clone it, over accepted
// connections. Each connection has two threads: one receives requests, the
// other reads, hashes and sends, in the order of the requests.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_SOURCE_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "replication/clone/checkpoints.h"
#include "replication/peering/admission.h"
#include "replication/peering/replicator_context.h"
#include "rocksync/transport.h"

namespace rocksync {

// A clone under way, as its source sees it.
struct ServedClone {
  uint64_t replica_id = 0;   // of the replica that the copy becomes
  std::string address;       // of the receiver
  uint64_t bytes = 0;        // of all files
  uint64_t bytes_there = 0;  // sent, or found to be at the receiver
  uint64_t bytes_sent = 0;
  uint64_t bytes_per_second = 0;
  uint64_t seconds_left = 0;  // 0: not known
};

// Serves all clones of a replica. Thread-safe. `replica` must outlive it.
class CloneSource {
 public:
  explicit CloneSource(ReplicatorContext* replica)
      : replica_(replica), checkpoints_(replica->db) {}

  // Serves an authenticated peer, whose first message is `message`, until it is
  // done or the connection breaks. Returns what was wrong, if anything; the
  // peer has been told.
  rocksdb::Status Serve(Connection* connection, const Admission& admission,
                        std::string_view message);

  std::vector<ServedClone> Served() const;

  // Removes what a process that was killed has left. Called before the first
  // Serve.
  void Start() { checkpoints_.RemoveLeftovers(); }
  // Removes all checkpoints. The database may be gone once this returns.
  // REQUIRES: no Serve runs any more.
  void Stop() { checkpoints_.Stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Counted {
    ServedClone clone;
    int connections = 0;
    Clock::time_point begun;
  };
  class Conversation;
  class Readying;

  // Checks whether a peer that has proven the secret may clone this replica.
  rocksdb::Status CheckAsk(const CloneAsk& ask, Connection* connection);
  rocksdb::Status Begin(Connection* connection, const Admission& admission,
                        std::string_view message, CloneAsk* ask,
                        Checkpoints::Use* use);
  rocksdb::Status MayClone(const CloneAsk& ask) const;
  // Counts a connection in. Returns true for the first one of its clone.
  bool Enter(const CloneAsk& ask, const std::string& address,
             const Checkpoints::Files& files);
  void Leave(uint64_t ticket);
  void Count(uint64_t ticket, uint64_t there, uint64_t sent);

  ReplicatorContext* const replica_;
  Checkpoints checkpoints_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Counted> served_;  // by ticket
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_SOURCE_H_
