// The lock rule: every write, local or remote, holds the stripes of its keys
// from drawing the version until RocksDB's Write returns, so that for one key
// the order of versions is the order of commits.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_STRIPE_LOCKS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_STRIPE_LOCKS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "replication/store/index/word_lock.h"

namespace rocksync {

// Two concurrent writes of different keys share a stripe by chance, one time in
// this many, and the second then waits for all of the first. So there are many;
// at four bytes each they fit in the nearest cache.
inline constexpr size_t kStripes = 4096;

// Returns the low bits of the position; partitions are its high bits.
constexpr size_t StripeOf(uint64_t position) {
  return static_cast<size_t>(position % kStripes);
}

// A set of stripes.
class StripeSet {
 public:
  void Add(size_t stripe) {
    words_[stripe / 64] |= uint64_t{1} << (stripe % 64);
    used_words_ |= uint64_t{1} << (stripe / 64);
  }
  void AddAll() {
    words_.fill(~uint64_t{0});
    used_words_ = ~uint64_t{0};
  }

  template <typename Visit>
  void ForEachAscending(const Visit& visit) const {
    for (uint64_t words = used_words_; words != 0; words &= words - 1) {
      const auto i = static_cast<size_t>(__builtin_ctzll(words));
      for (uint64_t bits = words_[i]; bits != 0; bits &= bits - 1) {
        visit(64 * i + static_cast<size_t>(__builtin_ctzll(bits)));
      }
    }
  }

 private:
  static_assert(kStripes == 64 * 64, "one word tells which words are used");

  std::array<uint64_t, kStripes / 64> words_{};
  uint64_t used_words_ = 0;  // bit i: words_[i] is not 0
};

// Locks stripes for writers and for threads that need all of them. Invariants:
//  1. Stripes are taken in ascending order, all of a write's at once, so
//     writers cannot deadlock.
//  2. A thread that wants all stripes closes the gate first. Writers that hold
//     nothing wait at the gate, so a busy stripe cannot starve that thread.
class StripeLocks {
 public:
  void Lock(size_t stripe) {
    PassGate();
    stripes_[stripe].lock();
  }
  void Unlock(size_t stripe) { stripes_[stripe].unlock(); }

  void Lock(const StripeSet& set) {
    PassGate();
    set.ForEachAscending([this](size_t i) { stripes_[i].lock(); });
  }
  void Unlock(const StripeSet& set) {
    set.ForEachAscending([this](size_t i) { stripes_[i].unlock(); });
  }

  // Takes the stripes of `set`. Gives up, holding none, and returns false once
  // `cancelled` returns true: a writer may wait in a stalled RocksDB for
  // minutes, and a thread that wants all stripes waits for it with the gate
  // closed. `cancelled` may be empty.
  bool Lock(const StripeSet& set, const std::function<bool()>& cancelled);

  // Takes all stripes, or gives up as above; closes the gate.
  bool LockAll(const std::function<bool()>& cancelled = {});
  void UnlockAll();

 private:
  bool LockPolling(const StripeSet& set,
                   const std::function<bool()>& cancelled);
  void PassGate() {
    while (const uint32_t closed = gate_.load(std::memory_order_acquire)) {
      gate_.wait(closed);
    }
  }
  void OpenGate() {
    gate_.fetch_sub(1, std::memory_order_acq_rel);
    gate_.notify_all();
  }

  std::array<WordLock, kStripes> stripes_;
  std::atomic<uint32_t> gate_{0};  // threads that want all stripes
};

// Holds one stripe.
class StripeGuard {
 public:
  StripeGuard(StripeLocks* locks, size_t stripe)
      : locks_(locks), stripe_(stripe) {
    locks_->Lock(stripe_);
  }
  ~StripeGuard() { locks_->Unlock(stripe_); }
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;

 private:
  StripeLocks* const locks_;
  const size_t stripe_;
};

// Holds a set of stripes.
class StripeSetGuard {
 public:
  StripeSetGuard(StripeLocks* locks, const StripeSet& set)
      : locks_(locks), set_(set) {
    locks_->Lock(set_);
  }
  // Adopts a set that is held.
  StripeSetGuard(StripeLocks* locks, const StripeSet& set, std::adopt_lock_t)
      : locks_(locks), set_(set) {}
  ~StripeSetGuard() { locks_->Unlock(set_); }
  StripeSetGuard(const StripeSetGuard&) = delete;
  StripeSetGuard& operator=(const StripeSetGuard&) = delete;

 private:
  StripeLocks* const locks_;
  const StripeSet set_;
};

// Holds all stripes.
class AllStripesGuard {
 public:
  explicit AllStripesGuard(StripeLocks* locks) : locks_(locks) {
    locks_->LockAll();
  }
  ~AllStripesGuard() { locks_->UnlockAll(); }
  AllStripesGuard(const AllStripesGuard&) = delete;
  AllStripesGuard& operator=(const AllStripesGuard&) = delete;

 private:
  StripeLocks* const locks_;
};

// Holds one stripe, a set, or all of them. If `cancelled`, which may be empty,
// returned true first, it holds none, and held() is false.
class PatientGuard {
 public:
  PatientGuard(StripeLocks* locks, const StripeSet& set,
               const std::function<bool()>& cancelled)
      : locks_(locks), all_(false), set_(set) {
    if (cancelled) {
      held_ = locks_->Lock(set_, cancelled);
    } else {
      locks_->Lock(set_);
      held_ = true;
    }
  }
  PatientGuard(StripeLocks* locks, size_t stripe,
               const std::function<bool()>& cancelled)
      : locks_(locks), all_(false) {
    set_.Add(stripe);
    held_ = locks_->Lock(set_, cancelled);
  }
  PatientGuard(StripeLocks* locks, const std::function<bool()>& cancelled)
      : locks_(locks), all_(true), held_(locks->LockAll(cancelled)) {}
  ~PatientGuard() {
    if (!held_) return;
    if (all_) {
      locks_->UnlockAll();
    } else {
      locks_->Unlock(set_);
    }
  }
  PatientGuard(const PatientGuard&) = delete;
  PatientGuard& operator=(const PatientGuard&) = delete;

  bool held() const { return held_; }

 private:
  StripeLocks* const locks_;
  const bool all_;
  StripeSet set_;
  bool held_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_STRIPE_LOCKS_H_
