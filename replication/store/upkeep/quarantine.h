// Keeps what is known of quarantined pairs since the opening, and how many of
// them were found, released and repaired.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_QUARANTINE_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_QUARANTINE_H_

#include <atomic>
#include <cstdint>

#include "replication/store/upkeep/unreadable_keys.h"
#include "replication/store/write/indexed_db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

// Counts quarantined pairs. Thread-safe.
class Quarantine {
 public:
  explicit Quarantine(const IndexedDB* indexed) : indexed_(indexed) {}

  UnreadableKeys* unreadable() { return &unreadable_; }

  // Records that a pair is quarantined from now on.
  void RecordNew() {
    ++pairs_quarantined_;
    RecordSeen();
  }
  // Records that a pair is quarantined now, or was found to be still
  // quarantined.
  void RecordSeen() {
    any_seen_ = true;
    last_ms_ = indexed_->WallMs();
  }
  // Returns whether there was a quarantined pair since the opening.
  bool any_seen() const { return any_seen_; }
  // Returns when the last one was, by the wall clock; 0: none is known of.
  uint64_t last_ms() const { return last_ms_; }
  // Records that those known of until `ms` are resolved.
  void Resolved(uint64_t ms) { last_ms_.compare_exchange_strong(ms, 0); }

  void CountReleased(uint64_t pairs) { pairs_released_ += pairs; }
  void CountRepaired(uint64_t pairs) { pairs_repaired_ += pairs; }
  void CountRepairedEntry() { ++entries_repaired_; }
  void CountRemovedEntry() { ++entries_removed_; }
  void AddTo(IndexStats* stats) const {
    stats->pairs_quarantined = pairs_quarantined_;
    stats->pairs_released = pairs_released_;
    stats->pairs_repaired = pairs_repaired_;
    stats->entries_repaired = entries_repaired_;
    stats->entries_removed = entries_removed_;
  }

 private:
  const IndexedDB* const indexed_;
  UnreadableKeys unreadable_;
  std::atomic<bool> any_seen_{false};
  std::atomic<uint64_t> last_ms_{0};
  std::atomic<uint64_t> pairs_quarantined_{0};
  std::atomic<uint64_t> pairs_released_{0};
  std::atomic<uint64_t> pairs_repaired_{0};  // overwritten by a peer's
  std::atomic<uint64_t> entries_repaired_{0};
  std::atomic<uint64_t> entries_removed_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_QUARANTINE_H_
