// Makes durable what a replica knows of the members of its cluster, and the
// tombstones that it has collected by that knowledge
// (membership/tombstone_gc.h).

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_MEMBERSHIP_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_MEMBERSHIP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "replication/membership/announcement.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/store/upkeep/held_back.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace rocksync {

// The replica from which pairs come.
struct Sender {
  uint64_t replica_id = 0;    // 0: no member
  IncarnationId incarnation;  // in which it was met
};

// Keeps the member list and the knowledge of members. Thread-safe. The member
// list, the stable time, what is known to be purged and what this replica
// acknowledges are synced before anything follows from them. A peer's
// incarnation, up to the latest version of its own that it hands on, is written
// before the pairs, so a replica that still has them after a crash knows whose
// they are. Other knowledge, if lost, is gained anew.
class Membership {
 public:
  // `stable_time_set` is called after each change of list or stable time.
  Membership(IndexedDB* indexed, const IndexBuild* index_build,
             HeldBack* held_back, GcState now,
             std::function<void()> stable_time_set);

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // The largest stable time known, as in Terms.
  uint64_t purged() const { return purged_.load(std::memory_order_acquire); }
  bool may_hold_deleted_pairs() const {
    return may_hold_deleted_pairs_.load(std::memory_order_acquire);
  }
  GcState Now() const;

  // Returns the member with an identity conflict: two incarnations of it that
  // do not follow one another were heard since opening, and since the present
  // list was taken over. 0: none.
  uint64_t identity_conflict() const {
    return identity_conflict_.load(std::memory_order_relaxed);
  }

  // Returns what to say to a peer before either takes a snapshot for a session.
  Announcement Announce() const;

  // Sets an operator's list. InvalidArgument: see GcState::SetMembers.
  rocksdb::Status SetMembers(uint64_t epoch,
                             const std::vector<uint64_t>& replica_ids);

  // Installs the newer list of a peer (PeerVerdict::kPeerNewer). Returns
  // InvalidArgument if that is not allowed, and TryAgain if the peer's clock is
  // too far ahead.
  rocksdb::Status Learn(const Announcement& peer);

  // Returns what this replica and a peer in this incarnation have said.
  ReportedByBoth SaidWith(uint64_t peer_id,
                          const IncarnationId& incarnation) const;

  // Writes down the incarnation of `sender`, before its pairs are applied in
  // this epoch. `latest` is the largest time of those that it issued itself, 0
  // if none. Returns OK if another list is here by now, which refuses the pairs
  // anyway. TryAgain: the sender's incarnation is over, by what was heard
  // since. Incomplete: this would have to wait.
  rocksdb::Status RecordSender(const Sender& sender, uint64_t epoch,
                               uint64_t latest);

  // Agrees on terms with a peer, which was met in `incarnation` and said
  // `peer`, while this replica said `mine`, and they may meet (kSameList).
  // Takes over the stable time that both come to, and what the peer knows of
  // others and of what was purged. TryAgain: the peer was rolled back or
  // copied, or this message of it was overtaken.
  rocksdb::Status Agree(const GcState& mine, uint64_t peer_id,
                        const IncarnationId& incarnation,
                        const Announcement& peer, Terms* agreed);

  // Records that a session proved this replica equal to `peer_id`, and that all
  // is synced. Before it the two said `mine` and `peer`. Counts for nothing if
  // the list has changed since.
  rocksdb::Status Proved(const Announcement& mine, uint64_t peer_id,
                         const Announcement& peer);

  // Moves the stable time as far as it can go, whether or not that is worth it.
  rocksdb::Status Advance();

 private:
  GcState Take(const Announcement& peer, uint64_t peer_id) const;
  void NoteIdentityConflict(uint64_t replica_id);
  bool WorthAdvancing() const;
  rocksdb::Status AdvanceLocked();
  // REQUIRES: mutex_ is held; for these two also all stripes.
  rocksdb::Status PassReading(uint64_t reading);
  rocksdb::Status Install(GcState next);
  void ShowTerms();
  rocksdb::Status InstallWithStripes(GcState next);
  rocksdb::Status Write(const GcState& next,
                        const rocksdb::WriteOptions& options);
  bool TellsOfNewIncarnations(const GcState& next) const;
  void SetOwnIncarnation(GcState* next) const;
  void SetNow(GcState next);
  bool HasData() const;

  IndexedDB* const indexed_;
  const IndexBuild* const index_build_;
  HeldBack* const held_back_;
  const std::function<void()> stable_time_set_;
  mutable std::mutex mutex_;
  // Guards now_. A thread that changes now_ holds mutex_ too. A thread that
  // reads it takes this one alone, since one that sets a list may hold mutex_
  // through a write stall.
  mutable std::mutex now_mutex_;
  GcState now_;
  GcState written_;  // now_ as of the last write
  Sayings sayings_;
  std::atomic<uint64_t> epoch_ = 0;
  std::atomic<uint64_t> purged_ = 0;
  std::atomic<bool> may_hold_deleted_pairs_ = false;
  std::atomic<uint64_t> identity_conflict_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_MEMBERSHIP_H_
