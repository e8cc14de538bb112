#include "replication/peering/stream_receiver.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "replication/peering/streams.h"
#include "replication/store/format/status.h"
#include "replication/stream/spread.h"

namespace rocksync {

using rocksdb::Status;

Status StreamReceiver::Run() {
  wire_received_ = context_->link->connection()->bytes_received();
  std::string message;
  while (true) {
    Status status = context_->link->connection()->Receive(
        &message, context_->replica->options.io_timeout);
    if (!status.ok()) return status;
    const uint64_t wire = context_->link->connection()->bytes_received();
    context_->line->Received(wire - std::exchange(wire_received_, wire));
    if (!context_->replica->bytes.Pay(message.size(),
                                      context_->replica->options.io_timeout / 4,
                                      context_->replica->stopped)) {
      return Status::Aborted("the replicator stops");
    }
    if (context_->link->stale()) return Status::TryAgain("reconnecting");
    status = Take(message);
    if (!status.ok()) return status;
  }
}

Status StreamReceiver::Take(std::string_view message) {
  const std::string_view body = message.substr(1);
  switch (static_cast<StreamMessageType>(message[0])) {
    case StreamMessageType::kChanges:
      return TakeChanges(message);
    case StreamMessageType::kTaken:
      return TakeTaken(body);
    case StreamMessageType::kGap:
      return TakeGap(body);
    case StreamMessageType::kNeighbours:
      return TakeNeighbours(body);
    case StreamMessageType::kPrune:
    case StreamMessageType::kAnnounce:
    case StreamMessageType::kGraft:
      return TakeList(static_cast<StreamMessageType>(message[0]), body);
    case StreamMessageType::kAlive:
      if (body.empty()) return Status::OK();
      break;
  }
  return Status::InvalidArgument("from " + context_->link->peer_name(),
                                 "an unknown message in a stream");
}

Status StreamReceiver::TakeChanges(std::string_view message) {
  Status status = ToRocksDb(DecodeChanges(
      message.substr(1), context_->link->view()->FamilyCount(), &pairs_));
  if (status.ok()) status = Apply();
  if (status.ok()) sender_->TellTaken(message.size());
  return status;
}

Status StreamReceiver::Apply() {
  const ReplicatedDBOptions& options =
      context_->replica->db->replication_options();
  const auto too_large = [&](const Pair& pair) {
    const bool is =
        !pair.tombstone && (pair.key.size() > options.max_key_bytes ||
                            pair.value.size() > options.max_value_bytes);
    if (is) context_->link->view()->NoteOversized(pair.family, pair.key);
    return is;
  };
  const uint64_t received = pairs_.size();
  std::erase_if(pairs_, too_large);
  const absl::Status applied = context_->link->view()->Apply(
      pairs_,
      [this] { return context_->replica->stopping || context_->ended(); },
      &outcomes_);
  if (!applied.ok()) return ToRocksDb(applied);
  carried_ = true;
  const auto count = [&](ApplyOutcome outcome) {
    return static_cast<uint64_t>(
        std::count(outcomes_.begin(), outcomes_.end(), outcome));
  };
  context_->line->Took(received, count(ApplyOutcome::kApplied),
                       count(ApplyOutcome::kSuperseded));
  NoteArrived();
  return Status::OK();
}

// What came by two ways comes by one from now on.
void StreamReceiver::NoteArrived() {
  if (context_->replica->streams.With(
          [](const Spread* spread) { return spread->meshed(); })) {
    return;
  }
  std::set<uint64_t> prune;
  const uint64_t now_ms = ToMs(StreamClock::now());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const bool applied = outcomes_[i] == ApplyOutcome::kApplied;
    if (!applied && outcomes_[i] != ApplyOutcome::kSuperseded) continue;
    const Spreading change{
        ShortHashOf(context_->link->view()->HashOf(pairs_[i])),
        pairs_[i].version.replica, context_->link->peer_id()};
    if (context_->replica->streams.With([&](Spread* spread) {
          return spread->Arrived(change, applied, now_ms);
        })) {
      prune.insert(change.origin);
    }
  }
  if (!prune.empty()) sender_->Prune(std::move(prune));
}

Status StreamReceiver::TakeNeighbours(std::string_view body) {
  std::vector<Neighbour> neighbours;
  const Status status = ToRocksDb(DecodeNeighbours(body, &neighbours));
  if (status.ok() && context_->replica->streams.SetNeighbours(
                         context_->link->peer_id(), std::move(neighbours))) {
    sender_->Repair();
  }
  return status;
}

Status StreamReceiver::TakeList(StreamMessageType type, std::string_view body) {
  std::vector<uint64_t> list;
  const Status status = ToRocksDb(DecodeStreamList(body, &list));
  if (!status.ok()) return status;
  if (type == StreamMessageType::kGraft) return sender_->OnAskedFor(list);
  context_->replica->streams.With([&](Spread* spread) {
    if (type == StreamMessageType::kAnnounce) {
      spread->OnAnnounce(context_->link->peer_id(), list,
                         ToMs(StreamClock::now()));
    } else {
      for (const uint64_t origin : list) {
        spread->OnPrune(context_->link->peer_id(), origin);
      }
    }
  });
  sender_->Wake();
  return status;
}

Status StreamReceiver::TakeTaken(std::string_view body) {
  uint64_t bytes = 0;
  Status status = ToRocksDb(DecodeStreamCount(body, &bytes));
  if (status.ok()) status = sender_->OnTaken(bytes);
  carried_ |= status.ok();
  return status;
}

Status StreamReceiver::TakeGap(std::string_view body) {
  uint64_t changes = 0;
  const Status status = ToRocksDb(DecodeStreamCount(body, &changes));
  if (status.ok() && context_->repair != nullptr) context_->repair();
  return status;
}

}  // namespace rocksync
