// Sends the replies to one admin request that takes long.

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

// Sends replies. While it lives, a thread of its own sends heartbeats, so that
// the client can tell a replica that works from one that is gone. The client
// sends each one back, which shows that it still waits. Thread-safe.
class Replies {
 public:
  // `connection` must outlive it. REQUIRES: nothing else is sent over it
  // meanwhile.
  Replies(Connection* connection, std::chrono::milliseconds io_timeout);
  ~Replies();
  Replies(const Replies&) = delete;
  Replies& operator=(const Replies&) = delete;

  rocksdb::Status Send(Reply::Kind kind, const std::string& text);

  // Returns true if the client waits no longer: a heartbeat could not be sent,
  // none came back for io_timeout, or something else came.
  bool asker_is_gone() const { return asker_is_gone_; }

 private:
  void SendHeartbeats();
  // REQUIRES: mutex_ is held.
  bool IsAskerGone(std::chrono::steady_clock::time_point* heard);

  Connection* const connection_;
  const std::chrono::milliseconds io_timeout_;
  std::mutex mutex_;  // held while sending, so that frames never interleave
  std::condition_variable done_changed_;
  bool done_ = false;
  std::atomic<bool> asker_is_gone_{false};
  std::thread heartbeats_;  // last member, as it uses the others
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_ADMIN_REPLIES_H_
