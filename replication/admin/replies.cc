#include "replication/admin/replies.h"

#include <algorithm>

#include "replication/peering/heartbeat.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

// The time between heartbeats. It is short, since the client's limit for a
// silent replica is not known here, and may be shorter than this replica's.
constexpr milliseconds kInterval{250};

}  // namespace

Replies::Replies(Connection* connection, milliseconds io_timeout)
    : connection_(connection),
      io_timeout_(io_timeout),
      heartbeats_([this] { SendHeartbeats(); }) {}

Replies::~Replies() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_all();
  heartbeats_.join();
}

rocksdb::Status Replies::Send(Reply::Kind kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  return connection_->Send(ReplyMessage({kind, text}), io_timeout_);
}

bool Replies::IsAskerGone(std::chrono::steady_clock::time_point* heard) {
  if (!connection_->Send(Heartbeat::Message(), io_timeout_).ok()) return true;
  std::string message;
  rocksdb::Status status;
  while ((status = connection_->Receive(&message, milliseconds(0))).ok()) {
    if (!Heartbeat::Is(message)) return true;
    *heard = std::chrono::steady_clock::now();
  }
  return !status.IsTimedOut() ||
         std::chrono::steady_clock::now() - *heard > io_timeout_;
}

void Replies::SendHeartbeats() {
  std::unique_lock lock(mutex_);
  auto heard = std::chrono::steady_clock::now();
  const milliseconds interval = std::min(io_timeout_ / 4, kInterval);
  while (!done_changed_.wait_for(lock, interval, [this] { return done_; })) {
    if (IsAskerGone(&heard)) {
      asker_is_gone_ = true;
      return;
    }
  }
}

}  // namespace rocksync
