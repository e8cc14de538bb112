#include "replication/statistics/stats_board.h"

#include <algorithm>
#include <utility>

#include "replication/statistics/one_line.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// Returns the peer that counters are of; null if it is not shown.
PeerStats* ShownAs(uint64_t replica_id, const std::string& peer,
                   ReplicationStats* all) {
  const auto shown = std::find_if(
      all->peers.begin(), all->peers.end(), [&](const PeerStats& one) {
        return one.replica_id == replica_id ||
               (one.replica_id == 0 && one.address == peer);
      });
  return shown == all->peers.end() ? nullptr : &*shown;
}

}  // namespace

StatsBoard::StatsBoard(uint64_t replica_id,
                       const std::vector<std::string>& peers,
                       ProgressCallback progress)
    : progress_(std::move(progress)) {
  totals_.replica_id = replica_id;
  SetPeers(peers);
}

void StatsBoard::SetPeers(const std::vector<std::string>& addresses) {
  const std::lock_guard lock(mutex_);
  table_.SetConfigured(addresses);
}

bool StatsBoard::RecordMeeting(const std::string& address, uint64_t replica_id,
                               const std::weak_ptr<const void>& connection,
                               const std::atomic<bool>& removed) {
  const std::lock_guard lock(mutex_);
  if (removed) return false;
  table_.SetReplicaAt(address, replica_id)->AddConnection(connection);
  return true;
}

void StatsBoard::RecordIdentity(const std::string& address, uint64_t replica_id,
                                const std::atomic<bool>& removed) {
  {
    const std::lock_guard lock(mutex_);
    if (!table_.IsConfigured(address)) return;
  }
  RecordMeeting(address, replica_id, {}, removed);
}

PeerEntry* StatsBoard::FindConnected(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role) {
  // Another replica may have replaced the peer at the address that this one
  // dialed.
  PeerEntry* const entry = role == Role::kInitiator
                               ? table_.FindForLine(peer, replica_id)
                               : table_.Find(peer, replica_id);
  entry->AddConnection(connection);
  entry->NoteReached();
  // A connection that this replica dialed may have begun before the peer was
  // removed, so it does not bring the peer back.
  if (role == Role::kResponder) entry->leaving = false;
  return entry;
}

std::unique_ptr<StreamCounters> StatsBoard::BeginStream(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role,
    std::function<StreamLag()> lag) {
  const std::lock_guard lock(mutex_);
  PeerEntry* const entry = FindConnected(peer, replica_id, connection, role);
  for (StreamStats* stream : {&entry->stats.stream, &totals_.stream}) {
    ++stream->open;
    ++stream->opened;
  }
  std::unique_ptr<StreamCounters> line(new StreamCounters(
      this, entry->NameOr(peer), replica_id, std::move(lag)));
  streams_.push_back(line.get());
  return line;
}

std::unique_ptr<SessionCounters> StatsBoard::Begin(
    const std::string& peer, uint64_t replica_id,
    const std::weak_ptr<const void>& connection, Role role,
    Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  PeerEntry* const entry = FindConnected(peer, replica_id, connection, role);
  std::unique_ptr<SessionCounters> line(
      new SessionCounters(this, entry->NameOr(peer), replica_id, now));
  if (role == Role::kInitiator) unanswered_.push_back(line.get());
  return line;
}

bool StatsBoard::RecordFailure(const std::string& address,
                               const rocksdb::Status& status, bool index_build,
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
    PeerEntry* const entry = table_.Known(address, 0);
    // An address that SyncNow or Verify was given, at which no replica was met,
    // is no peer.
    news = entry == nullptr;
    if (entry != nullptr) {
      entry->leaving = false;
      ++entry->stats.sessions_failed;
      // The progress of an index build is no news.
      news = entry->stats.last_error != progress.error &&
             !(index_build && entry->stats.waits_for_index_build);
      entry->SetError(progress.error, index_build);
      entry->not_reached = true;
    }
  }
  if (progress_ != nullptr) progress_(progress);
  return news;
}

