#include "replication/store/write/change_feeds.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "rocksync/max_duration.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr size_t kLeastBuffer = size_t{4} << 10;
// A larger buffer is a mistake, a -1 for example.
constexpr uint64_t kMaxBuffer = uint64_t{64} << 30;

}  // namespace

class ChangeFeeds::Feed : public ChangeFeed {
 public:
  Feed(std::shared_ptr<Shared> shared, size_t buffer_bytes)
      : shared_(std::move(shared)), queue_(buffer_bytes) {}
  ~Feed() override {
    const std::lock_guard lock(shared_->mutex);
    shared_->queues.erase(&queue_);
    shared_->subscribers = shared_->queues.size();
  }

  // Returns false if the feeds are closed already.
  bool Enter() {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->closed) return false;
    shared_->queues.insert(&queue_);
    shared_->subscribers = shared_->queues.size();
    return true;
  }

  Status Next(std::chrono::milliseconds timeout,
              std::vector<FeedChange>* changes, uint64_t* missed) override {
    changes->clear();
    *missed = 0;
    std::unique_lock lock(shared_->mutex);
    const auto some = [this] {
      return !queue_.changes.empty() || queue_.missed != 0;
    };
    shared_->changed.wait_for(lock, std::min(timeout, kMaxDuration),
                              [&] { return some() || shared_->closed; });
    if (!some()) {
      return shared_->closed ? Status::Aborted("the database was closed")
                             : Status::TimedOut("no change came");
    }
    changes->swap(queue_.changes);
    queue_.bytes = 0;
    *missed = std::exchange(queue_.missed, 0);
    return Status::OK();
  }

 private:
  const std::shared_ptr<Shared> shared_;
  Queue queue_;  // guarded by Shared::mutex
};

// Leaves out a change that does not fit, and then all others until the buffered
// ones are fetched: so the missed changes are in one place, after the buffered
// ones.
void ChangeFeeds::Queue::Add(const FeedChange& change) {
  const size_t size =
      sizeof(FeedChange) + change.family.size() + change.key.size();
  if (missed != 0 || bytes + size > room) {
    ++missed;
    return;
  }
  bytes += size;
  changes.push_back(change);
}

Status ChangeFeeds::Subscribe(const ChangeFeedOptions& options,
                              std::unique_ptr<ChangeFeed>* feed) {
  if (options.buffer_bytes < kLeastBuffer ||
      options.buffer_bytes > kMaxBuffer) {
    return Status::InvalidArgument(
        "ChangeFeedOptions::buffer_bytes must be at least 4 KiB and at most "
        "64 GiB");
  }
  auto entered = std::make_unique<Feed>(shared_, options.buffer_bytes);
  if (!entered->Enter()) return Status::Aborted("the database was closed");
  *feed = std::move(entered);
  return Status::OK();
}

void ChangeFeeds::Publish(std::span<const AppliedChange> changes,
                          uint64_t source) {
  if (changes.empty()) return;
  std::vector<FeedChange> copies;
  copies.reserve(changes.size());
  for (const AppliedChange& change : changes) {
    copies.push_back({change.family.ToString(), change.key.ToString(),
                      change.tombstone, change.version, source, change.replaces,
                      change.replaced_tombstone, change.replaced_version});
  }
  const std::lock_guard lock(shared_->mutex);
  for (Queue* queue : shared_->queues) {
    for (const FeedChange& change : copies) queue->Add(change);
  }
  shared_->changed.notify_all();
}

void ChangeFeeds::Close() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
}

}  // namespace rocksync
