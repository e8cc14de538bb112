// Tells a peer that waits for this side's turn that work goes on here: readying
// the digests of a large database takes longer than a silent peer is given.

#ifndef ROCKSYNC_REPLICATION_PEERING_HEARTBEAT_H_
#define ROCKSYNC_REPLICATION_PEERING_HEARTBEAT_H_

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {

// Times io_timeout, for one message of a peer that shows in each that it is
// alive: by heartbeats, or by bytes of the message.
inline constexpr int kMaxPatience = 20;

// One for each session. The session polls it while it works, as the
// `cancelled` of its context, on the thread that sends; so a heartbeat never
// comes between the bytes of another frame. Not thread-safe.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;

  // `connection` must outlive it. At least every quarter of `io_timeout` and
  // every `kInterval` the peer hears something.
  Heartbeat(Connection* connection, std::chrono::milliseconds io_timeout,
            std::function<bool()> cancelled);

  // Sends a heartbeat if one is due; true if the session is to end.
  bool Poll(Clock::time_point now);

  // From now on the peer waits for this side. Until it is first called nobody
  // waits, and nothing is sent.
  void PeerWaits(Clock::time_point now) { due_ = now + interval_; }

  // A heartbeat as it is sent.
  static std::string_view Message();
  // Is this message, as received, one?
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
