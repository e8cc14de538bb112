#include "replication/replicator/stream_dialers.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "replication/base/status.h"
#include "replication/peering/dial_link.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/peering/stream_runner.h"
#include "replication/peering/streams.h"
#include "replication/replicator/redial_pause.h"
#include "replication/statistics/one_line.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

// A stream that lasted this long counts as one, even if it carried nothing.
constexpr milliseconds kLasting{1'000};
// How often to check whether the peer's stream, or a pause, is over.
constexpr milliseconds kLookAgain{200};
// How often to check whether a neighbour is to be replaced.
constexpr milliseconds kLookForSilent{1'000};

Status StartThread(std::thread* thread, std::function<void()> body) {
  try {
    *thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return NoThread(error.what());
  }
  return Status::OK();
}

}  // namespace

StreamDialers::StreamDialers(ReplicatorContext* replica, uint64_t seed,
                             std::function<void(size_t peer)> repair)
    : replica_(replica),
      repair_(std::move(repair)),
      choice_({.most = replica->options.max_stream_peers,
               .zone = replica->options.zone},
              seed) {}

Status StreamDialers::Add(const std::map<size_t, std::string>& addresses) {
  if (!replica_->takes_streams()) return Status::OK();
  const std::lock_guard lock(mutex_);
  for (const auto& [number, address] : addresses) {
    if (addresses_.emplace(number, address).second) choice_.Add(number);
  }
  const Status status = Choose();
  if (!status.ok() || !choice_.limited() || replacing_.joinable()) {
    return status;
  }
  return StartThread(&replacing_, [this] { ReplaceLoop(); });
}

void StreamDialers::Remove(size_t number) {
  const std::lock_guard lock(mutex_);
  addresses_.erase(number);
  choice_.Remove(number);
  End(number);
}

Status StreamDialers::Choose() {
  const std::set<size_t>& chosen = choice_.Choose(MonotonicMs());
  std::vector<size_t> replaced;
  for (const auto& [number, peer] : peers_) {
    if (chosen.count(number) == 0) replaced.push_back(number);
  }
  for (const size_t number : replaced) {
    peers_.at(number)->replaced = true;
    End(number);
  }
  Status status;
  for (const size_t number : chosen) {
    if (status.ok() && peers_.count(number) == 0) status = Begin(number);
  }
  return status;
}

Status StreamDialers::Begin(size_t number) {
  auto peer = std::make_unique<Peer>(number, addresses_.at(number));
  const Status status =
      StartThread(&peer->thread, [this, raw = peer.get()] { Run(raw); });
  if (status.ok()) peers_.emplace(number, std::move(peer));
  return status;
}

void StreamDialers::End(size_t number) {
  const auto found = peers_.find(number);
  if (found == peers_.end()) return;
  found->second->removed = true;
  if (found->second->stream != nullptr) found->second->stream->Close();
  removed_.push_back(std::move(found->second));
  peers_.erase(found);
  changed_.notify_all();
}

void StreamDialers::ReplaceLoop() {
  std::unique_lock lock(mutex_);
  while (!replica_->stopping) {
    JoinEnded();
    // If the system gives no thread for a peer now, it may the next time.
    Choose().PermitUncheckedError();
    look_.wait_for(lock, kLookForSilent);
  }
}

// A Peer that was replaced is not current, even if its number is a neighbour's
// again.
bool StreamDialers::IsCurrent(const Peer& peer) const {
  const auto found = peers_.find(peer.number);
  return found != peers_.end() && found->second.get() == &peer;
}

void StreamDialers::NoteOpen(const Peer& peer, const std::string& zone) {
  const std::lock_guard lock(mutex_);
  if (IsCurrent(peer)) choice_.Open(peer.number, zone);
  // Now that its zone is known, the zone may have one neighbour too many.
  look_.notify_all();
}

void StreamDialers::NoteClosed(const Peer& peer) {
  const std::lock_guard lock(mutex_);
  if (IsCurrent(peer)) choice_.Closed(peer.number, MonotonicMs());
}

void StreamDialers::NoteNoneWanted(const Peer& peer) {
  const std::lock_guard lock(mutex_);
  if (IsCurrent(peer)) choice_.NoneWanted(peer.number, MonotonicMs());
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
  look_.notify_all();
}

void StreamDialers::Join() {
  Wake();
  if (replacing_.joinable()) replacing_.join();
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
  uint64_t peer_id = 0;  // 0: not known yet
  RedialPause pause;
  std::string last_error;
  // When the stream that the peer dialed was first seen; kNever: not yet.
  constexpr Clock::time_point kNever = Clock::time_point::max();
  Clock::time_point theirs = kNever;
  while (!Over(*peer)) {
    const bool allowed = replica_->streams.allowed();
    const std::optional<std::string> zone = replica_->streams.ZoneOf(peer_id);
    if (!allowed || zone.has_value()) {
      theirs = std::min(theirs, Clock::now());
      allowed ? NoteOpen(*peer, *zone) : NoteNoneWanted(*peer);
      Sleep(*peer, kLookAgain);
      continue;
    }
    const Clock::time_point began = Clock::now();
    // If a member list ended the peer's stream, that is no reason for a longer
    // pause before dialing anew.
    bool streamed = theirs != kNever && began - theirs >= kLasting;
    theirs = kNever;
    const Status status = Stream(peer, &peer_id, &streamed);
    if (Over(*peer)) break;
    NoteClosed(*peer);
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

Status StreamDialers::Stream(Peer* peer, uint64_t* peer_id, bool* streamed) {
  std::unique_ptr<Link> link;
  Status status = DialLink(replica_,
                           {.address = peer->address,
                            .connect_timeout = std::min(
                                kConnectTimeout, replica_->options.io_timeout),
                            .cancelled = [this, peer] { return Over(*peer); }},
                           &link);
  if (!status.ok()) return status;
  *peer_id = link->peer_id();
  if (!replica_->stats.RecordMeeting(peer->address, *peer_id, link->open(),
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
  StreamRunner stream(replica_, link.get(), [this, peer, id = *peer_id] {
    const std::optional<std::string> zone = replica_->streams.ZoneOf(id);
    if (zone.has_value()) NoteOpen(*peer, *zone);
    repair_(peer->number);
  });
  {
    const std::lock_guard lock(mutex_);
    if (Over(*peer)) return Status::Aborted("the peer was removed");
    peer->stream = &stream;
  }
  status = stream.Run("");
  *streamed |= stream.carried();
  {
    const std::lock_guard lock(mutex_);
    peer->stream = nullptr;
  }
  // A session brings what the replaced stream had not sent yet.
  if (peer->replaced && !replica_->stopping) repair_(peer->number);
  return status;
}

}  // namespace rocksync
