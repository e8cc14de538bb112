#include "replication/replicator/scrubber.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "replication/base/status.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/store/store.h"
#include "replication/store/store_access.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll{1'000};
constexpr milliseconds kRetry{5'000};
// The pause after ResolveQuarantined has met corruption: a call reads the whole
// index.
constexpr milliseconds kRetryResolving{600'000};

rocksdb::Status NotGoingOn(const rocksdb::Status& why) {
  const char* const what =
      "rocksync: the scrub goes on once the database is read and written; then "
      "call it again";
  if (why.IsNoSpace()) return rocksdb::Status::NoSpace(what, why.ToString());
  if (why.IsCorruption()) {
    return rocksdb::Status::Corruption(what, why.ToString());
  }
  return rocksdb::Status::IOError(what, why.ToString());
}

}  // namespace

Scrubber::Scrubber(ReplicatorContext* replica,
                   std::function<bool(uint64_t ms)> all_equal_since,
                   std::function<void()> index_built)
    : replica_(replica),
      all_equal_since_(std::move(all_equal_since)),
      index_built_(std::move(index_built)),
      scrub_(StoreAccess::NewScrub(replica->db)) {}

void Scrubber::Stop() {
  Wake();
  if (thread_.joinable()) thread_.join();
}

rocksdb::Status Scrubber::Start() {
  rocksdb::Status s = scrub_->Load();
  if (!s.ok()) return s;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return NoThread(e.what());
  }
  return s;
}

void Scrubber::Wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Scrubber::SetRate(uint64_t bytes_per_second) {
  bytes_.SetRate(bytes_per_second);
  Wake();
}

void Scrubber::SetPaused(bool paused) {
  const std::lock_guard lock(mutex_);
  paused_ = paused;
  changed_.notify_all();
}

// REQUIRES: mutex_ held, or the thread itself.
bool Scrubber::Due() const {
  if (finished_ < wanted_) return true;
  const auto interval =
      static_cast<uint64_t>(replica_->options.scrub_interval.count());
  if (interval == 0) return false;
  const uint64_t now_ms = replica_->db->GetEnv()->NowMicros() / 1000;
  const uint64_t finished_ms = scrub_->last_finished_ms();
  // A finishing time in the future is of a clock that was ahead, and does not
  // count.
  return scrub_->under_way() || now_ms >= finished_ms + interval ||
         finished_ms > now_ms + ClockWatch::kJumpMs;
}

void Scrubber::Run() {
  while (!replica_->stopping) {
    WatchClock();
    if (!IsIndexBuilt()) continue;
    {
      std::unique_lock lock(mutex_);
      if (paused_ || !Due()) {
        changed_.wait_for(lock, kPoll);
        if (replica_->stopping || paused_) continue;
      }
    }
    if (!IsIndexBuilt()) continue;
    ResolveQuarantined();
    const bool due = [this] {
      const std::lock_guard lock(mutex_);
      return Due();
    }();
    if (due) Work();
  }
}

// No scrub runs during an index build, which reads everything anyway.
bool Scrubber::IsIndexBuilt() {
  const IndexBuildProgress build = replica_->db->GetIndexBuildProgress();
  if (build.done) {
    if (std::exchange(building_, false)) index_built_();
    return true;
  }
  building_ = true;
  if (!build.status.ok()) Fail(build.status);
  (void)replica_->db->WaitForIndexBuild(static_cast<uint64_t>(kPoll.count()) /
                                        10);
  return false;
}

void Scrubber::WatchClock() {
  const std::optional<int64_t> jump = clock_watch_.Observe(
      replica_->db->GetEnv()->NowMicros() / 1000, MonotonicMs());
  if (!jump.has_value()) return;
  const bool ahead = *jump > 0;
  rocksdb::Warn(
      replica_->log, "rocksync: the wall clock jumped %s by %lld ms; %s",
      ahead ? "ahead" : "back", static_cast<long long>(std::abs(*jump)),
      ahead ? "if it is ahead of real time now, correct it, then "
              "run `rocksync restamp`"
            : "if it was ahead of real time until now, run `rocksync "
              "restamp`; if it is behind, correct it");
}

