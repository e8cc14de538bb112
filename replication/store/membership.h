// What a replica knows of the members of its cluster and what it has forgotten
// on the strength of it (protocol/forgetting.h), made durable.

#ifndef ROCKSYNC_REPLICATION_STORE_MEMBERSHIP_H_
#define ROCKSYNC_REPLICATION_STORE_MEMBERSHIP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "replication/protocol/forgetting.h"
#include "rocksdb/status.h"

namespace rocksync {

class Store;

// Thread-safe. Member list, horizon and what this replica vouches for are
// synced before anything follows from them. Other knowledge is written before
// any pair that comes after it, so whoever still has the pair after a crash
// knows whose life it came from; else what is lost of it is found out anew.
class Membership {
 public:
  // `horizon_set` is called after each change of list or horizon.
  Membership(Store* store, Forgetting now, std::function<void()> horizon_set);

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  Forgetting Now() const;

  // A member of which two lives were heard that do not follow one another,
  // since opening, and since the present list was taken over. 0: none.
  uint64_t two_lives() const {
    return two_lives_.load(std::memory_order_relaxed);
  }

  // What to say to a peer before either takes a snapshot for a session.
  Announcement Announce() const;

  // An operator's list. InvalidArgument: see SucceedingList.
  rocksdb::Status SetMembers(uint64_t epoch,
                             const std::vector<uint64_t>& replica_ids);

  // Takes over the newer list of a peer (Meeting::kLearn). InvalidArgument: it
  // may not be. TryAgain: the peer's clock is too far ahead.
  rocksdb::Status Learn(const Announcement& peer);

  // What this replica and a peer in this life have said, in this epoch.
  SaidByBoth SaidWith(uint64_t peer_id, const Incarnation& life,
                      uint64_t epoch) const;

  // Before pairs of the peer, met in `life`, are applied; `latest`: the largest
  // time of those that it issued itself, 0 if none. TryAgain: that life is
  // over, by what was heard since.
  rocksdb::Status TakeFrom(uint64_t peer_id, const Incarnation& life,
                           uint64_t latest);

  // The peer, met in `life`, said `peer`, this replica `mine`, and they may
  // meet (kAlike): adopts the horizon that both come to, and what the peer
  // knows of others. TryAgain: the peer was rolled back or copied, unless a
  // message of its was overtaken.
  rocksdb::Status Agree(const Forgetting& mine, uint64_t peer_id,
                        const Incarnation& life, const Announcement& peer,
                        Horizon* agreed);

  // A session proved this replica equal to `peer_id`, and all is synced. Both
  // said this before it. Counts for nothing if the list has changed since.
  rocksdb::Status Proved(const Announcement& mine, uint64_t peer_id,
                         const Announcement& peer);

  // Moves the horizon as far as it can go, whether or not it is worth it.
  rocksdb::Status Advance();

 private:
  Forgetting Take(const Announcement& peer, uint64_t peer_id) const;
  void NoteTwoLives(uint64_t replica_id);
  bool WorthAdvancing() const;
  rocksdb::Status AdvanceLocked();
  // REQUIRES: mutex_ is held; for Install also all stripes.
  rocksdb::Status Install(Forgetting next);
  rocksdb::Status InstallWithStripes(Forgetting next);
  rocksdb::Status Write(const Forgetting& next, bool sync);
  bool TellsOfNewLives(const Forgetting& next) const;
  void SetOwnLife(Forgetting* next) const;
  bool HasData() const;

  Store* const store_;
  const std::function<void()> horizon_set_;
  mutable std::mutex mutex_;
  Forgetting now_;
  std::vector<Life> written_lives_;  // of now_, as of the last write
  Sayings sayings_;
  std::atomic<uint64_t> epoch_;
  std::atomic<uint64_t> two_lives_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_MEMBERSHIP_H_
