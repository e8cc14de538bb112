#include "replication/stream/outgoing_changes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace rocksync {
namespace {

using absl::Status;

// Bytes of keys and values that are taken from the log at once.
constexpr size_t kReadBytes = size_t{64} << 10;
constexpr uint64_t kMaxSilenceMs = 10'000;

Status Reconnect() { return absl::UnavailableError(kTermsChanged); }

}  // namespace

uint64_t OutgoingChanges::SilentUntilMs() const {
  const uint64_t idle_timeout_ms = host_->facts().theirs.idle_timeout_ms;
  return last_sent_ms_ +
         std::min(kMaxSilenceMs, std::max<uint64_t>(idle_timeout_ms / 4, 1));
}

uint64_t OutgoingChanges::NextDueMs() const {
  uint64_t due_ms = SilentUntilMs();
  host_->WithSpread([&](const Spread* spread) {
    due_ms = std::min(due_ms, spread->NextDueMs());
  });
  host_->WithDues([&](const StreamDues* dues) {
    due_ms = std::min(due_ms, dues->TellAtMs());
  });
  return due_ms;
}

size_t OutgoingChanges::Window() const {
  uint64_t under_way = 0;
  host_->WithDues(
      [&](const StreamDues* dues) { under_way = dues->bytes_under_way(); });
  const uint64_t window = host_->facts().theirs.window_bytes;
  return under_way < window ? static_cast<size_t>(window - under_way) : 0;
}

Status OutgoingChanges::Step() {
  if (host_->AskForMissing(host_->NowMs())) host_->Repair();
  Status status = SendWhatIsDue();
  if (status.ok()) status = SendLists();
  const size_t window = Window();
  if (status.ok() && window > 0) {
    status = SendChanges(std::min(window, kReadBytes));
  }
  return status;
}

Status OutgoingChanges::SendWhatIsDue() {
  const uint64_t now_ms = host_->NowMs();
  uint64_t taken = 0;
  host_->WithDues([&](StreamDues* dues) {
    taken = dues->TakeDueAck(now_ms, host_->facts().mine.window_bytes / 4);
  });
  if (taken > 0) {
    return Send(EncodeStreamCount(StreamMessageType::kAck, taken));
  }
  return now_ms >= SilentUntilMs() ? Send(EncodeAlive()) : absl::OkStatus();
}

Status OutgoingChanges::SendChanges(size_t max_bytes) {
  Status status = host_->Take(max_bytes, &taken_);
  if (status.ok() && taken_.lost > 0) status = SendGap(taken_.lost);
  if (!status.ok() || taken_.changes.empty()) return status;
  oldest_ms_ = taken_.oldest_ms;
  // A change is durable here before it travels, or a replica could hold what
  // its writer has lost.
  status = host_->MakeDurable(taken_.last);
  if (!status.ok()) return status;
  // A replica that was removed gets nothing from the moment that this one
  // knows. Family ordinals, too, hold only under the terms of the set-up.
  if (!host_->TermsHold()) return Reconnect();

  uint64_t left_out = 0;
  status = Encode(&left_out);
  if (status.ok() && left_out > 0) status = SendGap(left_out);
  if (status.ok() && encoder_.count() > 0) {
    status = SendMessage(taken_.changes.size());
  }
  if (status.ok() && !to_announce_.empty()) {
    status =
        SendList(StreamMessageType::kAnnounce, std::exchange(to_announce_, {}));
  }
  return status;
}

