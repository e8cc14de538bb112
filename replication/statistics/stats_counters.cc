#include "replication/statistics/stats_counters.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "replication/statistics/one_line.h"
#include "replication/statistics/peer_table.h"
#include "replication/statistics/stats_board.h"

namespace rocksync {
namespace {

constexpr std::chrono::milliseconds kBetweenProgress{100};

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
  progress.bytes_total = CountedBytes(report);
  progress.exchanges = report.exchanges;
  progress.round_trips = report.round_trips;
  progress.plan = report.plan;
  return progress;
}

// Returns true if sets were compared, which no replica does before its index is
// built.
bool IsCompared(const SessionReport& report) {
  return report.exchanges + report.pairs_to_send + report.pairs_to_receive > 0;
}

}  // namespace

uint64_t WallClockMs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

uint64_t CountedBytes(const SessionReport& report) {
  return report.bytes_sent + report.bytes_received - report.unanswered_bytes;
}

SessionCounters::SessionCounters(StatsBoard* board, std::string peer,
                                 uint64_t replica_id, Clock::time_point began)
    : board_(board),
      peer_(std::move(peer)),
      replica_id_(replica_id),
      began_(began),
      began_ms_(WallClockMs()) {}

SessionCounters::~SessionCounters() {
  const std::lock_guard lock(board_->mutex_);
  NoteAnswered();
}

void SessionCounters::NoteAnswered() { std::erase(board_->unanswered_, this); }

SessionProgress SessionCounters::SoFar() const {
  return ToProgress(peer_, counted_);
}

void SessionCounters::Tell(const SessionProgress& progress) {
  const auto now = Clock::now();
  if (board_->progress_ == nullptr) return;
  if (!progress.finished && now - told_ < kBetweenProgress) return;
  told_ = now;
  board_->progress_(progress);
}

void SessionCounters::Update(const SessionReport& report) {
  // Before the peer has answered, stats() shows the session once it takes long.
  const bool begun = report.bytes_received > 0;
  const SessionProgress progress = ToProgress(peer_, report);
  {
    const std::lock_guard lock(board_->mutex_);
    if (begun) {
      NoteAnswered();
      PeerEntry* const entry = board_->table_.FindForLine(peer_, replica_id_);
      entry->stats.last = progress;
      // The session waits for no index build any more, however long it takes.
      if (IsCompared(report)) entry->ForgetIndexBuild();
    }
    board_->Count(report, counted_);
    counted_ = report;
  }
  if (begun) Tell(progress);
}

void SessionCounters::Finish(const SessionReport& last,
                             const rocksdb::Status& status) {
  SessionReport report = last;
  report.unanswered_bytes = 0;  // no answer comes any more
  SessionProgress progress = ToProgress(peer_, report);
  progress.finished = true;
  if (!status.ok()) progress.error = OneLine(status.ToString());
  {
    const std::lock_guard lock(board_->mutex_);
    NoteAnswered();
    PeerEntry* const entry = board_->table_.FindForLine(peer_, replica_id_);
    PeerStats* const peer = &entry->stats;
    if (status.ok()) entry->good_began = std::max(entry->good_began, began_);
    if (began_ >= entry->good_began) {
      entry->not_reached = false;
      peer->last = progress;
      entry->SetError(progress.error, report.index_build);
    }
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

void SessionCounters::GiveUp(const SessionReport& last) {
  SessionReport report = last;
  report.unanswered_bytes = 0;  // no answer comes any more
  const std::lock_guard lock(board_->mutex_);
  NoteAnswered();
  board_->Count(report, counted_);
  counted_ = report;
}

template <typename Change>
void StreamCounters::Count(const Change& change) {
  const std::lock_guard lock(board_->mutex_);
  CountLocked(change);
}

template <typename Change>
void StreamCounters::CountLocked(const Change& change) {
  change(&board_->table_.FindForLine(peer_, replica_id_)->stats.stream);
  change(&board_->totals_.stream);
}

StreamCounters::~StreamCounters() {
  const std::lock_guard lock(board_->mutex_);
  CountLocked([](StreamStats* stream) { --stream->open; });
  std::erase(board_->streams_, this);
}

void StreamCounters::AddSent(uint64_t pairs, uint64_t bytes) {
  Count([=](StreamStats* stream) {
    stream->pairs_sent += pairs;
    stream->bytes_sent += bytes;
  });
}

void StreamCounters::AddReceived(uint64_t bytes) {
  Count([=](StreamStats* stream) { stream->bytes_received += bytes; });
}

void StreamCounters::AddReceivedPairs(uint64_t pairs, uint64_t applied,
                                      uint64_t duplicates, uint64_t held_back) {
  const std::lock_guard lock(board_->mutex_);
  CountLocked([=](StreamStats* stream) {
    stream->pairs_received += pairs;
    stream->pairs_applied += applied;
    stream->duplicates += duplicates;
  });
  board_->totals_.pairs_held_back += held_back;
}

void StreamCounters::AddGap(uint64_t pairs) {
  Count([=](StreamStats* stream) {
    ++stream->gaps;
    stream->pairs_given_up += pairs;
  });
}

}  // namespace rocksync
