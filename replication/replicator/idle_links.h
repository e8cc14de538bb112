// Links over which peers come to this replica, between their sessions: while
// nothing comes over them they hold no thread, if their transport can tell when
// something does (Connection::WhenReceivable).

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

// Thread-safe but for Join. In a shared_ptr, since transports may call what
// they were given after this is gone.
//
// No link is let go, and no connection called, under the mutex: what is called
// of a connection may call back.
class IdleLinks : public std::enable_shared_from_this<IdleLinks> {
 public:
  // What to do, on a thread of this, when a peer opens something: a session by
  // `first`, or a stream. True: the link may be kept.
  using Serve = std::function<bool(Link* link, std::string first)>;

  // Links that are served at once; more wait for one of them. Streams, which
  // last, do not count.
  static constexpr size_t kMaxServing = 64;

  // `replica` must live until Join has returned.
  IdleLinks(ReplicatorContext* replica, Serve serve)
      : replica_(replica), serve_(std::move(serve)) {}

  // Keeps the link until it fails. False, and `*link` is as it was: its
  // transport cannot tell when something comes.
  bool Add(std::unique_ptr<Link>* link);

  // Links that are kept, those that are being served too.
  size_t size() const;

  // Waits for the threads, which end when connections are closed and
  // `replica->stopping` is set, and lets go of all links. Nothing is added from
  // then on.
  void Join();

 private:
  struct Kept {
    std::unique_ptr<Link> link;  // null: somebody has it in hand
    bool woken = false;          // meanwhile something came
  };
  struct Worker {
    std::thread thread;
    std::atomic<bool> over{false};
  };

  // `link` is in hand; has it wait, or be served again. False: it cannot wait.
  bool Wait(uint64_t number, std::unique_ptr<Link>* link);
  // Something has come over this link, which waited.
  void Wake(uint64_t number);
  // With mutex_ held: somebody will serve one more, unless this stops. False:
  // the system gives no thread, and nobody is there.
  bool HaveItServed(uint64_t number);
  bool StartWorker();

  void Work();
  // Takes a link that was woken in hand; null: none, and the worker is over.
  std::unique_ptr<Link> NextWoken(uint64_t* number);
  // All that has come over it. True: it may wait for more.
  bool ServeAll(Link* link);
  void ServeStream(Link* link, std::string first);
  void Forget(uint64_t number);

  ReplicatorContext* const replica_;
  const Serve serve_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Kept> kept_;  // by numbers that are not used again
  uint64_t next_ = 0;
  std::deque<uint64_t> woken_;
  std::list<Worker> workers_;
  size_t serving_ = 0;  // workers that are not over, nor in a stream
  bool joined_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_REPLICATOR_IDLE_LINKS_H_
