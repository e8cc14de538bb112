// Limits a rate by a bucket of tokens that fills steadily: says how long to
// wait before the next piece of work.

#ifndef ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_
#define ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

namespace rocksync {

// A rate limiter, shared by all sessions of a replica. Thread-safe.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  // Sets the rate in tokens per second; 0: no limit. Forgets the work charged
  // so far, so that callers that wait for it return.
  void SetRate(uint64_t per_second);
  uint64_t rate() const;

  // Charges `tokens` at `now` and returns how long the caller should wait so
  // that all that was charged keeps to the rate. Unused tokens of the last
  // tenth of a second may be used at once.
  Clock::duration Charge(uint64_t tokens, Clock::time_point now);

  // Charges `tokens` and waits as long as Charge says, but no longer than
  // `longest`, and no longer once the rate is set anew. Returns false if
  // `stopped`, which is polled, has returned true.
  bool Pay(uint64_t tokens, Clock::duration longest,
           const std::function<bool()>& stopped);

 private:
  uint64_t times_set() const;

  mutable std::mutex mutex_;
  uint64_t per_second_ = 0;
  uint64_t times_set_ = 0;  // how often the rate was set
  Clock::time_point paid_until_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_
