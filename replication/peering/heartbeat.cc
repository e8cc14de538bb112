#include "replication/peering/heartbeat.h"

#include <algorithm>

#include "replication/session/message_type.h"

namespace rocksync {
namespace {

constexpr char kMessage[] = {static_cast<char>(MessageType::kHeartbeat)};

}  // namespace

Heartbeat::Heartbeat(Connection* connection,
                     std::chrono::milliseconds io_timeout,
                     std::function<bool()> cancelled)
    : connection_(connection),
      io_timeout_(io_timeout),
      interval_(std::min(io_timeout / 4, kInterval)),
      cancelled_(std::move(cancelled)) {}

bool Heartbeat::Poll(Clock::time_point now) {
  if (cancelled_()) return true;
  if (now < due_) return false;
  PeerWaits(now);
  // The error is dropped: the session's next message to a peer that has gone
  // fails with a better one.
  return !connection_->Send(Message(), io_timeout_).ok();
}

std::string_view Heartbeat::Message() { return {kMessage, sizeof(kMessage)}; }

}  // namespace rocksync
