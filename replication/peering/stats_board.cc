#include "replication/peering/stats_board.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "replication/peering/log.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kBetweenProgress{100};

uint64_t WallClockMs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// Of one peer, which was known in two ways.
void Join(const StreamStats& other, StreamStats* stream) {
  stream->open += other.open;
  stream->opened += other.opened;
  stream->pairs_sent += other.pairs_sent;
  stream->pairs_received += other.pairs_received;
  stream->pairs_applied += other.pairs_applied;
  stream->duplicates += other.duplicates;
  stream->bytes_sent += other.bytes_sent;
  stream->bytes_received += other.bytes_received;
  stream->gaps += other.gaps;
  stream->pairs_given_up += other.pairs_given_up;
}

// Once, and without those that are closed.
void AddConnection(const std::weak_ptr<const void>& connection,
                   std::vector<std::weak_ptr<const void>>* connections) {
  std::erase_if(*connections, [&](const auto& other) {
    return other.expired() || other.lock() == connection.lock();
  });
  connections->push_back(connection);
}

// What is offered counts once the answer tells what it is, so that each kind,
// and what is of none, only grows.
uint64_t BytesOf(const SessionReport& report) {
  return report.bytes_sent + report.bytes_received - report.unanswered_bytes;
}

SessionProgress ToProgress(const std::string& peer,
                           const SessionReport& report) {
  SessionProgress progress;
  progress.peer = peer;
  progress.proven_equal = report.proven_equal;
  progress.quarantined_here = report.left_out;
  progress.quarantined_there = report.peer_left_out;
  progress.elements = report.elements;
  progress.elements_compared = report.elements_compared;
  progress.pairs_to_send = report.pairs_to_send;
  progress.pairs_to_receive = report.pairs_to_receive;
  progress.pairs_sent = report.pairs_sent;
  progress.pairs_received = report.pairs_received;
  progress.pairs_applied = report.pairs_applied;
  progress.bytes_filters = report.filter_bytes;
  progress.bytes_offers = report.offer_bytes;
  progress.bytes_keys = report.key_bytes;
  progress.bytes_values = report.value_bytes;
  progress.bytes_total = BytesOf(report);
  progress.exchanges = report.exchanges;
  progress.round_trips = report.round_trips;
  progress.plan = report.plan;
  return progress;
}

}  // namespace

SessionLine::SessionLine(StatsBoard* board, std::string peer,
                         uint64_t replica_id)
    : board_(board),
      peer_(std::move(peer)),
      replica_id_(replica_id),
      began_ms_(WallClockMs()) {}

void SessionLine::Tell(const SessionProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (board_->progress_ == nullptr) return;
  if (!progress.finished && now - told_ < kBetweenProgress) return;
  told_ = now;
  board_->progress_(progress);
}

void SessionLine::Update(const SessionReport& report) {
  // Before the peer has answered there is no session to tell of.
  const bool begun = report.bytes_received > 0;
  const SessionProgress progress = ToProgress(peer_, report);
  {
    const std::lock_guard lock(board_->mutex_);
    if (begun) board_->FindForLine(peer_, replica_id_)->stats.last = progress;
    board_->Count(report, counted_);
    counted_ = report;
  }
  if (begun) Tell(progress);
}

void SessionLine::Finish(const SessionReport& last,
                         const rocksdb::Status& status) {
  SessionReport report = last;
  report.unanswered_bytes = 0;  // no answer comes any more
  SessionProgress progress = ToProgress(peer_, report);
  progress.finished = true;
  if (!status.ok()) progress.error = OneLine(status.ToString());
  {
    const std::lock_guard lock(board_->mutex_);
    StatsBoard::Entry* const entry = board_->FindForLine(peer_, replica_id_);
    PeerStats* const peer = &entry->stats;
    entry->not_reached = false;
    peer->last = progress;
    peer->last_error = progress.error;
    ++peer->sessions;
    ++board_->totals_.sessions;
    if (report.digests_equal) peer->digests_equal_as_of_ms = began_ms_;
    if (report.proven_equal) {
      peer->last_proven_equal_ms = WallClockMs();
      peer->equal_as_of_ms = began_ms_;
    }
    if (!status.ok()) {
      ++peer->sessions_failed;
      ++board_->totals_.sessions_failed;
    }
    board_->Count(report, counted_);
    counted_ = report;
  }
  Tell(progress);
}

