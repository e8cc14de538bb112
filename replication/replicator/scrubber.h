// The thread that looks after what is stored: it scrubs, at an interval, on
// call, and on from where an earlier process stopped, no faster than it may;
// and it notices the end of an index build, and a wall clock that jumps.

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

// Thread-safe.
class Scrubber {
 public:
  // `all_equal_since(ms)`: the digests of every configured peer were equal in
  // a session that began after this reading of the wall clock. `index_built`
  // is called when an index build has ended, but for one of a moment.
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
  // some of it does not read. Aborted: stopped. Else RocksDB's error, which
  // keeps the pass, or the index build before it, from going on; both are tried
  // again all the same.
  rocksdb::Status ScrubNow();

  ScrubStats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Wake();
  void Run();
  void WatchClock();
  // False: one is under way, and was waited for, for a while.
  bool IsIndexBuilt();
  bool Due() const;
  // One chunk, and the wait that its size demands.
  void Work();
  void ResolveQuarantined();
  // Tells who waits in ScrubNow.
  void Fail(const rocksdb::Status& why);

  ReplicatorContext* const replica_;
  const std::function<bool(uint64_t ms)> all_equal_since_;
  const std::function<void()> index_built_;
  const std::unique_ptr<Scrub> scrub_;
  TokenBucket bytes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool paused_ = false;
  uint64_t wanted_ = 0;         // passes asked for
  uint64_t finished_ = 0;       // passes finished since the start
  rocksdb::Status last_error_;  // of the latest step
  uint64_t failures_ = 0;       // calls of Fail
  rocksdb::Status failure_;     // of the latest of them
  rocksdb::Status pass_;        // that runs, or finished last
  rocksdb::Status last_pass_;   // that finished
  ClockWatch clock_watch_;
  bool building_ = false;
  Clock::time_point resolve_again_;  // not before
  std::atomic<uint64_t> resolved_{0};
  std::thread thread_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_SCRUBBER_H_
