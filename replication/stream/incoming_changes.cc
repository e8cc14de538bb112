#include "replication/stream/incoming_changes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "replication/stream/announced_changes.h"
#include "replication/stream/spread.h"

namespace rocksync {

using absl::Status;

Status IncomingChanges::Refusal(std::string_view what) const {
  return absl::InvalidArgumentError("from " + host_->facts().peer_name + ": " +
                                    std::string(what));
}

Status IncomingChanges::Receive(std::string_view message) {
  if (!host_->TermsHold()) return absl::UnavailableError(kTermsChanged);
  // A transport of the application's own may deliver an empty frame.
  if (message.empty()) return Refusal("an empty message of a stream");
  const std::string_view body = message.substr(1);
  const auto type = static_cast<StreamMessageType>(message[0]);
  switch (type) {
    case StreamMessageType::kChanges:
      return ReceiveChanges(message);
    case StreamMessageType::kAck:
      return ReceiveAck(body);
    case StreamMessageType::kGap:
      return ReceiveGap(body);
    case StreamMessageType::kNeighbours:
      return ReceiveNeighbours(body);
    case StreamMessageType::kPrune:
    case StreamMessageType::kAnnounce:
    case StreamMessageType::kGraft:
      return ReceiveList(type, body);
    case StreamMessageType::kAlive:
      if (body.empty()) return absl::OkStatus();
      break;
  }
  return Refusal("an unknown message in a stream");
}

Status IncomingChanges::ReceiveChanges(std::string_view message) {
  Status status =
      DecodeChanges(message.substr(1), host_->FamilyCount(), &pairs_);
  if (status.ok()) status = Apply();
  if (!status.ok()) return status;
  bool wake = false;
  host_->WithDues([&](StreamDues* dues) {
    // Wake at the first bytes: the sending half does not know yet when to look.
    wake = dues->Took(message.size(), host_->NowMs());
    wake |= dues->bytes_to_tell() >= host_->facts().mine.window_bytes / 4;
  });
  if (wake) host_->Wake();
  return status;
}

Status IncomingChanges::Apply() {
  const uint64_t received = pairs_.size();
  const Status status = host_->Apply(&pairs_, &outcomes_);
  if (!status.ok()) return status;
  carried_ = true;
  const auto count = [&](ApplyOutcome outcome) {
    return static_cast<uint64_t>(
        std::count(outcomes_.begin(), outcomes_.end(), outcome));
  };
  host_->NoteReceived(received, count(ApplyOutcome::kApplied),
                      count(ApplyOutcome::kSuperseded),
                      count(ApplyOutcome::kHeldBack));
  NoteArrived();
  return status;
}

// Prunes: what came by two ways comes by one from now on.
void IncomingChanges::NoteArrived() {
  bool meshed = false;
  host_->WithSpread([&](const Spread* spread) { meshed = spread->meshed(); });
  if (meshed) return;
  std::set<uint64_t> prune;
  const uint64_t now_ms = host_->NowMs();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const bool applied = outcomes_[i] == ApplyOutcome::kApplied;
    if (!applied && outcomes_[i] != ApplyOutcome::kSuperseded) continue;
    const Spreading change{ShortHashOf(host_->HashOf(pairs_[i])),
                           pairs_[i].version.replica, host_->facts().peer_id};
    host_->WithSpread([&](Spread* spread) {
      if (spread->Arrived(change, applied, now_ms)) prune.insert(change.origin);
    });
  }
  if (prune.empty()) return;
  // More origins are dropped while the sending half waits: they will be seen
  // twice again.
  constexpr size_t kMaxToPrune = size_t{1} << 12;
  host_->WithDues([&](StreamDues* dues) {
    if (dues->lists.to_prune.size() < kMaxToPrune) {
      dues->lists.to_prune.merge(prune);
    }
  });
  host_->Wake();
}

Status IncomingChanges::ReceiveNeighbours(std::string_view body) {
  std::vector<Neighbour> neighbours;
  const Status status = DecodeNeighbours(body, &neighbours);
  if (status.ok() && host_->SetNeighbours(std::move(neighbours))) {
    host_->Repair();
  }
  return status;
}

Status IncomingChanges::ReceiveList(StreamMessageType type,
                                    std::string_view body) {
  std::vector<uint64_t> list;
  Status status = DecodeStreamList(body, &list);
  if (!status.ok()) return status;
  if (type == StreamMessageType::kGraft) {
    status = ReceiveGraft(list);
  } else {
    const uint64_t peer_id = host_->facts().peer_id;
    const uint64_t now_ms = host_->NowMs();
    host_->WithSpread([&](Spread* spread) {
      if (type == StreamMessageType::kAnnounce) {
        return spread->OnAnnounce(peer_id, list, now_ms);
      }
      for (const uint64_t origin : list) spread->OnPrune(peer_id, origin);
    });
  }
  if (status.ok()) host_->Wake();
  return status;
}

Status IncomingChanges::ReceiveGraft(const std::vector<ShortHash>& hashes) {
  bool too_many = false;
  host_->WithDues([&](StreamDues* dues) {
    std::vector<ShortHash>& asked_for = dues->lists.asked_for;
    too_many = asked_for.size() + hashes.size() > AnnouncedChanges::kMost;
    if (too_many) return;
    asked_for.insert(asked_for.end(), hashes.begin(), hashes.end());
  });
  return too_many ? Refusal("asks for more than was announced")
                  : absl::OkStatus();
}

Status IncomingChanges::ReceiveAck(std::string_view body) {
  uint64_t bytes = 0;
  const Status status = DecodeStreamCount(body, &bytes);
  if (!status.ok()) return status;
  bool right = false;
  host_->WithDues([&](StreamDues* dues) { right = dues->Taken(bytes); });
  if (!right) return Refusal("took more than was sent");
  carried_ = true;
  host_->Wake();
  return status;
}

Status IncomingChanges::ReceiveGap(std::string_view body) {
  uint64_t changes = 0;
  const Status status = DecodeStreamCount(body, &changes);
  if (status.ok() && host_->facts().dialed) host_->BeginRepair();
  return status;
}

}  // namespace rocksync
