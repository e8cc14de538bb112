// Records which positions were written to since the leaf digests were last
// readied, and by which writes it is known how they changed the digests.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_DIRTY_POSITIONS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_DIRTY_POSITIONS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "replication/store/index/word_lock.h"
#include "sketch/element/digest.h"

namespace rocksync {

// What a write at a position added to its leaf's digest.
struct DigestChange {
  uint64_t position = 0;
  Digest change;
  friend bool operator==(const DigestChange&, const DigestChange&) = default;
};

// The positions, in a few lists, each with a lock of its own, whose ends stay
// in the nearest cache. Memory is bounded: when one list is full, tracking
// stops, and the caller of Take has to read everything. Known changes are as
// many as have room; what comes after them is noted by its position.
class DirtyPositions {
 public:
  // Notes that the position is written to.
  // REQUIRES: the position's stripe is held.
  void Add(uint64_t position) {
    if (!tracking_.load(std::memory_order_relaxed)) return;
    Shard& shard = shards_[position % kShards];
    std::lock_guard lock(shard.lock);
    AddTo(&shard.list, position);
  }

  // Notes what was written at the position, by what it changed. Counts for
  // nothing if the position is noted by Add, too, before or after.
  // REQUIRES: the position's stripe is held, and was during the write.
  void AddKnown(const DigestChange& known) {
    if (!tracking_.load(std::memory_order_relaxed)) return;
    Shard& shard = shards_[known.position % kShards];
    std::lock_guard lock(shard.lock);
    if (shard.known.size() < kMaxKnownPerShard) {
      shard.known.push_back(known);
    } else {
      AddTo(&shard.list, known.position);
    }
  }

  // Moves the positions out, ascending and without duplicates, with the known
  // changes of all other positions, and starts tracking anew. Returns false,
  // with neither, if not all were tracked.
  // REQUIRES: all stripes are held.
  bool Take(std::vector<uint64_t>* positions,
            std::vector<DigestChange>* known) {
    const bool complete = tracking_.load(std::memory_order_relaxed);
    positions->clear();
    known->clear();
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.lock);
      if (complete) {
        positions->insert(positions->end(), shard.list.begin(),
                          shard.list.end());
        known->insert(known->end(), shard.known.begin(), shard.known.end());
      }
      shard.list.clear();
      shard.known = {};
    }
    SortUnique(positions);
    std::erase_if(*known, [positions](const DigestChange& one) {
      return std::binary_search(positions->begin(), positions->end(),
                                one.position);
    });
    tracking_.store(true, std::memory_order_relaxed);
    return complete;
  }

  // Stops tracking until the next Take.
  void Stop() { tracking_.store(false, std::memory_order_relaxed); }

  bool tracking() const { return tracking_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShards = 8;
  static constexpr size_t kMaxPerShard = size_t{1} << 16;       // 4 MiB in all
  static constexpr size_t kMaxKnownPerShard = size_t{1} << 14;  // also 4 MiB

  struct alignas(64) Shard {
    WordLock lock;
    std::vector<uint64_t> list;
    std::vector<DigestChange> known;
  };

  // REQUIRES: the list's lock is held.
  void AddTo(std::vector<uint64_t>* list, uint64_t position) {
    if (!list->empty() && list->back() == position) return;
    if (list->size() >= kMaxPerShard && !MakeRoom(list)) {
      tracking_.store(false, std::memory_order_relaxed);
      return;
    }
    list->push_back(position);
  }

  static void SortUnique(std::vector<uint64_t>* list) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }

  // Removes duplicates: a hot key fills its list with copies of one position.
  static bool MakeRoom(std::vector<uint64_t>* list) {
    SortUnique(list);
    return list->size() <= kMaxPerShard / 2;
  }

  std::array<Shard, kShards> shards_;
  std::atomic<bool> tracking_{false};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_DIRTY_POSITIONS_H_
