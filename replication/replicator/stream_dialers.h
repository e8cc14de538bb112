// Opens a stream to each peer of the options and opens it again when it has
// ended, unless the peer has opened one.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replica.h"
#include "rocksdb/status.h"

namespace rocksync {

// Owns a thread for each peer, which receives as long as a stream is open.
class StreamDialers {
 public:
  // `repair` has a session run with the peer of this number soon.
  StreamDialers(Replica* replica, std::function<void(size_t peer)> repair)
      : replica_(replica), repair_(std::move(repair)) {}
  ~StreamDialers() { Join(); }

  rocksdb::Status Start();

  // Streams may be open from now on, or not; after Replica::streams was told.
  void Wake();

  // Waits for the threads, which end when connections are closed and
  // `replica->stopping` is set.
  void Join();

 private:
  using Clock = std::chrono::steady_clock;

  void Run(size_t peer);
  // One stream from its opening to its end; `streamed` becomes true if it
  // carried something.
  rocksdb::Status Stream(size_t peer, uint64_t* peer_id, bool* streamed);
  rocksdb::Status Connect(const std::string& address,
                          std::unique_ptr<Link>* link);
  void Sleep(std::chrono::milliseconds time);

  Replica* const replica_;
  const std::function<void(size_t peer)> repair_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_
