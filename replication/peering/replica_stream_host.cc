#include "replication/peering/replica_stream_host.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "replication/base/status.h"
#include "replication/peering/streams.h"
#include "replication/store/store_access.h"

namespace rocksync {

static_assert(kMaxStreamedBytes == ChangeBuffer::kMaxChangeBytes);

ReplicaStreamHost::ReplicaStreamHost(ReplicatorContext* replica, Link* link,
                                     std::function<void()> repair,
                                     std::function<bool()> ended)
    : replica_(replica),
      link_(link),
      repair_(std::move(repair)),
      ended_(std::move(ended)),
      buffer_(StoreAccess::ChangesOf(replica->db)),
      reader_(buffer_, replica->options.stream_buffer_bytes) {}

void ReplicaStreamHost::Open(StreamFacts facts,
                             std::unique_ptr<StreamCounters> line) {
  facts_ = std::move(facts);
  line_ = std::move(line);
  wire_sent_ = connection()->bytes_sent();
}

void ReplicaStreamHost::Wait(uint64_t due_ms, bool ignore_changes) {
  reader_.Wait(FromMonotonicMs(due_ms), ignore_changes);
}

void ReplicaStreamHost::EndStep() {
  const std::lock_guard lock(mutex_);
  dues_.TookFromLog(0, 0);
}

StreamLag ReplicaStreamHost::Lag() const {
  const std::lock_guard lock(mutex_);
  const ChangeBuffer::Reader::Backlog backlog = reader_.backlog();
  const uint64_t under_way = dues_.changes_under_way();
  return {backlog.changes + under_way,
          under_way > 0 ? FromMonotonicMs(dues_.oldest_under_way_ms())
                        : backlog.oldest};
}

rocksdb::Status ReplicaStreamHost::WhySendingEnds(
    const absl::Status& status) const {
  return failed_.ok() ? ToRocksDb(status) : failed_;
}

absl::Status ReplicaStreamHost::Failed(const rocksdb::Status& status) {
  failed_ = status;
  return ToAbsl(status);
}

// Holds the lock, so that Lag sees each change either in the buffer or under
// way.
const ChangeBuffer::Reader::Taken& ReplicaStreamHost::TakeFromBuffer(
    size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  const ChangeBuffer::Reader::Taken& read = reader_.Take(max_bytes);
  dues_.TookFromLog(read.changes.size(), ToMonotonicMs(read.oldest));
  return read;
}

absl::Status ReplicaStreamHost::Take(size_t max_bytes, ChangeBatch* taken) {
  const ChangeBuffer::Reader::Taken& read = TakeFromBuffer(max_bytes);
  taken->lost = read.lost;
  taken->last = read.last;
  taken->oldest_ms = ToMonotonicMs(read.oldest);
  taken->changes.clear();
  for (const Change& change : read.changes) {
    const std::optional<uint32_t> family =
        link_->view()->OrdinalOf(change.family_id);
    if (!family.has_value()) return absl::UnavailableError(kTermsChanged);
    taken->changes.push_back({*family, change.key, change.version,
                              change.tombstone, change.value, change.source,
                              change.left_out});
  }
  return absl::OkStatus();
}

absl::Status ReplicaStreamHost::MakeDurable(uint64_t number) {
  if (!replica_->options.stream_syncs) return absl::OkStatus();
  return Failed(replica_->streams.sync()->Cover(
      number, [this] { return buffer_->end(); },
      [this] { return ToRocksDb(link_->view()->Sync()); }));
}

absl::Status ReplicaStreamHost::MakeAllDurable() {
  if (!replica_->options.stream_syncs) return absl::OkStatus();
  return link_->view()->Sync();
}

// Checks the terms after the wait, too: a peer that was removed meanwhile gets
// nothing more.
absl::Status ReplicaStreamHost::Pay(size_t bytes) {
  const bool paid = replica_->bytes.Pay(
      bytes, replica_->options.io_timeout / 4,
      [this] { return replica_->stopped() || ended_() || !TermsHold(); });
  if (paid && TermsHold()) return absl::OkStatus();
  return TermsHold() ? Failed(rocksdb::Status::Aborted("the stream ends"))
                     : absl::UnavailableError(kTermsChanged);
}

absl::Status ReplicaStreamHost::Send(std::string_view message) {
  const auto timeout = replica_->options.io_timeout;
  const rocksdb::Status status = connection()->Send(message, timeout);
  const uint64_t wire = connection()->bytes_sent();
  line_->AddSent(0, wire - std::exchange(wire_sent_, wire));
  return Failed(status);
}

absl::Status ReplicaStreamHost::Apply(std::vector<Pair>* pairs,
                                      std::vector<ApplyOutcome>* outcomes) {
  const ReplicatedDBOptions& options = replica_->db->replication_options();
  std::erase_if(*pairs, [&](const Pair& pair) {
    const bool too_large =
        !pair.tombstone && (pair.key.size() > options.max_key_bytes ||
                            pair.value.size() > options.max_value_bytes);
    if (too_large) link_->view()->NoteOversized(pair.family, pair.key);
    return too_large;
  });
  return link_->view()->Apply(
      *pairs, [this] { return replica_->stopping || ended_(); }, outcomes);
}

void ReplicaStreamHost::WithDues(absl::FunctionRef<void(StreamDues*)> use) {
  const std::lock_guard lock(mutex_);
  use(&dues_);
}

void ReplicaStreamHost::WithSpread(absl::FunctionRef<void(Spread*)> use) {
  replica_->streams.With(use);
}

std::vector<Neighbour> ReplicaStreamHost::Neighbours(uint64_t* number) const {
  return replica_->streams.neighbours(number);
}

bool ReplicaStreamHost::SetNeighbours(std::vector<Neighbour> neighbours) {
  return replica_->streams.SetNeighbours(facts_.peer_id, std::move(neighbours));
}

bool ReplicaStreamHost::AskForMissing(uint64_t now_ms) {
  return replica_->streams.AskForMissing(now_ms);
}

}  // namespace rocksync