Status OutgoingChanges::Encode(uint64_t* left_out) {
  const uint64_t now_ms = host_->NowMs();
  const uint64_t peer_id = host_->facts().peer_id;
  for (const BufferedChange& change : taken_.changes) {
    if (change.left_out) {
      // Which replicas have it need not be known: the session finds out.
      *left_out += change.source != peer_id;
      continue;
    }
    ShortHash hash = 0;
    bool needs_hash = false;
    Spread::Way way = Spread::Way::kNone;
    const auto find_way = [&](Spread* spread) {
      needs_hash = hash == 0 && spread->NeedsHash(change.source);
      if (needs_hash) return;
      way = spread->WayTo(
          peer_id, {hash, change.version.replica, change.source}, now_ms);
    };
    host_->WithSpread(find_way);
    if (needs_hash) {
      hash = ShortHashOf(
          host_->HashOf({change.family, std::string(change.key), change.version,
                         change.tombstone, std::string(change.value)}));
      host_->WithSpread(find_way);
    }
    const Status status = EncodeOne(change, hash, way);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

Status OutgoingChanges::EncodeOne(const BufferedChange& change, ShortHash hash,
                                  Spread::Way way) {
  switch (way) {
    case Spread::Way::kNone:
      return absl::OkStatus();
    case Spread::Way::kAnnounce:
      announced_.Add(hash, {change.version.replica, change.family,
                            std::string(change.key)});
      to_announce_.push_back(hash);
      return absl::OkStatus();
    case Spread::Way::kPush:
      encoder_.Add(change.family, change.key, change.version, change.tombstone,
                   change.value);
      return encoder_.full() ? SendMessage(0) : absl::OkStatus();
  }
  return absl::OkStatus();
}

Status OutgoingChanges::SendList(StreamMessageType type,
                                 std::vector<uint64_t> list) {
  Status status;
  for (size_t at = 0; status.ok() && at < list.size(); at += kMaxListed) {
    const size_t count = std::min(kMaxListed, list.size() - at);
    status = Send(EncodeStreamList(type, {list.data() + at, count}));
  }
  return status;
}

Status OutgoingChanges::SendLists() {
  StreamDues::Lists lists;
  host_->WithDues(
      [&](StreamDues* dues) { lists = std::exchange(dues->lists, {}); });
  uint64_t number = 0;
  const std::vector<Neighbour> neighbours = host_->Neighbours(&number);
  Status status;
  if (std::exchange(told_neighbours_, number) != number) {
    status = Send(EncodeNeighbours(neighbours));
  }
  if (status.ok() && lists.wants_repair) {
    status = Send(EncodeStreamCount(StreamMessageType::kGap, 0));
  }
  if (status.ok()) {
    status = SendList(StreamMessageType::kPrune,
                      {lists.to_prune.begin(), lists.to_prune.end()});
  }
  if (status.ok()) {
    status = SendList(StreamMessageType::kGraft, std::move(lists.to_ask_for));
  }
  return status.ok() && !lists.asked_for.empty() ? SendAskedFor(lists.asked_for)
                                                 : status;
}

// Sends the pairs that the peer asked for, as they are now: later versions are
// welcome, too. Those that the window has no room for wait.
Status OutgoingChanges::SendAskedFor(std::span<const ShortHash> hashes) {
  uint64_t forgotten = 0;
  while (!hashes.empty() && Window() > 0) {
    const ShortHash hash = hashes.front();
    hashes = hashes.subspan(1);
    const AnnouncedChange* const announced = announced_.Find(hash);
    if (announced == nullptr) {
      ++forgotten;
      continue;
    }
    const Status status = SendPair(*announced, hash);
    if (!status.ok()) return status;
  }
  host_->WithDues([&](StreamDues* dues) {
    std::vector<ShortHash>& asked_for = dues->lists.asked_for;
    asked_for.insert(asked_for.begin(), hashes.begin(), hashes.end());
  });
  return forgotten > 0 ? SendGap(forgotten) : absl::OkStatus();
}

Status OutgoingChanges::SendPair(const AnnouncedChange& announced,
                                 ShortHash hash) {
  Pair pair;
  Status status = host_->ReadPair(announced.family, announced.key, &pair);
  if (absl::IsNotFound(status)) return absl::OkStatus();
  if (!status.ok()) return status;
  if (pair.key.size() + pair.value.size() > kMaxStreamedBytes) {
    return SendGap(1);
  }
  // The pair may be later than all that the log has told of, so all is synced.
  status = host_->MakeAllDurable();
  if (!status.ok()) return status;
  if (!host_->TermsHold()) return Reconnect();
  oldest_ms_ = host_->NowMs();
  host_->WithSpread([&](Spread* spread) {
    spread->OnGraft(host_->facts().peer_id, announced.origin, hash, oldest_ms_);
  });
  encoder_.Add(pair.family, pair.key, pair.version, pair.tombstone, pair.value);
  return SendMessage(0);
}

// Sends the message that was encoded. `changes`: changes of the log that it and
// those before deal with.
Status OutgoingChanges::SendMessage(uint64_t changes) {
  Status status = host_->Pay(encoder_.message().size());
  if (!status.ok()) return status;
  // Both are counted first: the peer may have taken the message before Send
  // returns.
  host_->WithDues([&](StreamDues* dues) {
    dues->Sent(encoder_.message().size(), changes, oldest_ms_);
  });
  host_->NoteSent(encoder_.count());
  status = SendPaid(encoder_.message());
  encoder_.Clear();
  return status;
}

Status OutgoingChanges::SendGap(uint64_t changes) {
  host_->NoteGivenUp(changes);
  const Status status =
      Send(EncodeStreamCount(StreamMessageType::kGap, changes));
  if (status.ok() && host_->facts().dialed) host_->BeginRepair();
  return status;
}

Status OutgoingChanges::Send(std::string_view message) {
  const Status status = host_->Pay(message.size());
  return status.ok() ? SendPaid(message) : status;
}

Status OutgoingChanges::SendPaid(std::string_view message) {
  const Status status = host_->Send(message);
  last_sent_ms_ = host_->NowMs();
  return status;
}

}  // namespace rocksync
