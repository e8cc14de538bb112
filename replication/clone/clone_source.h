// Serves the files of this replica to those that clone it, over accepted
// connections. Each connection has two threads meanwhile: one takes down what
// is asked for, one reads, hashes and sends, in that order.

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

// A clone that is under way, as its source sees it.
struct ServedClone {
  uint64_t replica_id = 0;   // what the copy becomes
  std::string address;       // where it comes from
  uint64_t bytes = 0;        // of all files
  uint64_t bytes_there = 0;  // of them: sent, or found to be there
  uint64_t bytes_sent = 0;
  uint64_t bytes_per_second = 0;
  uint64_t seconds_left = 0;  // 0: not known
};

// Thread-safe. `replica` must outlive it.
class CloneSource {
 public:
  explicit CloneSource(ReplicatorContext* replica)
      : replica_(replica), checkpoints_(replica->db) {}

  // Serves a peer that was admitted and whose first message is `message`, until
  // it is done or the connection breaks. Not OK: what was wrong; the peer has
  // been told.
  rocksdb::Status Serve(Connection* connection, const Admission& admission,
                        std::string_view message);

  std::vector<ServedClone> Served() const;

  // Before the first Serve: removes what a process that was killed has left.
  void Start() { checkpoints_.RemoveLeftovers(); }
  // Once no Serve runs any more: after it the database may be gone.
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

  // Of what has proven the secret.
  rocksdb::Status CheckAsk(const CloneAsk& ask, Connection* connection);
  rocksdb::Status Begin(Connection* connection, const Admission& admission,
                        std::string_view message, CloneAsk* ask,
                        Checkpoints::Use* use);
  rocksdb::Status MayClone(const CloneAsk& ask) const;
  // True: it is the first connection of the clone.
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
