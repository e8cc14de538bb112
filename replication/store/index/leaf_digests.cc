#include "replication/store/index/leaf_digests.h"

#include <algorithm>
#include <utility>

#include "replication/base/status.h"
#include "replication/session/storage_view.h"

namespace rocksync {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(1);
constexpr auto kMaxBaseAge = std::chrono::minutes(2);
constexpr auto kMaxUnasked = std::chrono::minutes(30);
constexpr uint64_t kEntriesPerPoll = 4096;

// A lookup costs as much as scanning this many entries. If more than this share
// of the index was written to, a scan is faster.
constexpr uint64_t kScanShare = 32;

bool Says(const std::function<bool()>& cancelled) {
  return cancelled && cancelled();
}

absl::Status GaveUp() {
  return absl::CancelledError("cancelled while readying digests");
}

}  // namespace

void LeafDigests::Trust(Leaves leaves, Tombstones tombstones,
                        LeafQuarantined quarantined) {
  std::lock_guard lock(ready_mutex_);
  AllStripesGuard all(locks_);
  std::vector<uint64_t> dropped;
  std::vector<DigestChange> dropped_changes;
  notes_.Take(&dropped, &dropped_changes);
  leaves_ = std::move(leaves);
  tombstones_ = std::move(tombstones);
  quarantined_ = std::move(quarantined);
  CountHeld();
  base_ = std::make_shared<HeldSnapshot>(reader_->db(), reader_->stable_time());
  base_time_ = Clock::now();
}

absl::Status LeafDigests::Ready(const std::function<bool()>& cancelled,
                                DigestSnapshot* readied) {
  std::unique_lock lock(ready_mutex_, std::defer_lock);
  // Waits by the wall clock: ThreadSanitizer does not see the wait by the
  // steady clock (pthread_mutex_clocklock, GCC 12).
  while (!lock.try_lock_until(std::chrono::system_clock::now() + kPoll)) {
    if (Says(cancelled)) return GaveUp();
  }
  asked_time_ = Clock::now();
  const absl::Status status = ReadyLocked(cancelled);
  if (!status.ok()) return status;
  readied->snapshot = base_;
  readied->leaves = std::make_shared<const Leaves>(leaves_);
  readied->quarantined = quarantined_now_;
  return absl::OkStatus();
}

absl::Status LeafDigests::ReadyLocked(const std::function<bool()>& cancelled) {
  std::vector<uint64_t> positions;
  std::vector<DigestChange> known;
  if (!locks_->LockAll(cancelled)) return GaveUp();
  const bool all_noted = notes_.Take(&positions, &known);
  const bool distrusted = distrusted_.exchange(false);
  auto now = std::make_shared<const HeldSnapshot>(reader_->db(),
                                                  reader_->stable_time());
  const absl::Status indexed = check_indexed_(cancelled);
  locks_->UnlockAll();
  if (!indexed.ok()) {
    DropBase();  // the notes are lost
    return indexed;
  }

  uint64_t count = 0;
  if (base_ != nullptr) {
    for (const Digest& leaf : leaves_) count += leaf.count;
  }
  const bool differences = base_ != nullptr && all_noted && !distrusted &&
                           now->stable_time() >= base_->stable_time() &&
                           (positions.size() < kEntriesPerPoll ||
                            positions.size() < count / kScanShare);
  absl::Status status;
  if (differences) {
    std::vector<uint32_t> changed;
    if (now->stable_time() > base_->stable_time()) {
      changed = LeavesCollected(now->stable_time());
    }
    const auto reread = [&changed](uint64_t position) {
      return std::binary_search(changed.begin(), changed.end(),
                                LeafOf(position));
    };
    positions.erase(std::remove_if(positions.begin(), positions.end(), reread),
                    positions.end());
    status = AddDifferences(positions, *base_, *now, cancelled);
    for (const DigestChange& one : known) {
      leaves_[LeafOf(one.position)] += one.change;
    }
    if (status.ok()) status = RereadLeaves(changed, *now, cancelled);
  } else {
    status = Rescan(*now, cancelled);
  }
  if (!status.ok()) {
    DropBase();
    return status;
  }
  base_ = std::move(now);
  base_time_ = Clock::now();
  CountHeld();
  return absl::OkStatus();
}

// Counts quarantined tombstones among the tombstones, too: when they are
// collected, their leaf has to be read again like any other.
void LeafDigests::Add(const IndexCursor& cursor) {
  if (!cursor.IsHeld()) return;
  const uint32_t leaf = LeafOf(cursor.key().position);
  if (cursor.Counts()) {
    leaves_[leaf].Add(cursor.Hash());
  } else {
    ++quarantined_[leaf];
  }
  if (!cursor.entry().tombstone) return;
  LeafTombstones* const tombstones = &tombstones_[leaf];
  ++tombstones->count;
  tombstones->oldest =
      std::min(tombstones->oldest, cursor.entry().version.time);
}

void LeafDigests::Remove(const IndexCursor& cursor) {
  if (!cursor.IsHeld()) return;
  const uint32_t leaf = LeafOf(cursor.key().position);
  if (cursor.Counts()) {
    leaves_[leaf].Remove(cursor.Hash());
  } else if (const auto held = quarantined_.find(leaf);
             held == quarantined_.end()) {
    Distrust();  // it was damaged after it was counted
  } else if (--held->second == 0) {
    quarantined_.erase(held);
  }
  if (!cursor.entry().tombstone) return;
  if (--tombstones_[leaf].count == 0) tombstones_[leaf] = {};
}

