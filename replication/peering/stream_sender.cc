#include "replication/peering/stream_sender.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "replication/peering/streams.h"
#include "replication/store/format/status.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

// Keys and values that are taken from the log at once.
constexpr size_t kTakenBytes = size_t{64} << 10;
// The peer is told what was taken after this long, or after a part of the
// window.
constexpr milliseconds kTellAfter{5};
constexpr uint64_t kTellBytes = StreamSender::kWindowBytes / 4;
constexpr milliseconds kMostSilence{10'000};

}  // namespace

StreamSender::StreamSender(const StreamContext* context, ChangeLog* log)
    : context_(context),
      log_(log),
      reader_(log, context->replica->options.stream_buffer_bytes) {}

Status StreamSender::Run() {
  last_sent_ = Clock::now();
  wire_sent_ = context_->link->connection()->bytes_sent();
  while (!context_->ended()) {
    reader_.Wait(NextDue(), /*ignore_changes=*/Window() == 0);
    if (context_->ended()) break;
    const Status status = SendOnce();
    if (!status.ok()) return status;
  }
  return Status::OK();
}

StreamSender::Clock::time_point StreamSender::SilentUntil() const {
  const auto silence = std::min(
      kMostSilence, milliseconds(static_cast<int64_t>(std::max<uint64_t>(
                        context_->theirs.patience_ms / 4, 1))));
  return last_sent_ + silence;
}

StreamSender::Clock::time_point StreamSender::NextDue() const {
  const uint64_t graft_ms = context_->replica->streams.With(
      [](const Spread* spread) { return spread->NextDueMs(); });
  Clock::time_point due = SilentUntil();
  if (graft_ms < ToMs(due)) {
    due = Clock::time_point(milliseconds(static_cast<int64_t>(graft_ms)));
  }
  const std::lock_guard lock(mutex_);
  return bytes_to_tell_ > 0 ? std::min(due, tell_at_) : due;
}

size_t StreamSender::Window() const {
  const std::lock_guard lock(mutex_);
  const uint64_t under_way = bytes_sent_ - bytes_taken_;
  return under_way < context_->theirs.window_bytes
             ? static_cast<size_t>(context_->theirs.window_bytes - under_way)
             : 0;
}

Status StreamSender::SendOnce() {
  const Clock::time_point now = Clock::now();
  if (context_->replica->streams.AskForMissing(ToMs(now))) Repair();
  Status status = SendWhatIsDue(now);
  if (status.ok()) status = SendLists();
  const size_t window = Window();
  if (status.ok() && window > 0) {
    status = SendChanges(std::min(window, kTakenBytes));
  }
  NoteLag();
  return status;
}

Status StreamSender::SendWhatIsDue(Clock::time_point now) {
  uint64_t taken = 0;
  {
    const std::lock_guard lock(mutex_);
    if (bytes_to_tell_ >= kTellBytes ||
        (bytes_to_tell_ > 0 && now >= tell_at_)) {
      taken = std::exchange(bytes_to_tell_, 0);
    }
  }
  if (taken > 0) {
    return Send(EncodeStreamCount(StreamMessageType::kTaken, taken));
  }
  return now >= SilentUntil() ? Send(EncodeAlive()) : Status::OK();
}

Status StreamSender::SendChanges(size_t most_bytes) {
  const ChangeLog::Reader::Taken& taken = reader_.Take(most_bytes);
  if (taken.lost > 0) {
    const Status status = SendGap(taken.lost);
    if (!status.ok()) return status;
  }
  if (taken.changes.empty()) return Status::OK();
  oldest_ = taken.oldest;
  // What travels is durable here first, or a replica could hold what its writer
  // has lost.
  Status status;
  if (context_->replica->options.stream_syncs) {
    status = context_->replica->streams.sync()->Cover(
        taken.last, [this] { return log_->end(); },
        [this] { return ToRocksDb(context_->link->view()->Sync()); });
  }
  if (!status.ok()) return status;
  // A replica that is a member no more gets nothing from the moment that this
  // one knows; and ordinals of families are those of the set-up.
  if (context_->link->stale()) return Status::TryAgain("reconnecting");

  uint64_t left_out = 0;
  status = Encode(taken, &left_out);
  if (status.ok() && left_out > 0) status = SendGap(left_out);
  if (status.ok() && encoder_.count() > 0) {
    status = SendMessage(taken.changes.size());
  }
  if (status.ok() && !to_announce_.empty()) {
    status =
        SendList(StreamMessageType::kAnnounce, std::exchange(to_announce_, {}));
  }
  return status;
}

