#include "replication/store/leaf_digests.h"

#include <utility>

#include "replication/protocol/storage_view.h"
#include "replication/store/status.h"

namespace rocksync {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(1);
constexpr auto kMaxBaseAge = std::chrono::minutes(2);
constexpr auto kMaxUnasked = std::chrono::minutes(30);
constexpr uint64_t kEntriesPerPoll = 4096;

// A lookup costs as much as scanning this many entries, so beyond this share
// of the index a scan is quicker.
constexpr uint64_t kScanShare = 32;

bool Says(const std::function<bool()>& cancelled) {
  return cancelled && cancelled();
}

absl::Status GaveUp() {
  return absl::CancelledError("cancelled while readying digests");
}

}  // namespace

void LeafDigests::Trust(Leaves leaves) {
  std::lock_guard lock(ready_mutex_);
  AllStripesGuard all(locks_);
  std::vector<uint64_t> dropped;
  notes_.Take(&dropped);
  leaves_ = std::move(leaves);
  base_ = std::make_shared<HeldSnapshot>(reader_->db());
  base_time_ = Clock::now();
}

absl::Status LeafDigests::Ready(const std::function<bool()>& cancelled,
                                std::shared_ptr<const HeldSnapshot>* snapshot,
                                std::shared_ptr<const Leaves>* leaves) {
  std::unique_lock lock(ready_mutex_, std::defer_lock);
  // By the clock on the wall: the other way of waiting is one that
  // ThreadSanitizer does not see (pthread_mutex_clocklock, GCC 12).
  while (!lock.try_lock_until(std::chrono::system_clock::now() + kPoll)) {
    if (Says(cancelled)) return GaveUp();
  }
  asked_time_ = Clock::now();
  const absl::Status status = ReadyLocked(cancelled);
  if (!status.ok()) return status;
  *snapshot = base_;
  *leaves = std::make_shared<const Leaves>(leaves_);
  return absl::OkStatus();
}

absl::Status LeafDigests::ReadyLocked(const std::function<bool()>& cancelled) {
  std::vector<uint64_t> positions;
  if (!locks_->LockAll(cancelled)) return GaveUp();
  const bool all_noted = notes_.Take(&positions);
  auto now = std::make_shared<const HeldSnapshot>(reader_->db());
  locks_->UnlockAll();

  uint64_t count = 0;
  if (base_ != nullptr) {
    for (const Digest& leaf : leaves_) count += leaf.count;
  }
  const bool differences = base_ != nullptr && all_noted &&
                           (positions.size() < kEntriesPerPoll ||
                            positions.size() < count / kScanShare);
  const absl::Status status =
      differences
          ? AddDifferences(positions, base_->get(), now->get(), cancelled)
          : Rescan(now->get(), cancelled);
  if (!status.ok()) {
    DropBase();
    return status;
  }
  base_ = std::move(now);
  base_time_ = Clock::now();
  return absl::OkStatus();
}

absl::Status LeafDigests::Rescan(const rocksdb::Snapshot* at,
                                 const std::function<bool()>& cancelled) {
  leaves_.assign(kLeafCount, Digest{});
  ++rescans_;
  uint64_t read = 0;
  IndexCursor cursor(*reader_, at, IndexCursor::Order::kTotal);
  for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
    if (++read % kEntriesPerPoll == 0 && Says(cancelled)) return GaveUp();
    if (!cursor.Counts()) continue;
    leaves_[LeafOf(cursor.key().position)].Add(cursor.Hash());
  }
  entries_read_ += read;
  return ToAbsl(cursor.status());
}

absl::Status LeafDigests::AddDifferences(
    const std::vector<uint64_t>& positions, const rocksdb::Snapshot* from,
    const rocksdb::Snapshot* to, const std::function<bool()>& cancelled) {
  if (positions.empty()) return absl::OkStatus();
  IndexCursor old(*reader_, from, IndexCursor::Order::kWithinPosition);
  IndexCursor young(*reader_, to, IndexCursor::Order::kWithinPosition);
  uint64_t read = 0;
  for (const uint64_t position : positions) {
    if (++read % kEntriesPerPoll == 0 && Says(cancelled)) return GaveUp();
    Digest* const leaf = &leaves_[LeafOf(position)];
    for (old.Seek(position); old.At(position); old.Next(), ++read) {
      if (old.Counts()) leaf->Remove(old.Hash());
    }
    for (young.Seek(position); young.At(position); young.Next(), ++read) {
      if (young.Counts()) leaf->Add(young.Hash());
    }
    if (!old.status().ok()) return ToAbsl(old.status());
    if (!young.status().ok()) return ToAbsl(young.status());
  }
  entries_read_ += read;
  return absl::OkStatus();
}

void LeafDigests::DropBase() {
  base_ = nullptr;
  notes_.Stop();
}

bool LeafDigests::UpToDate() const {
  std::lock_guard lock(ready_mutex_);
  return base_ != nullptr && notes_.tracking();
}

void LeafDigests::Invalidate() {
  std::lock_guard lock(ready_mutex_);
  DropBase();
}

void LeafDigests::RenewOldBase(const std::function<bool()>& cancelled) {
  std::unique_lock lock(ready_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || base_ == nullptr) return;
  const Clock::time_point now = Clock::now();
  if (!notes_.tracking() || now - asked_time_ > kMaxUnasked) {
    DropBase();
  } else if (now - base_time_ > kMaxBaseAge) {
    ReadyLocked(cancelled).IgnoreError();
  }
}

}  // namespace rocksync
