// Remembers the peers that a replica met, and what they said of it, over
// restarts.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_PEER_MEMORY_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_PEER_MEMORY_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "replication/membership/incarnation.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/write/indexed_db.h"

namespace rocksync {

// Keeps this memory in the index. Thread-safe. What it notes is synced when it
// returns OK.
class PeerMemory {
 public:
  PeerMemory(IndexedDB* indexed, PlaceRecord place)
      : indexed_(indexed), place_(std::move(place)) {}

  // Compares the incarnation that a peer says it is with what is remembered of
  // it and, if the two agree, remembers it. Makes one synced write if anything
  // changed. Aborted: the peer was rolled back or is one of two replicas with
  // one identity; the message says which. Busy: RocksDB stalls writes.
  // ShutdownInProgress: the database was closed.
  rocksdb::Status Remember(uint64_t replica_id, const Incarnation& incarnation);
  // Returns what is remembered of a peer; nullopt if that is nothing, or cannot
  // be read, which Remember then says.
  std::optional<Incarnation> Recall(uint64_t replica_id) const;

  // Notes that a peer has met a later incarnation of these data, or another
  // one: they may be opened as a new replica from now on.
  rocksdb::Status NoteSuperseded();
  // Notes that this replica met its own identity in another incarnation: one of
  // the two is a copy, and neither knows which. The data may be opened as a new
  // replica, too.
  rocksdb::Status NoteMetItself();
  // Notes that `peer_id` refuses this replica as one that acknowledged more
  // than it knows of. Until that peer takes it back, the data may be opened as
  // a new replica, too.
  rocksdb::Status NoteAcknowledgedMore(uint64_t peer_id);
  rocksdb::Status NoteTakenBack(uint64_t peer_id);

 private:
  // Reads what is remembered of a peer. NotFound: nothing is.
  rocksdb::Status Read(uint64_t replica_id, PeerRecord* known) const;
  // Writes the place record as `change` makes it, unless it is so already.
  rocksdb::Status NotePlace(const std::function<void(PlaceRecord*)>& change);

  IndexedDB* const indexed_;
  std::mutex peers_mutex_;
  std::mutex place_mutex_;
  PlaceRecord place_;  // guarded by place_mutex_
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_PEER_MEMORY_H_
