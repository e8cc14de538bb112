#include "replication/peering/token_bucket.h"

#include <algorithm>
#include <thread>

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kBurst{100};
constexpr std::chrono::milliseconds kStopPoll{50};

}  // namespace

void TokenBucket::SetRate(uint64_t per_second) {
  const std::lock_guard lock(mutex_);
  per_second_ = per_second;
  paid_until_ = {};
  ++times_set_;
}

uint64_t TokenBucket::times_set() const {
  const std::lock_guard lock(mutex_);
  return times_set_;
}

uint64_t TokenBucket::rate() const {
  const std::lock_guard lock(mutex_);
  return per_second_;
}

TokenBucket::Clock::duration TokenBucket::Charge(uint64_t tokens,
                                                 Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (per_second_ == 0) return Clock::duration::zero();
  const std::chrono::duration<double> cost(static_cast<double>(tokens) /
                                           static_cast<double>(per_second_));
  paid_until_ = std::max(paid_until_, now - kBurst) +
                std::chrono::duration_cast<Clock::duration>(cost);
  return std::max(paid_until_ - now, Clock::duration::zero());
}

bool TokenBucket::Pay(uint64_t tokens, Clock::duration longest,
                      const std::function<bool()>& stopped) {
  const uint64_t before = times_set();
  const auto start = Clock::now();
  const auto until = start + std::min(Charge(tokens, start), longest);
  while (!stopped()) {
    const auto now = Clock::now();
    if (now >= until || times_set() != before) return true;
    std::this_thread::sleep_for(
        std::min<Clock::duration>(until - now, kStopPoll));
  }
  return false;
}

}  // namespace rocksync