Status StreamSender::Encode(const ChangeLog::Reader::Taken& taken,
                            uint64_t* left_out) {
  const bool meshed = context_->replica->streams.With(
      [](const Spread* spread) { return spread->meshed(); });
  const uint64_t now_ms = ToMs(Clock::now());
  for (const Change& change : taken.changes) {
    const std::optional<uint32_t> family =
        context_->link->view()->OrdinalOf(change.family_id);
    if (!family.has_value()) return Status::TryAgain("reconnecting");
    if (change.left_out) {
      // Who has it need not be known: the session finds out.
      *left_out += change.source != context_->link->peer_id();
      continue;
    }
    const ShortHash hash =
        meshed ? 0
               : ShortHashOf(context_->link->view()->HashOf(
                     {*family, std::string(change.key), change.version,
                      change.tombstone, std::string(change.value)}));
    const Spread::Way way =
        context_->replica->streams.With([&](Spread* spread) {
          return spread->WayTo(context_->link->peer_id(),
                               {hash, change.version.replica, change.source},
                               now_ms);
        });
    const Status status = EncodeOne(*family, change, hash, way);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status StreamSender::EncodeOne(uint32_t family, const Change& change,
                               ShortHash hash, Spread::Way way) {
  switch (way) {
    case Spread::Way::kNone:
      return Status::OK();
    case Spread::Way::kAnnounce:
      announced_.Add(hash,
                     {change.version.replica, family, std::string(change.key)});
      to_announce_.push_back(hash);
      return Status::OK();
    case Spread::Way::kPush:
      encoder_.Add(family, change.key, change.version, change.tombstone,
                   change.value);
      return encoder_.full() ? SendMessage(0) : Status::OK();
  }
  return Status::OK();
}

Status StreamSender::SendList(StreamMessageType type,
                              std::vector<uint64_t> list) {
  Status status;
  for (size_t at = 0; status.ok() && at < list.size(); at += kMostListed) {
    const size_t count = std::min(kMostListed, list.size() - at);
    status = Send(EncodeStreamList(type, {list.data() + at, count}));
  }
  return status;
}

Status StreamSender::SendLists() {
  std::set<uint64_t> prune;
  std::vector<ShortHash> ask_for;
  std::vector<ShortHash> asked_for;
  bool wants_repair = false;
  {
    const std::lock_guard lock(mutex_);
    wants_repair = std::exchange(wants_repair_, false);
    prune.swap(to_prune_);
    ask_for.swap(to_ask_for_);
    asked_for.swap(asked_for_);
  }
  uint64_t number = 0;
  const std::vector<Neighbour> neighbours =
      context_->replica->streams.neighbours(&number);
  Status status;
  if (std::exchange(told_neighbours_, number) != number) {
    status = Send(EncodeNeighbours(neighbours));
  }
  if (status.ok() && wants_repair) {
    status = Send(EncodeStreamCount(StreamMessageType::kGap, 0));
  }
  if (status.ok()) {
    status = SendList(StreamMessageType::kPrune, {prune.begin(), prune.end()});
  }
  if (status.ok()) {
    status = SendList(StreamMessageType::kGraft, std::move(ask_for));
  }
  return status.ok() && !asked_for.empty() ? SendAskedFor(asked_for) : status;
}

// What was announced is read as it is now: later versions are welcome, too.
Status StreamSender::SendAskedFor(const std::vector<ShortHash>& hashes) {
  Status status;
  uint64_t forgotten = 0;
  for (const ShortHash hash : hashes) {
    const AnnouncedChange* const announced = announced_.Find(hash);
    if (announced == nullptr) {
      ++forgotten;
      continue;
    }
    status = SendPair(*announced, hash);
    if (!status.ok()) return status;
  }
  return forgotten > 0 ? SendGap(forgotten) : status;
}

Status StreamSender::SendPair(const AnnouncedChange& announced,
                              ShortHash hash) {
  Pair pair;
  const absl::Status read =
      context_->link->view()->ReadPair(announced.family, announced.key, &pair);
  if (absl::IsNotFound(read)) return Status::OK();
  Status status = ToRocksDb(read);
  if (!status.ok()) return status;
  if (pair.key.size() + pair.value.size() > ChangeLog::kMostChangeBytes) {
    return SendGap(1);
  }
  // It may be later than all that the log has told of.
  if (context_->replica->options.stream_syncs)
    status = ToRocksDb(context_->link->view()->Sync());
  if (!status.ok()) return status;
  if (context_->link->stale()) return Status::TryAgain("reconnecting");
  context_->replica->streams.With([&](Spread* spread) {
    spread->OnGraft(context_->link->peer_id(), announced.origin, hash,
                    ToMs(Clock::now()));
  });
  oldest_ = Clock::now();
  encoder_.Add(pair.family, pair.key, pair.version, pair.tombstone, pair.value);
  return SendMessage(0);
}

// `changes`: of the log, dealt with by it and those before.
Status StreamSender::SendMessage(uint64_t changes) {
  const uint64_t bytes = encoder_.message().size();
  // Both before it is sent: the peer may have taken it before Send returns.
  {
    const std::lock_guard lock(mutex_);
    bytes_sent_ += bytes;
    under_way_.push_back({bytes_sent_, changes, oldest_});
  }
  context_->line->Sent(encoder_.count(), 0);
  const Status status = Send(encoder_.message());
  encoder_.Clear();
  return status;
}

Status StreamSender::SendGap(uint64_t changes) {
  context_->line->GaveUp(changes);
  const Status status =
      Send(EncodeStreamCount(StreamMessageType::kGap, changes));
  if (status.ok() && context_->repair != nullptr) context_->repair();
  return status;
}

Status StreamSender::Send(const std::string& message) {
  const auto timeout = context_->replica->options.io_timeout;
  if (!context_->replica->bytes.Pay(message.size(), timeout / 4,
                                    context_->replica->stopped)) {
    return Status::Aborted("the replicator stops");
  }
  const Status status = context_->link->connection()->Send(message, timeout);
  last_sent_ = Clock::now();
  const uint64_t wire = context_->link->connection()->bytes_sent();
  context_->line->Sent(0, wire - std::exchange(wire_sent_, wire));
  return status;
}

void StreamSender::NoteLag() {
  const ChangeLog::Reader::Backlog backlog = reader_.backlog();
  uint64_t changes = backlog.changes;
  Clock::time_point oldest = backlog.oldest;
  {
    const std::lock_guard lock(mutex_);
    for (const UnderWay& message : under_way_) changes += message.changes;
    if (!under_way_.empty()) oldest = under_way_.front().oldest;
  }
  context_->line->Behind(changes, oldest);
}

void StreamSender::TellTaken(uint64_t bytes) {
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    if (bytes_to_tell_ == 0) {
      tell_at_ = Clock::now() + kTellAfter;
      tell = true;  // Run does not know when to wake
    }
    bytes_to_tell_ += bytes;
    tell |= bytes_to_tell_ >= kTellBytes;
  }
  if (tell) Wake();
}

Status StreamSender::OnTaken(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes > bytes_sent_ - bytes_taken_) {
      return Status::InvalidArgument("from " + context_->link->peer_name(),
                                     "took more than was sent");
    }
    bytes_taken_ += bytes;
    while (!under_way_.empty() &&
           under_way_.front().bytes_until <= bytes_taken_) {
      under_way_.pop_front();
    }
  }
  Wake();
  return Status::OK();
}

void StreamSender::Prune(std::set<uint64_t> origins) {
  {
    const std::lock_guard lock(mutex_);
    to_prune_.merge(origins);
  }
  Wake();
}

void StreamSender::AskFor(const std::vector<ShortHash>& hashes) {
  {
    const std::lock_guard lock(mutex_);
    to_ask_for_.insert(to_ask_for_.end(), hashes.begin(), hashes.end());
  }
  Wake();
}

Status StreamSender::OnAskedFor(const std::vector<ShortHash>& hashes) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_for_.size() + hashes.size() > AnnouncedChanges::kMost) {
      return Status::InvalidArgument("from " + context_->link->peer_name(),
                                     "asks for more than was announced");
    }
    asked_for_.insert(asked_for_.end(), hashes.begin(), hashes.end());
  }
  Wake();
  return Status::OK();
}

void StreamSender::Repair() {
  if (context_->repair != nullptr) return context_->repair();
  {
    const std::lock_guard lock(mutex_);
    wants_repair_ = true;
  }
  Wake();
}

}  // namespace rocksync
