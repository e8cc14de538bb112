// Opens a stream to each peer, or of many to a few (stream/neighbour_choice.h),
// and opens it again when it has ended, unless the peer has opened one.

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

// Owns a thread for each peer that it opens streams to, which receives as long
// as one is open; and if there are more peers, one that replaces those to which
// there is none. Thread-safe but for Join.
class StreamDialers {
 public:
  // `repair` has a session run with the peer of this number soon.
  StreamDialers(ReplicatorContext* replica, uint64_t seed,
                std::function<void(size_t peer)> repair);
  ~StreamDialers() { Join(); }

  // These are peers, by their numbers, beside those that are; a number that was
  // removed is not used again. Aborted: there is no thread for one of them.
  rocksdb::Status Add(const std::map<size_t, std::string>& addresses);
  // No stream to this peer any more: one that is open is closed. Does not wait
  // for its thread.
  void Remove(size_t number);

  // Of streams to peers that were removed or replaced, how many are still to
  // end.
  size_t ending();

  // Streams may be open from now on, or not; after ReplicatorContext::streams
  // was told.
  void Wake();

  // Waits for the threads, which end when connections are closed and
  // `replica->stopping` is set. Nothing is added from then on.
  void Join();

 private:
  using Clock = std::chrono::steady_clock;

  struct Peer {
    Peer(size_t n, std::string a) : number(n), address(std::move(a)) {}
    const size_t number;
    const std::string address;
    std::atomic<bool> removed{false};
    std::atomic<bool> replaced{false};  // and removed for that
    std::atomic<bool> ended{false};     // its thread only has to be joined
    StreamRunner* stream = nullptr;     // that is open; under mutex_
    std::thread thread;                 // only used by who adds and joins
  };

  bool Over(const Peer& peer) const {
    return replica_->stopping || peer.removed;
  }
  // With mutex_ held:
  rocksdb::Status Choose();
  rocksdb::Status Begin(size_t number);
  void End(size_t number);
  bool IsCurrent(const Peer& peer) const;

  void ReplaceLoop();
  // A stream with this neighbour is open, of whichever side, in this zone.
  void NoteOpen(const Peer& peer, const std::string& zone);
  void NoteClosed(const Peer& peer);
  void NoteNoneWanted(const Peer& peer);

  void Run(Peer* peer);
  // One stream from its opening to its end; `streamed` becomes true if it
  // carried something.
  rocksdb::Status Stream(Peer* peer, uint64_t* peer_id, bool* streamed);
  void Sleep(const Peer& peer, std::chrono::milliseconds time);
  // Joins the threads of removed peers that have ended; under mutex_.
  void JoinEnded();

  ReplicatorContext* const replica_;
  const std::function<void(size_t peer)> repair_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, std::string> addresses_;  // of all peers
  NeighbourChoice choice_;
  std::map<size_t, std::unique_ptr<Peer>> peers_;  // that are neighbours
  std::vector<std::unique_ptr<Peer>> removed_;
  std::condition_variable look_;  // whether somebody is to be replaced
  std::thread replacing_;         // if there ever were more peers than may be
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_STREAM_DIALERS_H_
