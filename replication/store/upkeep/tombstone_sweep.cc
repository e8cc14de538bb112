#include "replication/store/upkeep/tombstone_sweep.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_reader.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr uint64_t kEntriesAtOnce = 2000;
constexpr uint64_t kPauseMs = 10;  // after kEntriesAtOnce
// The pause after an error, and its limit: what never reads is read from the
// beginning.
constexpr uint64_t kRetryMs = 1000;
constexpr uint64_t kMaxRetryMs = 600'000;

}  // namespace

void TombstoneSweep::Start() {
  thread_ = std::thread([this] { Run(); });
}

void TombstoneSweep::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void TombstoneSweep::Wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool TombstoneSweep::done() const {
  return swept_.load() == indexed_->reader().stable_time();
}

bool TombstoneSweep::Pause(uint64_t ms) {
  std::unique_lock lock(mutex_);
  // Waits by the wall clock, as in leaf_digests.cc.
  changed_.wait_until(
      lock, std::chrono::system_clock::now() + std::chrono::milliseconds(ms),
      [this] { return stop_; });
  return !stop_;
}

Status TombstoneSweep::SweepHere() {
  assert(!thread_.joinable());
  return done() ? Status::OK() : Sweep(/*pause_ms=*/0);
}

void TombstoneSweep::Run() {
  uint64_t retry_ms = kRetryMs;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !done(); });
      if (stop_) return;
    }
    const Status status = Sweep(kPauseMs);
    if (!status.ok() && !Pause(retry_ms)) return;
    retry_ms = status.ok() ? kRetryMs : std::min(2 * retry_ms, kMaxRetryMs);
  }
}

Status TombstoneSweep::Sweep(uint64_t pause_ms) {
  const uint64_t stable_time = indexed_->reader().stable_time();
  std::string next;
  bool at_end = false;
  while (!at_end) {
    const Status status = SweepSome(&next, &at_end);
    // Busy: the same entries come again.
    if (!status.ok() && !status.IsBusy()) return status;
    if (pause_ms > 0 && !Pause(pause_ms)) return Status::Incomplete();
  }
  const Status status =
      indexed_->db()->Put(rocksdb::WriteOptions(), indexed_->reader().index(),
                          MetaKey(kSweptRecord), EncodeSwept(stable_time));
  if (status.ok()) swept_ = stable_time;
  return status;
}

Status TombstoneSweep::SweepSome(std::string* next, bool* at_end) {
  const uint64_t stable_time = indexed_->reader().stable_time();
  IndexCursor cursor(indexed_->reader(), nullptr, stable_time,
                     IndexCursor::Order::kTotal);
  cursor.SeekKeyOrFirst(*next);
  std::vector<std::string> collected;
  for (uint64_t read = 0; cursor.Valid() && read < kEntriesAtOnce; ++read) {
    if (IsCollected(cursor.entry(), stable_time)) {
      collected.emplace_back(cursor.index_key());
    }
    cursor.Next();
  }
  if (!cursor.status().ok()) return cursor.status();
  uint64_t removed = 0;
  const Status status = RemoveCollected(indexed_, collected, &removed);
  removed_ += removed;
  if (!status.ok()) return status;
  *at_end = !cursor.Valid();
  if (!*at_end) next->assign(cursor.index_key());
  return status;
}

Status RemoveCollected(IndexedDB* indexed,
                       const std::vector<std::string>& index_keys,
                       uint64_t* removed) {
  *removed = 0;
  if (index_keys.empty()) return Status::OK();
  std::vector<IndexKey> keys(index_keys.size());
  StripeSet stripes;
  for (size_t i = 0; i < index_keys.size(); ++i) {
    [[maybe_unused]] const bool parsed = ParseIndexKey(index_keys[i], &keys[i]);
    assert(parsed);
    stripes.Add(StripeOf(keys[i].position));
  }
  const StripeSetGuard guard(indexed->locks(), stripes);
  const IndexReader& reader = indexed->reader();
  rocksdb::WriteBatch batch;
  for (size_t i = 0; i < keys.size(); ++i) {
    StoredEntry entry;
    Status status = reader.Get(nullptr, /*stable_time=*/0, keys[i], &entry);
    if (status.ok() && IsCollected(entry, reader.stable_time())) {
      status = batch.Delete(reader.index(), index_keys[i]);
    }
    if (!status.ok() && !status.IsNotFound()) return status;
  }
  if (batch.Count() == 0) return Status::OK();
  rocksdb::WriteOptions options;
  options.no_slowdown = true;
  const Status status = indexed->db()->Write(options, &batch);
  if (status.IsIncomplete()) return Status::Busy();
  if (status.ok()) *removed = batch.Count();
  return status;
}

}  // namespace rocksync