void SessionLine::GiveUp(const SessionReport& last) {
  SessionReport report = last;
  report.unanswered_bytes = 0;  // no answer comes any more
  const std::lock_guard lock(board_->mutex_);
  board_->Count(report, counted_);
  counted_ = report;
}

// `change` is applied to the figures of the peer and to the sums.
template <typename Change>
void StreamLine::Count(const Change& change) {
  const std::lock_guard lock(board_->mutex_);
  change(&board_->FindForLine(peer_, replica_id_)->stats.stream);
  change(&board_->totals_.stream);
}

StreamLine::~StreamLine() {
  Behind(0, {});
  Count([](StreamStats* stream) { --stream->open; });
}

void StreamLine::Sent(uint64_t pairs, uint64_t bytes) {
  Count([=](StreamStats* stream) {
    stream->pairs_sent += pairs;
    stream->bytes_sent += bytes;
  });
}

void StreamLine::Received(uint64_t bytes) {
  Count([=](StreamStats* stream) { stream->bytes_received += bytes; });
}

void StreamLine::Took(uint64_t pairs, uint64_t applied, uint64_t duplicates) {
  Count([=](StreamStats* stream) {
    stream->pairs_received += pairs;
    stream->pairs_applied += applied;
    stream->duplicates += duplicates;
  });
}

void StreamLine::GaveUp(uint64_t pairs) {
  Count([=](StreamStats* stream) {
    ++stream->gaps;
    stream->pairs_given_up += pairs;
  });
}

void StreamLine::Behind(uint64_t pairs, Clock::time_point since) {
  const std::lock_guard lock(board_->mutex_);
  StatsBoard::Entry* const entry = board_->FindForLine(peer_, replica_id_);
  entry->stats.stream.lag_pairs = pairs;
  entry->behind_since = since;
}

StatsBoard::StatsBoard(uint64_t replica_id,
                       const std::vector<std::string>& peers,
                       ProgressCallback progress)
    : progress_(std::move(progress)) {
  totals_.replica_id = replica_id;
  SetPeers(peers);
}

void StatsBoard::SetPeers(const std::vector<std::string>& addresses) {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> others = std::exchange(peers_, {});
  for (const std::string& address : addresses) {
    if (Known(address, 0) != nullptr) continue;
    const auto found = std::find_if(
        others.begin(), others.end(),
        [&](const Entry& entry) { return entry.stats.address == address; });
    if (found == others.end()) {
      Add(address, 0)->stats.configured = true;
    } else {
      found->stats.configured = true;
      found->leaving = false;
      peers_.push_back(std::move(*found));
      others.erase(found);
    }
  }
  for (Entry& entry : others) {
    if (std::exchange(entry.stats.configured, false)) entry.leaving = true;
    if (!HasLeft(entry)) peers_.push_back(std::move(entry));
  }
}

bool StatsBoard::MayBe(const Entry& entry, uint64_t replica_id) {
  const uint64_t known = entry.stats.replica_id;
  return replica_id == 0 || known == 0 || known == replica_id;
}

bool StatsBoard::IsOther(const Entry& entry) {
  return !entry.stats.configured &&
         std::all_of(
             entry.connections.begin(), entry.connections.end(),
             [](const auto& connection) { return connection.expired(); });
}

