// Opens a stream to each peer, or to a few of many (stream/neighbour_choice.h).
// Opens it again when it has ended, unless the peer has opened one.

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"
#include "replication/peering/stream_runner.h"
#include "replication/stream/neighbour_choice.h"
#include "rocksdb/status.h"

namespace rocksync {

// Owns a thread for each peer that it opens streams to; the thread receives
// while a stream is open. If there are more peers than that, another thread
// replaces peers with which there is no stream. Thread-safe but for Join.
class StreamDialers {
 public:
  // `repair` requests a session with the peer of this number soon.
  StreamDialers(ReplicatorContext* replica, uint64_t seed,
                std::function<void(size_t peer)> repair);
  ~StreamDialers() { Join(); }

  // Adds peers, by their numbers, to those that there are. A number that was
  // removed is never reused. Returns Aborted if the system gives no thread for
  // one of them.
  rocksdb::Status Add(const std::map<size_t, std::string>& addresses);
  // Removes a peer, and closes its stream if one is open. Does not wait for its
  // thread.
  void Remove(size_t number);

  // Returns how many streams to peers that were removed or replaced still have
  // to end.
  size_t ending();

  // Wakes the threads, after ReplicatorContext::streams was told whether
  // streams are allowed.
  void Wake();

  // Waits for the threads, which end when connections are closed and
  // `replica->stopping` is set. REQUIRES: nothing is added from then on.
  void Join();

 private:
  using Clock = std::chrono::steady_clock;

  struct Peer {
    Peer(size_t n, std::string a) : number(n), address(std::move(a)) {}
    const size_t number;
    const std::string address;
    std::atomic<bool> removed{false};
    std::atomic<bool> replaced{false};  // removed to make room for another peer
    std::atomic<bool> ended{false};     // its thread only has to be joined
    StreamRunner* stream = nullptr;     // the open one; guarded by mutex_
    std::thread thread;                 // used only to start and join it
  };

  bool Over(const Peer& peer) const {
    return replica_->stopping || peer.removed;
  }
  // REQUIRES, of the next four: mutex_ is held.
  rocksdb::Status Choose();
  rocksdb::Status Begin(size_t number);
  void End(size_t number);
  bool IsCurrent(const Peer& peer) const;

  void ReplaceLoop();
  // Notes that a stream with this neighbour, which is in `zone`, is open,
  // whichever side dialed it.
  void NoteOpen(const Peer& peer, const std::string& zone);
  void NoteClosed(const Peer& peer);
  void NoteNoneWanted(const Peer& peer);

  void Run(Peer* peer);
  // Runs one stream from its opening to its end. Sets `*streamed` if it carried
  // changes.
  rocksdb::Status Stream(Peer* peer, uint64_t* peer_id, bool* streamed);
  void Sleep(const Peer& peer, std::chrono::milliseconds time);
  // Joins the threads of removed peers that have ended.
  // REQUIRES: mutex_ is held.
  void JoinEnded();

  ReplicatorContext* const replica_;
  const std::function<void(size_t peer)> repair_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, std::string> addresses_;  // of all peers
  NeighbourChoice choice_;
  std::map<size_t, std::unique_ptr<Peer>> peers_;  // the neighbours
  std::vector<std::unique_ptr<Peer>> removed_;
  std::condition_variable look_;  // wakes replacing_
  std::thread replacing_;         // runs if peers ever exceeded the limit
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_