void LeafDigests::CountHeld() {
  uint64_t tombstones = 0;
  for (const LeafTombstones& leaf : tombstones_) tombstones += leaf.count;
  tombstones_held_ = tombstones;
  uint64_t quarantined = 0;
  for (const auto& [leaf, count] : quarantined_) quarantined += count;
  quarantined_now_ = quarantined;
  counted_ = true;
}

LeafDigests::Share LeafDigests::CollectedBy(uint64_t stable_time) const {
  Share share;
  const std::unique_lock lock(ready_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || base_ == nullptr) return share;
  for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
    share.elements += leaves_[leaf].count;
    if (tombstones_[leaf].oldest <= stable_time) {
      share.tombstones += tombstones_[leaf].count;
    }
  }
  return share;
}

LeafDigests::Tombstones LeafDigests::LeafTombstonesNow() const {
  const std::lock_guard lock(ready_mutex_);
  return tombstones_;
}

LeafQuarantined LeafDigests::LeafQuarantinedNow() const {
  const std::lock_guard lock(ready_mutex_);
  return quarantined_;
}

std::vector<uint32_t> LeafDigests::LeavesCollected(uint64_t stable_time) const {
  std::vector<uint32_t> leaves;
  for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
    if (tombstones_[leaf].oldest <= stable_time) leaves.push_back(leaf);
  }
  return leaves;
}

absl::Status LeafDigests::RereadLeaves(const std::vector<uint32_t>& leaves,
                                       const HeldSnapshot& at,
                                       const std::function<bool()>& cancelled) {
  if (leaves.empty()) return absl::OkStatus();
  uint64_t read = 0;
  bool sought = false;
  IndexCursor cursor(*reader_, at.get(), at.stable_time(),
                     IndexCursor::Order::kTotal);
  for (const uint32_t leaf : leaves) {
    leaves_[leaf] = {};
    tombstones_[leaf] = {};
    quarantined_.erase(leaf);
    // After the leaves before, the cursor may already stand in this leaf, in a
    // later one, or at the end. A Seek would then skip the same deletions in
    // RocksDB again, one for each entry that was removed before the next one.
    const bool passed =
        sought && (!cursor.Valid() || LeafOf(cursor.key().position) >= leaf);
    // No entry has position 0.
    const uint64_t first = uint64_t{leaf} << (64 - kLeafBits);
    if (!passed) cursor.Seek(std::max<uint64_t>(first, 1));
    sought = true;
    for (; cursor.Valid() && LeafOf(cursor.key().position) == leaf;
         cursor.Next()) {
      if (++read % kEntriesPerPoll == 0 && Says(cancelled)) return GaveUp();
      Add(cursor);
    }
    if (!cursor.status().ok()) return ToAbsl(cursor.status());
  }
  entries_read_ += read;
  return absl::OkStatus();
}

absl::Status LeafDigests::Rescan(const HeldSnapshot& at,
                                 const std::function<bool()>& cancelled) {
  leaves_.assign(kLeafCount, Digest{});
  tombstones_.assign(kLeafCount, LeafTombstones{});
  quarantined_.clear();
  ++rescans_;
  uint64_t read = 0;
  IndexCursor cursor(*reader_, at.get(), at.stable_time(),
                     IndexCursor::Order::kTotal);
  for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
    if (++read % kEntriesPerPoll == 0 && Says(cancelled)) return GaveUp();
    Add(cursor);
  }
  entries_read_ += read;
  return ToAbsl(cursor.status());
}

absl::Status LeafDigests::AddDifferences(
    const std::vector<uint64_t>& positions, const HeldSnapshot& from,
    const HeldSnapshot& to, const std::function<bool()>& cancelled) {
  if (positions.empty()) return absl::OkStatus();
  // Both cursors use one stable time: in the leaves that are not read as a
  // whole the old and the new one are equivalent.
  IndexCursor old(*reader_, from.get(), to.stable_time(),
                  IndexCursor::Order::kWithinPosition);
  IndexCursor young(*reader_, to.get(), to.stable_time(),
                    IndexCursor::Order::kWithinPosition);
  uint64_t read = 0;
  for (const uint64_t position : positions) {
    if (++read % kEntriesPerPoll == 0 && Says(cancelled)) return GaveUp();
    for (old.Seek(position); old.At(position); old.Next(), ++read) {
      Remove(old);
    }
    for (young.Seek(position); young.At(position); young.Next(), ++read) {
      Add(young);
    }
    if (!old.status().ok()) return ToAbsl(old.status());
    if (!young.status().ok()) return ToAbsl(young.status());
  }
  entries_read_ += read;
  return absl::OkStatus();
}

void LeafDigests::DropBase() {
  base_ = nullptr;
  counted_ = false;
  notes_.Stop();
}

bool LeafDigests::UpToDate() const {
  std::lock_guard lock(ready_mutex_);
  return base_ != nullptr && notes_.tracking() && !distrusted_;
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