StatsBoard::Entry* StatsBoard::Known(const std::string& address,
                                     uint64_t replica_id) {
  auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const Entry& entry) {
        return entry.stats.address == address && MayBe(entry, replica_id);
      });
  if (found == peers_.end() && replica_id != 0) {
    found = std::find_if(peers_.begin(), peers_.end(), [&](const Entry& entry) {
      return entry.stats.replica_id == replica_id;
    });
  }
  if (found == peers_.end()) return nullptr;
  found->used = ++uses_;
  return &*found;
}

StatsBoard::Entry* StatsBoard::Add(const std::string& address,
                                   uint64_t replica_id) {
  while (std::count_if(peers_.begin(), peers_.end(), IsOther) >=
         static_cast<ptrdiff_t>(kMostOthers)) {
    peers_.erase(std::min_element(peers_.begin(), peers_.end(),
                                  [](const Entry& a, const Entry& b) {
                                    return std::pair(!IsOther(a), a.used) <
                                           std::pair(!IsOther(b), b.used);
                                  }));
  }
  Entry entry;
  entry.stats.address = address;
  entry.stats.replica_id = replica_id;
  entry.used = ++uses_;
  return &peers_.emplace_back(std::move(entry));
}

StatsBoard::Entry* StatsBoard::Find(const std::string& address,
                                    uint64_t replica_id) {
  Entry* const known = Known(address, replica_id);
  return known != nullptr ? known : Add(address, replica_id);
}

StatsBoard::Entry* StatsBoard::FindForLine(const std::string& address,
                                           uint64_t replica_id) {
  Entry* const known = Known(address, replica_id);
  if (known != nullptr) return known;
  const bool has_moved = std::any_of(
      peers_.begin(), peers_.end(),
      [&](const Entry& entry) { return entry.stats.address == address; });
  return has_moved ? &replaced_ : Add(address, replica_id);
}

StatsBoard::Entry* StatsBoard::FindIncoming(const std::string& peer,
                                            uint64_t replica_id) {
  Entry* entry = Known(peer, replica_id);
  if (entry != nullptr) return entry;
  return Add(peer, replica_id);
}

// Nothing that was proven of the replica which was at the address before, and
// nothing that was counted of it, holds of the one that is there now.
void StatsBoard::BeginAnew(Entry* entry) {
  PeerStats anew;
  anew.address = entry->stats.address;
  anew.configured = entry->stats.configured;
  entry->stats = std::move(anew);
  entry->behind_since = {};
  entry->connections.clear();
  entry->not_reached = false;
}

void StatsBoard::Reached(Entry* entry) {
  if (std::exchange(entry->not_reached, false)) entry->stats.last_error.clear();
}

// What was counted of the replica under another name.
void StatsBoard::Absorb(Entry other, Entry* entry) {
  if (!IsOther(other)) Reached(entry);
  entry->connections.insert(entry->connections.end(), other.connections.begin(),
                            other.connections.end());
  PeerStats* const peer = &entry->stats;
  PeerStats* const known = &other.stats;
  peer->sessions += known->sessions;
  peer->sessions_failed += known->sessions_failed;
  Join(known->stream, &peer->stream);
  peer->digests_equal_as_of_ms =
      std::max(peer->digests_equal_as_of_ms, known->digests_equal_as_of_ms);
  if (known->last_proven_equal_ms > peer->last_proven_equal_ms) {
    peer->last_proven_equal_ms = known->last_proven_equal_ms;
    peer->equal_as_of_ms = known->equal_as_of_ms;
    // Of a session after the one that failed at this address.
    peer->last_error = std::move(known->last_error);
    entry->not_reached = other.not_reached;
    peer->last = std::move(known->last);
    peer->last.peer = peer->address;
  }
}

StatsBoard::Entry StatsBoard::TakeOut(Entry* entry) {
  Entry taken = std::move(*entry);
  peers_.erase(peers_.begin() + (entry - peers_.data()));
  return taken;
}

