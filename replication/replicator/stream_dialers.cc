#include "replication/replicator/stream_dialers.h"

#include <algorithm>
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

Status StreamDialers::Add(size_t number, const std::string& address) {
  if (!replica_->takes_streams()) return Status::OK();
  const std::lock_guard lock(mutex_);
  if (peers_.count(number) != 0) return Status::OK();
  auto peer = std::make_unique<Peer>(number, address);
  try {
    peer->thread = std::thread([this, raw = peer.get()] { Run(raw); });
  } catch (const std::system_error& error) {
    return Status::Aborted("cannot start a thread", error.what());
  }
  peers_.emplace(number, std::move(peer));
  return Status::OK();
}

void StreamDialers::Remove(size_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = peers_.find(number);
  if (found == peers_.end()) return;
  found->second->removed = true;
  if (found->second->stream != nullptr) found->second->stream->Close();
  removed_.push_back(std::move(found->second));
  peers_.erase(found);
  changed_.notify_all();
}

size_t StreamDialers::ending() {
  const std::lock_guard lock(mutex_);
  JoinEnded();
  return removed_.size();
}

void StreamDialers::JoinEnded() {
  std::erase_if(removed_, [](const std::unique_ptr<Peer>& peer) {
    if (!peer->ended) return false;
    peer->thread.join();
    return true;
  });
}

void StreamDialers::Wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void StreamDialers::Join() {
  Wake();
  for (auto& [number, peer] : peers_) peer->thread.join();
  for (const std::unique_ptr<Peer>& peer : removed_) peer->thread.join();
  peers_.clear();
  removed_.clear();
}

void StreamDialers::Sleep(const Peer& peer, milliseconds time) {
  std::unique_lock lock(mutex_);
  if (!Over(peer)) changed_.wait_for(lock, time);
}

void StreamDialers::Run(Peer* peer) {
  uint64_t peer_id = 0;  // once known
  RedialPause pause;
  std::string last_error;
  // When the stream that the peer dialed was first seen; not yet: never.
  constexpr Clock::time_point kNever = Clock::time_point::max();
  Clock::time_point theirs = kNever;
  while (!Over(*peer)) {
    if (!replica_->streams.allowed() || replica_->streams.Has(peer_id)) {
      theirs = std::min(theirs, Clock::now());
      Sleep(*peer, kLookAgain);
      continue;
    }
    const Clock::time_point began = Clock::now();
    // A member list that ends it says nothing against dialing anew.
    bool streamed = theirs != kNever && began - theirs >= kLasting;
    theirs = kNever;
    const Status status = Stream(peer, &peer_id, &streamed);
    if (Over(*peer)) break;
    streamed |= Clock::now() - began >= kLasting;
    const std::string error = OneLine(status.ToString());
    if (!status.IsBusy() && !status.IsTryAgain() && error != last_error) {
      last_error = error;
      rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, replica_->log,
                   "rocksync: no stream with %s: %s", peer->address.c_str(),
                   error.c_str());
    }
    Sleep(*peer, pause.After(streamed));
  }
  peer->ended = true;
}

Status StreamDialers::Connect(const Peer& peer, std::unique_ptr<Link>* link) {
  const std::function<bool()> over = [this, &peer] { return Over(peer); };
  Status status;
  // Each of a few set-ups may take over a newer member list.
  for (int i = 0; i < kSetups; ++i) {
    std::unique_ptr<Connection> connection;
    status = replica_->transport->Connect(
        peer.address, std::min(kConnectPatience, replica_->options.io_timeout),
        over, &connection);
    if (status.ok()) {
      status = Link::Open(replica_, std::move(connection), link);
    }
    if (!status.IsTryAgain()) break;
  }
  return status;
}

Status StreamDialers::Stream(Peer* peer, uint64_t* peer_id, bool* streamed) {
  std::unique_ptr<Link> link;
  Status status = Connect(*peer, &link);
  if (!status.ok()) return status;
  *peer_id = link->peer_id();
  if (!replica_->stats.Met(peer->address, *peer_id, link->open(),
                           peer->removed)) {
    return Status::Aborted("the peer was removed");
  }
  if (!link->peer_takes_streams()) {
    Sleep(*peer, RedialPause::kLongest);
    return Status::Busy("the peer takes no streams");
  }
  if (replica_->streams.Has(*peer_id)) {
    return Status::Busy("the peer has opened one");
  }
  StreamLink stream(replica_, link.get(),
                    [this, peer] { repair_(peer->number); });
  {
    const std::lock_guard lock(mutex_);
    if (Over(*peer)) return Status::Aborted("the peer was removed");
    peer->stream = &stream;
  }
  status = stream.Run("");
  *streamed |= stream.carried();
  const std::lock_guard lock(mutex_);
  peer->stream = nullptr;
  return status;
}

}  // namespace rocksync
