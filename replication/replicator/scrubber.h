// The thread that scrubs: at an interval and on call, at a limited rate, and
// resuming where an earlier process stopped. It also resolves quarantined
// pairs, and notices the end of an index build and jumps of the wall clock.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_SCRUBBER_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_SCRUBBER_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "replication/peering/replicator_context.h"
#include "replication/peering/token_bucket.h"
#include "replication/replicator/clock_watch.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksync/stats.h"

namespace rocksync {

// Owns the thread. Thread-safe.
class Scrubber {
 public:
  // `all_equal_since(ms)` returns true if the digests of every configured peer
  // were equal in a session that began after this reading of the wall clock.
  // `index_built` is called when an index build has ended, unless it was so
  // short that the thread did not see it.
  Scrubber(ReplicatorContext* replica,
           std::function<bool(uint64_t ms)> all_equal_since,
           std::function<void()> index_built);
  ~Scrubber() { Stop(); }

  rocksdb::Status Start();
  // REQUIRES: `replica->stopping` is set.
  void Stop();

  void SetRate(uint64_t bytes_per_second);
  void SetPaused(bool paused);

  // Waits for the end of a pass that is under way or begins now. Incomplete:
  // some data or entries do not read. Aborted: the replicator was stopped. Else
  // RocksDB's error, which keeps the pass, or the index build before it, from
  // going on; both are retried all the same.
  rocksdb::Status ScrubNow();

  ScrubStats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Wake();
  void Run();
  void WatchClock();
  // Returns false, after a short wait for its end, if an index build is under
  // way.
  bool IsIndexBuilt();
  bool Due() const;
  // Scrubs one chunk, and waits as long as its size demands.
  void Work();
  void ResolveQuarantined();
  // Makes calls that wait in ScrubNow return this error.
  void Fail(const rocksdb::Status& why);

  ReplicatorContext* const replica_;
  const std::function<bool(uint64_t ms)> all_equal_since_;
  const std::function<void()> index_built_;
  const std::unique_ptr<Scrub> scrub_;
  TokenBucket bytes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool paused_ = false;
  uint64_t wanted_ = 0;         // number of passes asked for
  uint64_t finished_ = 0;       // number of passes finished since the start
  rocksdb::Status last_error_;  // status of the latest step
  uint64_t failures_ = 0;       // number of calls of Fail
  rocksdb::Status failure_;     // argument of the latest call of Fail
  rocksdb::Status pass_;        // status of the latest pass, finished or not
  rocksdb::Status last_pass_;   // status of the latest finished pass
  ClockWatch clock_watch_;
  bool building_ = false;
  Clock::time_point resolve_again_;  // earliest next ResolveQuarantined
  std::atomic<uint64_t> resolved_{0};
  std::thread thread_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SCRUBBER_H_