template <typename Which>
StatsBoard::Entry* StatsBoard::FindOf(uint64_t replica_id, const Which& which) {
  const auto found =
      std::find_if(peers_.begin(), peers_.end(), [&](const Entry& entry) {
        return entry.stats.replica_id == replica_id && which(entry);
      });
  return found == peers_.end() ? nullptr : &*found;
}

bool StatsBoard::Met(const std::string& address, uint64_t replica_id,
                     const std::weak_ptr<const void>& connection,
                     const std::atomic<bool>& removed) {
  const std::lock_guard lock(mutex_);
  if (removed) return false;
  // It may have come to us before we knew whose address this is, or was met at
  // another one.
  std::optional<Entry> known;
  Entry* const other = FindOf(replica_id, [&](const Entry& entry) {
    return !entry.stats.configured && entry.stats.address != address;
  });
  if (other != nullptr) known = TakeOut(other);
  Entry* entry = Find(address, 0);
  if (!MayBe(*entry, replica_id)) BeginAnew(entry);
  // Another name of a configured peer, at which somebody asked for a session.
  if (!entry->stats.configured && FindOf(replica_id, IsConfigured) != nullptr) {
    Entry alias = TakeOut(entry);
    entry = FindOf(replica_id, IsConfigured);
    Absorb(std::move(alias), entry);
  }
  if (known.has_value()) Absorb(*std::move(known), entry);
  AddConnection(connection, &entry->connections);
  entry->leaving = false;
  entry->stats.replica_id = replica_id;
  return true;
}

void StatsBoard::Identified(const std::string& address, uint64_t replica_id,
                            const std::atomic<bool>& removed) {
  {
    const std::lock_guard lock(mutex_);
    const bool configured =
        std::any_of(peers_.begin(), peers_.end(), [&](const Entry& entry) {
          return entry.stats.configured && entry.stats.address == address;
        });
    if (!configured) return;
  }
  Met(address, replica_id, {}, removed);
}

StatsBoard::Entry* StatsBoard::FindConnected(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role) {
  // Whom this replica went to, another one may have replaced at its address
  // since.
  Entry* const entry = role == Role::kInitiator
                           ? FindForLine(peer, replica_id)
                           : FindIncoming(peer, replica_id);
  AddConnection(connection, &entry->connections);
  Reached(entry);
  // Whom this replica went to, it may have been on its way to when the peer was
  // removed.
  if (role == Role::kResponder) entry->leaving = false;
  return entry;
}

std::string StatsBoard::NameOf(const Entry& entry, const std::string& peer) {
  return entry.stats.address.empty() ? peer : entry.stats.address;
}

std::unique_ptr<StreamLine> StatsBoard::BeginStream(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = FindConnected(peer, replica_id, connection, role);
  for (StreamStats* stream : {&entry->stats.stream, &totals_.stream}) {
    ++stream->open;
    ++stream->opened;
  }
  return std::unique_ptr<StreamLine>(
      new StreamLine(this, NameOf(*entry, peer), replica_id));
}

std::unique_ptr<SessionLine> StatsBoard::Begin(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = FindConnected(peer, replica_id, connection, role);
  return std::unique_ptr<SessionLine>(
      new SessionLine(this, NameOf(*entry, peer), replica_id));
}

bool StatsBoard::Failed(const std::string& address,
                        const rocksdb::Status& status,
                        const std::atomic<bool>& removed) {
  SessionProgress progress;
  progress.peer = address;
  progress.finished = true;
  progress.error = OneLine(status.ToString());
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    if (removed) return false;
    ++totals_.sessions_failed;
    Entry* const entry = Known(address, 0);
    // An address that a caller gave, at which nobody was met, is no peer.
    news = entry == nullptr;
    if (entry != nullptr) {
      entry->leaving = false;
      PeerStats* const peer = &entry->stats;
      ++peer->sessions_failed;
      news = std::exchange(peer->last_error, progress.error) != progress.error;
      entry->not_reached = true;
    }
  }
  if (progress_ != nullptr) progress_(progress);
  return news;
}

