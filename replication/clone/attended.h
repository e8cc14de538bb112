// A long call, attended by the thread that called: while another thread does
// the work, it tells how far that is, and asks whether to end it.

#ifndef ROCKSYNC_REPLICATION_CLONE_ATTENDED_H_
#define ROCKSYNC_REPLICATION_CLONE_ATTENDED_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "rocksdb/status.h"
#include "rocksync/clone.h"

namespace rocksync {

// Runs `work` on a thread of its own, with options whose `progress` returns
// once this thread has called that of `clone`, and whose `cancelled` says what
// the one of `clone` said last. This thread asks the latter after each call of
// `progress` and ten times a second, as often as it tells again what the work
// told last. Aborted: no thread can be started.
rocksdb::Status Attended(
    const CloneOptions& clone,
    const std::function<rocksdb::Status(const CloneOptions&)>& work);

// Calls `end` once `cancelled` returns true, which a thread asks ten times a
// second for the lifetime of this: so a wait for a silent peer ends. Without a
// thread to be had, it ends by itself.
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
