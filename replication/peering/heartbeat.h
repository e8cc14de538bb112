// Sends heartbeats to a peer that waits for this side's turn in a session, to
// show that work goes on: preparing the digests of a large database takes
// longer than io_timeout.

#ifndef ROCKSYNC_REPLICATION_PEERING_HEARTBEAT_H_
#define ROCKSYNC_REPLICATION_PEERING_HEARTBEAT_H_

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {

// The longest time for one message, in multiples of io_timeout, if the peer
// shows in each io_timeout that it is alive: by a heartbeat, or by bytes of the
// message.
inline constexpr int kMaxPatience = 20;

// Sends the heartbeats of one session. The session polls it while it works, as
// the `cancelled` of its context, on the thread that sends, so a heartbeat
// never comes between the bytes of another frame. Not thread-safe.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  // `connection` must outlive it. A heartbeat is due after a quarter of
  // `io_timeout`, or after kInterval if that is less.
  Heartbeat(Connection* connection, std::chrono::milliseconds io_timeout,
            std::function<bool()> cancelled);

  // Sends a heartbeat if one is due. Returns true if the session is to end:
  // it was cancelled, or sending failed.
  bool Poll(Clock::time_point now);

  // Notes that the peer waits for this side from `now` on. Before the first
  // call no heartbeat is sent.
  void PeerWaits(Clock::time_point now) { due_ = now + interval_; }

  // Returns a heartbeat as it is sent.
  static std::string_view Message();
  // Returns true if `message`, as received, is a heartbeat.
  static bool Is(std::string_view message) { return message == Message(); }

 private:
  static constexpr std::chrono::milliseconds kInterval{1'000};

  Connection* const connection_;
  const std::chrono::milliseconds io_timeout_;
  const std::chrono::milliseconds interval_;
  const std::function<bool()> cancelled_;
  Clock::time_point due_ = Clock::time_point::max();
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_HEARTBEAT_H_