void StatsBoard::Refused(const std::string& peer, uint64_t replica_id,
                         Standing standing, const rocksdb::Status& status) {
  if (replica_id == 0) return;  // whose it was is not known
  const std::string why = OneLine(status.ToString());
  const std::lock_guard lock(mutex_);
  // An address led back to this replica: it is a member, and no peer of itself.
  if (replica_id == totals_.replica_id) standing = Standing::kNotNamed;
  Entry* entry = nullptr;
  if (standing == Standing::kMember) entry = FindIncoming(peer, replica_id);
  if (standing == Standing::kNoList) entry = Known(peer, replica_id);
  if (entry != nullptr) {
    ++entry->stats.sessions_failed;
    entry->stats.last_error = why;
    entry->not_reached = true;
    ++totals_.sessions_failed;
    return;
  }
  CountRefusal(peer, replica_id, why);
}

void StatsBoard::RefusedCopy(const std::string& peer, uint64_t replica_id,
                             Role role, const rocksdb::Status& status) {
  const std::lock_guard lock(mutex_);
  copy_of_ = replica_id;
  met_copy_at_ = StreamLine::Clock::now();
  // Where a caller runs is known from nothing else.
  if (role == Role::kResponder) {
    CountRefusal(peer, replica_id, OneLine(status.ToString()));
  }
}

uint64_t StatsBoard::RecentCopy(StreamLine::Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return copy_of_ != 0 && now - met_copy_at_ < kCopyIsRecent ? copy_of_ : 0;
}

void StatsBoard::RefusedStranger(const std::string& peer, uint64_t replica_id,
                                 const rocksdb::Status& status) {
  const std::lock_guard lock(mutex_);
  CountRefusal(peer, replica_id, OneLine(status.ToString()));
}

void StatsBoard::CountRefusal(const std::string& peer, uint64_t replica_id,
                              const std::string& why) {
  ++totals_.callers_refused;
  totals_.last_refusal =
      (replica_id == 0 ? "a caller" : "replica " + ReplicaIdHex(replica_id)) +
      " at " + peer + ": " + why;
}

void StatsBoard::Count(const SessionReport& now, const SessionReport& before) {
  if (now.elements != 0) totals_.elements = now.elements;
  totals_.pairs_sent += now.pairs_sent - before.pairs_sent;
  totals_.pairs_received += now.pairs_received - before.pairs_received;
  totals_.pairs_applied += now.pairs_applied - before.pairs_applied;
  totals_.pairs_superseded += now.pairs_superseded - before.pairs_superseded;
  totals_.pairs_held_back += now.pairs_held_back - before.pairs_held_back;
  totals_.bytes_filters += now.filter_bytes - before.filter_bytes;
  totals_.bytes_offers += now.offer_bytes - before.offer_bytes;
  totals_.bytes_keys += now.key_bytes - before.key_bytes;
  totals_.bytes_values += now.value_bytes - before.value_bytes;
  totals_.bytes_total += BytesOf(now) - BytesOf(before);
  totals_.exchanges += now.exchanges - before.exchanges;
}

ReplicationStats StatsBoard::stats() const {
  const std::lock_guard lock(mutex_);
  ReplicationStats all = totals_;
  const auto now = StreamLine::Clock::now();
  for (const Entry& entry : peers_) {
    if (HasLeft(entry)) continue;
    StreamStats* const stream = &all.peers.emplace_back(entry.stats).stream;
    if (stream->lag_pairs == 0) continue;
    stream->lag_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            now - entry.behind_since)
            .count());
    all.stream.lag_pairs = std::max(all.stream.lag_pairs, stream->lag_pairs);
    all.stream.lag_ms = std::max(all.stream.lag_ms, stream->lag_ms);
  }
  return all;
}

}  // namespace rocksync
