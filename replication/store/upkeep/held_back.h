// Pairs that a replica does not take or does not send: versions too far ahead
// of its clock, and pairs above the limits of size.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_HELD_BACK_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_HELD_BACK_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "replication/store/write/indexed_db.h"
#include "rocksync/replicated_db.h"
#include "sketch/element/version.h"

namespace rocksync {

// Counts such pairs, and names them in the log. Thread-safe.
class HeldBack {
 public:
  explicit HeldBack(const IndexedDB* indexed) : indexed_(indexed) {}

  // Returns whether the version is too far ahead of this replica's clock, so
  // that its pair is not taken. If so, counts it, and names the replica whose
  // clock is ahead in the log.
  bool RejectIfTooFarAhead(const Version& version);
  // Names the replica whose clock is ahead, in the log once a minute, and in
  // the statistics.
  void Name(const Version& version);
  void Count(uint64_t pairs) { pairs_ += pairs; }
  // Counts a pair that is too large to send or to take and, once a minute,
  // names one in the log.
  void NoteOversized(const std::string& family, std::string_view key);
  void AddTo(IndexStats* stats) const {
    stats->pairs_held_back = pairs_;
    stats->held_back_replica = NamedLately() ? replica_.load() : 0;
    stats->pairs_too_large = pairs_too_large_;
  }

 private:
  // Returns whether a replica was named lately. Each session names it again,
  // for as long as pairs are held back.
  bool NamedLately() const;

  // Lets through at most one line a minute of each kind.
  class Pause {
   public:
    bool Over(uint64_t now_ms);

   private:
    std::atomic<uint64_t> until_ms_{0};
  };

  const IndexedDB* const indexed_;
  std::atomic<uint64_t> pairs_{0};
  std::atomic<uint64_t> replica_{0};  // the last one that was named
  std::atomic<uint64_t> named_ms_{0};
  std::atomic<uint64_t> pairs_too_large_{0};
  Pause names_;
  Pause oversized_names_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_HELD_BACK_H_
