// The feeds of a database (rocksync/change_feed.h): each subscriber gets the
// changes of peers, copied into a bounded buffer.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_FEEDS_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_FEEDS_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/change_feed.h"
#include "rocksync/hooks.h"

namespace rocksync {

// Gives changes to the subscribers. Thread-safe. Feeds may outlive it.
class ChangeFeeds {
 public:
  ChangeFeeds() : shared_(std::make_shared<Shared>()) {}
  ~ChangeFeeds() { Close(); }
  ChangeFeeds(const ChangeFeeds&) = delete;
  ChangeFeeds& operator=(const ChangeFeeds&) = delete;

  // Returns InvalidArgument if the buffer is too small or too large, and
  // Aborted if closed.
  rocksdb::Status Subscribe(const ChangeFeedOptions& options,
                            std::unique_ptr<ChangeFeed>* feed);

  // Whether there is a subscriber. Without one, applying pays for this check
  // alone.
  bool any() const {
    return shared_->subscribers.load(std::memory_order_acquire) != 0;
  }

  // Gives committed changes to all feeds. Their keys' stripes are still held,
  // so that changes of one key come in order. Never waits for a subscriber.
  void Publish(std::span<const AppliedChange> changes, uint64_t source);

  // Ends all feeds: nothing comes any more.
  void Close();

 private:
  // The buffer of one subscriber; guarded by Shared::mutex.
  struct Queue {
    explicit Queue(size_t size) : room(size) {}
    void Add(const FeedChange& change);

    const size_t room;
    size_t bytes = 0;
    std::vector<FeedChange> changes;
    uint64_t missed = 0;  // after `changes`
  };
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::set<Queue*> queues;
    bool closed = false;
    std::atomic<size_t> subscribers{0};
  };
  class Feed;

  const std::shared_ptr<Shared> shared_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_CHANGE_FEEDS_H_
