#include "replication/store/upkeep/foreign_writes.h"

#include <utility>

#include "rocksdb/env.h"

namespace rocksync {

using rocksdb::Status;

ForeignWrites::ForeignWrites(CountedDB* db, std::shared_ptr<FileWatch> files)
    : db_(db),
      files_(std::move(files)),
      known_(std::make_unique<const HeldSnapshot>(db, /*stable_time=*/0)) {}

ForeignWrites::Finding ForeignWrites::Find(
    const std::function<bool()>& cancelled, uint64_t* numbers,
    std::vector<ForeignRange>* ranges) {
  *numbers = 0;
  const bool seen = files_->Look();
  *ranges = files_->Found();
  const bool counted = db_->CountForeign(cancelled, numbers);
  if (!counted) *numbers = 0;
  if (!ranges->empty() || *numbers > 0) return Finding::kSome;
  return seen && counted ? Finding::kNone : Finding::kUnsure;
}

ForeignWrites::Finding ForeignWrites::Look(
    const std::function<bool()>& cancelled) {
  uint64_t numbers = 0;
  std::vector<ForeignRange> ranges;
  return Find(cancelled, &numbers, &ranges);
}

Status ForeignWrites::Detect(bool may_wait, bool all_compared,
                             const std::function<bool()>& cancelled,
                             const Recheck& recheck) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return Status::Incomplete("another thread looks for foreign writes");
  }
  if (known_ == nullptr) return Status::OK();  // closed
  // The snapshot comes first: what is found to be ours includes all that is in
  // it.
  auto now = std::make_unique<const HeldSnapshot>(db_, /*stable_time=*/0);
  uint64_t numbers = 0;
  std::vector<ForeignRange> ranges;
  const Finding finding = Find(
      may_wait ? cancelled : [] { return true; }, &numbers, &ranges);
  if (finding == Finding::kUnsure) {
    return Status::Incomplete(
        "rocksync: whether another program writes is not known yet",
        "a write is under way, or files are being ingested");
  }
  if (finding == Finding::kNone) {
    if (all_compared) known_ = std::move(now);
    return Status::OK();
  }
  const uint64_t known = known_->get()->GetSequenceNumber();
  const Status status = recheck(known, ranges);
  if (!status.ok()) return status;
  // Only now: a thread that looks in between finds it, or that it is being
  // compared.
  db_->Accept(numbers);
  files_->Deal(ranges.size());
  noticed_ += numbers + ranges.size();
  rocksdb::Warn(
      db_->GetDBOptions().info_log,
      "rocksync: detected writes that bypassed rocksync after sequence "
      "number %llu: %llu sequence numbers, %llu ranges of keys in "
      "files; re-checking the database, sessions wait. Write through "
      "ReplicatedDB.",
      static_cast<unsigned long long>(known),
      static_cast<unsigned long long>(numbers),
      static_cast<unsigned long long>(ranges.size()));
  return status;
}

void ForeignWrites::Close() {
  const std::lock_guard lock(mutex_);
  known_ = nullptr;
}

}  // namespace rocksync
