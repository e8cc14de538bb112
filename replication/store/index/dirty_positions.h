// Records which positions were written to since the leaf digests were last
// readied.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_DIRTY_POSITIONS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_DIRTY_POSITIONS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "replication/store/index/word_lock.h"

namespace rocksync {

// The positions, in a few lists, each with a lock of its own, whose ends stay
// in the nearest cache. Memory is bounded: when one list is full, tracking
// stops, and the caller of Take has to read everything.
class DirtyPositions {
 public:
  // Notes that the position is written to.
  // REQUIRES: the position's stripe is held.
  void Add(uint64_t position) {
    if (!tracking_.load(std::memory_order_relaxed)) return;
    Shard& shard = shards_[position % kShards];
    std::lock_guard lock(shard.lock);
    std::vector<uint64_t>& list = shard.list;
    if (!list.empty() && list.back() == position) return;
    if (list.size() >= kMaxPerShard && !MakeRoom(&list)) {
      tracking_.store(false, std::memory_order_relaxed);
      return;
    }
    list.push_back(position);
  }

  // Moves the positions out, ascending and without duplicates, and starts
  // tracking anew. Returns false, with no positions, if not all were tracked.
  // REQUIRES: all stripes are held.
  bool Take(std::vector<uint64_t>* positions) {
    const bool complete = tracking_.load(std::memory_order_relaxed);
    positions->clear();
    for (Shard& shard : shards_) {
      std::lock_guard lock(shard.lock);
      if (complete) {
        positions->insert(positions->end(), shard.list.begin(),
                          shard.list.end());
      }
      shard.list.clear();
    }
    SortUnique(positions);
    tracking_.store(true, std::memory_order_relaxed);
    return complete;
  }

  // Stops tracking until the next Take.
  void Stop() { tracking_.store(false, std::memory_order_relaxed); }

  bool tracking() const { return tracking_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kShards = 8;
  static constexpr size_t kMaxPerShard = size_t{1} << 16;  // 4 MiB in all

  struct alignas(64) Shard {
    WordLock lock;
    std::vector<uint64_t> list;
  };

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