void Scrubber::Work() {
  uint64_t bytes = 0;
  bool finished = false;
  const rocksdb::Status s = scrub_->Step(&bytes, &finished);
  if (scrub_->cannot_write()) Fail(s);
  std::unique_lock lock(mutex_);
  last_error_ = s;
  pass_ = scrub_->pass_status();
  if (finished) {
    // A pass that was under way when ScrubNow was called counts for that call,
    // since it compared what it had read before, too.
    finished_ = std::max(finished_ + 1, wanted_);
    last_pass_ = pass_;
    changed_.notify_all();
  }
  // The wait is cut into pieces, since the rate may change meanwhile.
  const auto now = Clock::now();
  const auto until =
      now + (s.ok() ? bytes_.Charge(bytes, now) : Clock::duration(kRetry));
  const uint64_t rate = bytes_.rate();
  while (!replica_->stopping && Clock::now() < until && bytes_.rate() == rate) {
    changed_.wait_until(lock, std::min(until, Clock::now() + kPoll));
  }
}

void Scrubber::ResolveQuarantined() {
  Quarantine* const quarantine =
      StoreAccess::StoreOf(replica_->db)->quarantine();
  const uint64_t last_ms = quarantine->last_ms();
  if (last_ms == 0 || !all_equal_since_(last_ms)) return;
  if (Clock::now() < resolve_again_) return;
  uint64_t resolved = 0;
  const rocksdb::Status s =
      scrub_->ResolveQuarantined(replica_->stopped, &resolved);
  resolved_ += resolved;
  if (s.ok()) {
    quarantine->Resolved(last_ms);
  } else if (s.IsCorruption()) {
    resolve_again_ = Clock::now() + kRetryResolving;
  }
  if (resolved == 0) return;
  rocksdb::Warn(
      replica_->log,
      "rocksync: %llu quarantined pairs are unversioned now, as no peer has a "
      "later version: any version that a peer has will replace them",
      static_cast<unsigned long long>(resolved));
}

void Scrubber::Fail(const rocksdb::Status& why) {
  const std::lock_guard lock(mutex_);
  failure_ = why;
  ++failures_;
  changed_.notify_all();
}

rocksdb::Status Scrubber::ScrubNow() {
  std::unique_lock lock(mutex_);
  const uint64_t mine = wanted_ = finished_ + 1;
  const uint64_t failures = failures_;
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return finished_ >= mine || failures_ != failures || replica_->stopping;
  });
  if (finished_ >= mine) return last_pass_;
  if (failures_ != failures) {
    return NotGoingOn(failure_);
  }
  if (last_error_.ok()) {
    return rocksdb::Status::Aborted("the replicator was stopped");
  }
  return rocksdb::Status::Aborted("the replicator was stopped",
                                  last_error_.ToString());
}

ScrubStats Scrubber::stats() const {
  const Scrub::Progress progress = scrub_->progress();
  const IndexStats index = replica_->db->GetIndexStats();
  ScrubStats stats;
  stats.running = progress.running;
  stats.pairs_compared = progress.pairs;
  stats.last_finished_ms = progress.last_finished_ms;
  stats.corruption_found = progress.corruption_found;
  stats.unreadable = progress.unreadable;
  stats.repaired = index.pairs_repaired;
  stats.released = index.pairs_released;
  stats.resolved = resolved_;
  const std::lock_guard lock(mutex_);
  const rocksdb::Status& pass = pass_.ok() ? last_pass_ : pass_;
  stats.incomplete = !pass.ok();
  const rocksdb::Status& latest = last_error_.ok() ? pass : last_error_;
  if (!latest.ok()) stats.last_error = latest.ToString();
  return stats;
}

}  // namespace rocksync
