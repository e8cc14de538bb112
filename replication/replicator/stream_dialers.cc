#include "replication/replicator/stream_dialers.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "replication/peering/log.h"
#include "replication/peering/stream_link.h"
#include "replication/peering/streams.h"
#include "replication/replicator/redial_pause.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

constexpr milliseconds kConnectPatience{5'000};
constexpr int kSetups = 3;
// A stream that lasted so long was one.
constexpr milliseconds kLasting{1'000};
// How often is looked whether the peer's stream, or a pause, is over.
constexpr milliseconds kLookAgain{200};

}  // namespace

Status StreamDialers::Start() {
  if (!replica_->takes_streams()) return Status::OK();
  try {
    for (size_t i = 0; i < replica_->options.peers.size(); ++i) {
      threads_.emplace_back([this, i] { Run(i); });
    }
  } catch (const std::system_error& error) {
    return Status::Aborted("cannot start a thread", error.what());
  }
  return Status::OK();
}

void StreamDialers::Wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void StreamDialers::Join() {
  Wake();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void StreamDialers::Sleep(milliseconds time) {
  std::unique_lock lock(mutex_);
  if (!replica_->stopping) changed_.wait_for(lock, time);
}

void StreamDialers::Run(size_t peer) {
  uint64_t peer_id = 0;  // once known
  RedialPause pause;
  std::string last_error;
  // When the stream that the peer dialed was first seen.
  std::optional<Clock::time_point> theirs;
  while (!replica_->stopping) {
    if (!replica_->streams.allowed() || replica_->streams.Has(peer_id)) {
      if (!theirs.has_value()) theirs = Clock::now();
      Sleep(kLookAgain);
      continue;
    }
    const Clock::time_point began = Clock::now();
    // A member list that ends it says nothing against dialing anew.
    bool streamed = theirs.has_value() && began - *theirs >= kLasting;
    theirs.reset();
    const Status status = Stream(peer, &peer_id, &streamed);
    if (replica_->stopping) return;
    streamed |= Clock::now() - began >= kLasting;
    const std::string error = OneLine(status.ToString());
    if (!status.IsBusy() && !status.IsTryAgain() && error != last_error) {
      last_error = error;
      rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
                   "rocksync: no stream with %s: %s",
                   replica_->options.peers[peer].c_str(), error.c_str());
    }
    Sleep(pause.After(streamed));
  }
}

Status StreamDialers::Connect(const std::string& address,
                              std::unique_ptr<Link>* link) {
  Status status;
  // Each of a few set-ups may take over a newer member list.
  for (int i = 0; i < kSetups; ++i) {
    std::unique_ptr<Connection> connection;
    status = replica_->transport->Connect(
        address, std::min(kConnectPatience, replica_->options.io_timeout),
        replica_->stopped, &connection);
    if (status.ok()) {
      status = Link::Open(replica_, std::move(connection), link);
    }
    if (!status.IsTryAgain()) break;
  }
  return status;
}

Status StreamDialers::Stream(size_t peer, uint64_t* peer_id, bool* streamed) {
  std::unique_ptr<Link> link;
  Status status = Connect(replica_->options.peers[peer], &link);
  if (!status.ok()) return status;
  *peer_id = link->peer_id();
  replica_->stats.Met(replica_->options.peers[peer], *peer_id);
  if (!link->peer_takes_streams()) {
    Sleep(RedialPause::kLongest);
    return Status::Busy("the peer takes no streams");
  }
  if (replica_->streams.Has(*peer_id)) {
    return Status::Busy("the peer has opened one");
  }
  StreamLink stream(replica_, link.get(), [this, peer] { repair_(peer); });
  status = stream.Run("");
  *streamed |= stream.carried();
  return status;
}

}  // namespace rocksync
