// The replies to one admin request that takes long.

#ifndef ROCKSYNC_REPLICATION_ADMIN_REPLIES_H_
#define ROCKSYNC_REPLICATION_ADMIN_REPLIES_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "replication/admin/admin_messages.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// While it lives, a thread of its own sends heartbeats, so that the asker can
// tell a replica that works from one that is gone. The asker sends each one
// back, by which the replica knows that somebody waits. Thread-safe.
class Replies {
 public:
  // `connection` must outlive it, and nobody else sends over it meanwhile.
  Replies(Connection* connection, std::chrono::milliseconds io_timeout);
  ~Replies();
  Replies(const Replies&) = delete;
  Replies& operator=(const Replies&) = delete;

  rocksdb::Status Send(Reply::Kind kind, const std::string& text);

  // Nobody waits for the answer any more: a heartbeat could not be sent, or
  // none came back for io_timeout.
  bool asker_is_gone() const { return asker_is_gone_; }

 private:
  void SendHeartbeats();
  // REQUIRES: mutex_ is held.
  bool IsAskerGone(std::chrono::steady_clock::time_point* heard);

  Connection* const connection_;
  const std::chrono::milliseconds io_timeout_;
  std::mutex mutex_;  // a heartbeat never comes within another frame
  std::condition_variable done_changed_;
  bool done_ = false;
  std::atomic<bool> asker_is_gone_{false};
  std::thread heartbeats_;  // last, as it uses the others
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_REPLIES_H_
