// A rate as a bucket of tokens that fills steadily: how long to wait before the
// next piece of work.

#ifndef ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_
#define ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

namespace rocksync {

// Thread-safe: shared by all sessions of a replica.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  // Tokens per second; 0: no limit. Work charged so far is forgiven, also to
  // who waits for it.
  void SetRate(uint64_t per_second);
  uint64_t rate() const;

  // Charges `tokens` at `now` and returns how long the caller should wait so
  // that all that was charged keeps to the rate. Up to a tenth of a second's
  // worth that was not used before comes free.
  Clock::duration Charge(uint64_t tokens, Clock::time_point now);

  // Charges `tokens` and waits so long, but no longer than `longest`, nor once
  // the rate is set anew. False:
  // `stopped`, which is polled, has returned true.
  bool Pay(uint64_t tokens, Clock::duration longest,
           const std::function<bool()>& stopped);

 private:
  uint64_t times_set() const;

  mutable std::mutex mutex_;
  uint64_t per_second_ = 0;
  uint64_t times_set_ = 0;  // the rate
  Clock::time_point paid_until_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_TOKEN_BUCKET_H_