void StatsBoard::RecordRefusal(const std::string& peer, uint64_t replica_id,
                               Standing standing,
                               const rocksdb::Status& status) {
  if (replica_id == 0) return;  // the replica is not known
  const std::string why = OneLine(status.ToString());
  const std::lock_guard lock(mutex_);
  // An address led back to this replica, which may be a member but is no peer
  // of itself.
  if (replica_id == totals_.replica_id) standing = Standing::kNotNamed;
  PeerEntry* entry = nullptr;
  if (standing == Standing::kMember) entry = table_.Find(peer, replica_id);
  if (standing == Standing::kNoList) entry = table_.Known(peer, replica_id);
  if (entry != nullptr) {
    ++entry->stats.sessions_failed;
    entry->SetError(why, false);
    entry->not_reached = true;
    ++totals_.sessions_failed;
    return;
  }
  // An error of the network or of this replica's storage refuses nobody.
  if (status.IsIOError() || status.IsCorruption()) {
    ++totals_.sessions_failed;
  } else {
    CountRefusal(peer, replica_id, why);
  }
}

void StatsBoard::ForgetIndexBuild() {
  const std::lock_guard lock(mutex_);
  table_.ForgetIndexBuilds();
}

void StatsBoard::RecordRefusedCopy(const std::string& peer, uint64_t replica_id,
                                   Role role, const rocksdb::Status& status) {
  const std::lock_guard lock(mutex_);
  copy_of_ = replica_id;
  met_copy_at_ = Clock::now();
  // The address of a copy that dials this replica is known from nothing else.
  if (role == Role::kResponder) {
    CountRefusal(peer, replica_id, OneLine(status.ToString()));
  }
}

uint64_t StatsBoard::RecentCopy(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  return copy_of_ != 0 && now - met_copy_at_ < kCopyIsRecent ? copy_of_ : 0;
}

void StatsBoard::RecordRefusedDialer(const std::string& peer,
                                     uint64_t replica_id,
                                     const rocksdb::Status& status) {
  const std::lock_guard lock(mutex_);
  CountRefusal(peer, replica_id, OneLine(status.ToString()));
}

void StatsBoard::CountRefusal(const std::string& peer, uint64_t replica_id,
                              const std::string& why) {
  ++totals_.connections_refused;
  totals_.last_refusal =
      (replica_id == 0 ? "a caller" : "replica " + ReplicaIdHex(replica_id)) +
      " at " + peer + ": " + why;
  totals_.last_refusal_ms = WallClockMs();
}

void StatsBoard::Count(const SessionReport& now, const SessionReport& before) {
  // `elements` is 0 until they are counted; only of a proof 0 may mean that
  // there are none.
  if (now.elements != 0 || now.proven_equal) totals_.elements = now.elements;
  totals_.pairs_sent += now.pairs_sent - before.pairs_sent;
  totals_.pairs_received += now.pairs_received - before.pairs_received;
  totals_.pairs_applied += now.pairs_applied - before.pairs_applied;
  totals_.pairs_superseded += now.pairs_superseded - before.pairs_superseded;
  totals_.pairs_held_back += now.pairs_held_back - before.pairs_held_back;
  totals_.bytes_filters += now.filter_bytes - before.filter_bytes;
  totals_.bytes_offers += now.offer_bytes - before.offer_bytes;
  totals_.bytes_keys += now.key_bytes - before.key_bytes;
  totals_.bytes_values += now.value_bytes - before.value_bytes;
  totals_.bytes_total += CountedBytes(now) - CountedBytes(before);
  totals_.exchanges += now.exchanges - before.exchanges;
}

void StatsBoard::ShowUnanswered(Clock::time_point now,
                                ReplicationStats* all) const {
  for (const SessionCounters* line : unanswered_) {
    if (now - line->began_ < kShownUnanswered) continue;
    PeerStats* const peer = ShownAs(line->replica_id_, line->peer_, all);
    if (peer != nullptr) peer->last = line->SoFar();
  }
}

void StatsBoard::ShowLags(Clock::time_point now, ReplicationStats* all) const {
  for (const StreamCounters* line : streams_) {
    const StreamLag lag = line->lag_ ? line->lag_() : StreamLag();
    if (lag.changes == 0) continue;
    const auto ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            std::max(now - lag.since, Clock::duration::zero()))
            .count());
    PeerStats* const peer = ShownAs(line->replica_id_, line->peer_, all);
    for (StreamStats* stream : {peer ? &peer->stream : nullptr, &all->stream}) {
      if (stream == nullptr) continue;
      stream->lag_pairs = std::max(stream->lag_pairs, lag.changes);
      stream->lag_ms = std::max(stream->lag_ms, ms);
    }
  }
}

ReplicationStats StatsBoard::stats(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  ReplicationStats all = totals_;
  for (const PeerEntry& entry : table_.entries()) {
    if (!entry.HasLeft()) all.peers.push_back(entry.stats);
  }
  ShowLags(now, &all);
  ShowUnanswered(now, &all);
  return all;
}

}  // namespace rocksync
