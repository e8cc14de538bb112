// Which positions were written to since the leaf digests were last readied.

#ifndef ROCKSYNC_REPLICATION_STORE_DIRTY_POSITIONS_H_
#define ROCKSYNC_REPLICATION_STORE_DIRTY_POSITIONS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "replication/store/stripe_locks.h"

namespace rocksync {

// One list a stripe, guarded by the stripe's lock. Bounded: when one list is
// full, tracking stops and whoever takes the lists has to read everything.
class DirtyPositions {
 public:
  // REQUIRES: the position's stripe is held.
  void Add(uint64_t position) {
    if (!tracking_.load(std::memory_order_relaxed)) return;
    std::vector<uint64_t>& list = lists_[StripeOf(position)];
    if (!list.empty() && list.back() == position) return;
    if (list.size() >= kMaxPerStripe && !MakeRoom(&list)) {
      tracking_.store(false, std::memory_order_relaxed);
      return;
    }
    list.push_back(position);
  }

  // Moves the positions out, ascending and without duplicates, and starts
  // tracking anew. False if not all were tracked; `*positions` is then empty.
  // REQUIRES: all stripes are held.
  bool Take(std::vector<uint64_t>* positions) {
    const bool complete = tracking_.load(std::memory_order_relaxed);
    positions->clear();
    for (std::vector<uint64_t>& list : lists_) {
      if (complete) {
        positions->insert(positions->end(), list.begin(), list.end());
      }
      list.clear();
    }
    SortUnique(positions);
    tracking_.store(true, std::memory_order_relaxed);
    return complete;
  }

  // Stops tracking until the next Take.
  void Stop() { tracking_.store(false, std::memory_order_relaxed); }

  bool tracking() const { return tracking_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMaxPerStripe = 2048;  // 4 MiB in all

  static void SortUnique(std::vector<uint64_t>* list) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }

  // A hot key fills its list with itself.
  static bool MakeRoom(std::vector<uint64_t>* list) {
    SortUnique(list);
    return list->size() <= kMaxPerStripe / 2;
  }

  std::array<std::vector<uint64_t>, kStripes> lists_;
  std::atomic<bool> tracking_{false};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_DIRTY_POSITIONS_H_
