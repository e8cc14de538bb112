// The peers that come to this replica, and operators' tools: a bounded number
// of threads, one for each accepted connection, which answer what is asked over
// it.

#ifndef ROCKSYNC_REPLICATION_VISITORS_H_
#define ROCKSYNC_REPLICATION_VISITORS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "replication/inquiries.h"
#include "replication/link.h"
#include "replication/replica.h"
#include "rocksync/transport.h"

namespace rocksync {

class Visitors {
 public:
  // `met` is called after each session, with the peer's replica id. `replica`
  // must outlive this.
  Visitors(Replica* replica,
           std::function<void(uint64_t, const SessionResult&)> met,
           VerifyCall verify)
      : replica_(replica),
        met_(std::move(met)),
        inquiries_(replica, std::move(verify)) {}

  ~Visitors() { Join(); }

  // From any thread; returns at once.
  void Receive(std::unique_ptr<Connection> connection);

  // Waits for the threads, which end when their connections are closed and
  // `replica->stopping` is set. No Receive may run any more.
  void Join();

 private:
  struct Visit {
    std::thread thread;
    std::atomic<bool> over{false};
  };

  void ForgetThoseOver();
  void Serve(std::unique_ptr<Connection> connection);
  void ServeReplica(std::unique_ptr<Connection> connection);
  void LogRefusal(const std::string& peer, const rocksdb::Status& why);
  SessionSlot SlotFor(uint64_t peer_id);

  Replica* const replica_;
  const std::function<void(uint64_t, const SessionResult&)> met_;
  Inquiries inquiries_;
  std::mutex mutex_;
  std::list<Visit> visits_;
  std::chrono::steady_clock::time_point logged_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_VISITORS_H_
