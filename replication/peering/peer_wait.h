// Records since when a session only waits for its peer, either to take what is
// sent or to answer. This tells a peer that has frozen from one that itself
// waits for this side's turn.

#ifndef ROCKSYNC_REPLICATION_PEERING_PEER_WAIT_H_
#define ROCKSYNC_REPLICATION_PEERING_PEER_WAIT_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "rocksync/transport.h"

namespace rocksync {

// Holds the wait that is going on, if any. Thread-safe.
class PeerWait {
 public:
  struct Wait {
    std::chrono::steady_clock::time_point since{};
    uint64_t bytes = 0;  // carried by the connection, both ways, by then
  };

  // Marks one wait for as long as it lives. `wait` may be null.
  class Scope {
   public:
    Scope(PeerWait* wait, const Connection& connection) : wait_(wait) {
      if (wait_ == nullptr) return;
      wait_->Set(Wait{std::chrono::steady_clock::now(),
                      connection.bytes_sent() + connection.bytes_received()});
    }
    ~Scope() {
      if (wait_ != nullptr) wait_->Set(std::nullopt);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PeerWait* const wait_;
  };

  // Returns the wait that is going on; nullopt: it is this side's turn.
  std::optional<Wait> now() const {
    const std::lock_guard lock(mutex_);
    return wait_;
  }

 private:
  void Set(const std::optional<Wait>& wait) {
    const std::lock_guard lock(mutex_);
    wait_ = wait;
  }

  mutable std::mutex mutex_;
  std::optional<Wait> wait_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_PEER_WAIT_H_
