#include "replication/store/index/stripe_locks.h"

#include <chrono>
#include <thread>

namespace rocksync {
namespace {

// A write takes microseconds, so the first tries only yield. They are few, and
// each checks `cancelled`: on a busy machine each may last a time slice.
constexpr int kYields = 4;
constexpr auto kPoll = std::chrono::microseconds(200);

}  // namespace

bool StripeLocks::Lock(const StripeSet& set,
                       const std::function<bool()>& cancelled) {
  while (gate_.load(std::memory_order_acquire) != 0) {
    if (cancelled && cancelled()) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return LockPolling(set, cancelled);
}

bool StripeLocks::LockPolling(const StripeSet& set,
                              const std::function<bool()>& cancelled) {
  StripeSet held;
  bool gave_up = false;
  set.ForEachAscending([&](size_t i) {
    for (int tries = 0; !gave_up && !stripes_[i].try_lock(); ++tries) {
      if (cancelled && cancelled()) {
        gave_up = true;
      } else if (tries < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPoll);
      }
    }
    if (!gave_up) held.Add(i);
  });
  if (gave_up) Unlock(held);
  return !gave_up;
}

bool StripeLocks::LockAll(const std::function<bool()>& cancelled) {
  gate_.fetch_add(1, std::memory_order_acq_rel);
  StripeSet all;
  all.AddAll();
  if (LockPolling(all, cancelled)) return true;
  OpenGate();
  return false;
}

void StripeLocks::UnlockAll() {
  for (WordLock& stripe : stripes_) stripe.unlock();
  OpenGate();
}

}  // namespace rocksync
