// Runs a long call on a thread of its own, while the calling thread attends: it
// reports the progress, and asks whether to end the call.

#ifndef ROCKSYNC_REPLICATION_CLONE_ATTENDED_H_
#define ROCKSYNC_REPLICATION_CLONE_ATTENDED_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "rocksdb/status.h"
#include "rocksync/clone.h"

namespace rocksync {

// Runs `work` on a thread of its own, with options of its own. Their `progress`
// returns once the calling thread has called `clone.progress`, and their
// `cancelled` returns what `clone.cancelled` last returned. Ten times a second,
// and at each progress of `work`, the calling thread calls `clone.progress`
// with the latest progress, and then `clone.cancelled`. Aborted: no thread can
// be started.
rocksdb::Status Attended(
    const CloneOptions& clone,
    const std::function<rocksdb::Status(const CloneOptions&)>& work);

// Calls `end` once `cancelled` returns true, so that a wait for a silent peer
// ends. While this object lives, a thread polls `cancelled` ten times a second.
// If no thread can be started, the wait ends by its timeout only.
class EndIfCancelled {
 public:
  // `cancelled` may be empty.
  EndIfCancelled(const std::function<bool()>& cancelled,
                 std::function<void()> end);
  ~EndIfCancelled();
  EndIfCancelled(const EndIfCancelled&) = delete;
  EndIfCancelled& operator=(const EndIfCancelled&) = delete;

 private:
  void Watch();

  const std::function<bool()> cancelled_;
  const std::function<void()> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_ATTENDED_H_
