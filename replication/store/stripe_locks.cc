#include "replication/store/stripe_locks.h"

#include <chrono>
#include <thread>

namespace rocksync {
namespace {

// A write takes microseconds, so a few tries come first. On a busy machine each
// of them may last a time slice: few, and none without a look at `cancelled`.
constexpr int kYields = 4;
constexpr auto kPoll = std::chrono::microseconds(200);

}  // namespace

bool StripeLocks::LockAll(const std::function<bool()>& cancelled) {
  gate_.fetch_add(1, std::memory_order_acq_rel);
  for (size_t i = 0; i < kStripes; ++i) {
    for (int tries = 0; !stripes_[i].mutex.try_lock(); ++tries) {
      if (cancelled && cancelled()) {
        while (i > 0) stripes_[--i].mutex.unlock();
        OpenGate();
        return false;
      }
      if (tries < kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPoll);
      }
    }
  }
  return true;
}

void StripeLocks::UnlockAll() {
  for (Stripe& stripe : stripes_) stripe.mutex.unlock();
  OpenGate();
}

}  // namespace rocksync
