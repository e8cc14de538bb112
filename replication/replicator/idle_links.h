// Keeps the links that peers dialed to this replica, between their sessions. An
// idle link holds no thread, if its transport can tell when something comes
// (Connection::WhenReceivable).

#ifndef ROCKSYNC_REPLICATION_REPLICATOR_IDLE_LINKS_H_
#define ROCKSYNC_REPLICATION_REPLICATOR_IDLE_LINKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "replication/peering/link.h"
#include "replication/peering/replicator_context.h"

namespace rocksync {

// Thread-safe but for Join. Owned by a shared_ptr, since a transport may run
// its callback after this is gone.
//
// No link is destroyed, and no connection called, while the mutex is held: a
// connection may call back.
class IdleLinks : public std::enable_shared_from_this<IdleLinks> {
 public:
  // Serves what a peer opens with the message `first`: a session or a stream.
  // Called on a thread of IdleLinks. Returns true if the link may be kept.
  using Serve = std::function<bool(Link* link, std::string first)>;

  // The most links that are served at once; others wait. Streams, which last,
  // do not count.
  static constexpr size_t kMaxServing = 64;

  // `replica` must live until Join has returned.
  IdleLinks(ReplicatorContext* replica, Serve serve)
      : replica_(replica), serve_(std::move(serve)) {}

  // Keeps the link until it fails. Returns false, and leaves `*link` as it was,
  // if its transport cannot tell when something comes.
  bool Add(std::unique_ptr<Link>* link);

  // Returns the number of links kept, those that are being served included.
  size_t size() const;

  // Waits for the threads, which end when connections are closed and
  // `replica->stopping` is set, and destroys all links.
  // REQUIRES: nothing is added from then on.
  void Join();

 private:
  struct Kept {
    std::unique_ptr<Link> link;  // null: a thread holds it
    bool woken = false;          // something came while a thread held it
  };
  struct Worker {
    std::thread thread;
    std::atomic<bool> over{false};
  };

  // Puts back a link that this thread holds: it waits, or is served again if it
  // was woken. Returns false if its transport cannot tell when something comes.
  bool Wait(uint64_t number, std::unique_ptr<Link>* link);
  // Notes that something has come over a link that waited.
  void Wake(uint64_t number);
  // Makes sure that a worker serves this link, unless IdleLinks stops. Returns
  // false if the system gives no thread and no worker is running.
  // REQUIRES: mutex_ is held.
  bool HaveItServed(uint64_t number);
  bool StartWorker();

  void Work();
  // Takes a link that was woken; null: there is none, and the worker ends.
  std::unique_ptr<Link> NextWoken(uint64_t* number);
  // Serves all that has come over the link. Returns true if the link may wait
  // for more.
  bool ServeAll(Link* link);
  void ServeStream(Link* link, std::string first);
  void Forget(uint64_t number);

  ReplicatorContext* const replica_;
  const Serve serve_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Kept> kept_;  // by numbers that are never reused
  uint64_t next_ = 0;
  std::deque<uint64_t> woken_;
  std::list<Worker> workers_;
  size_t serving_ = 0;  // workers that run and do not serve a stream
  bool joined_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_IDLE_LINKS_H_
