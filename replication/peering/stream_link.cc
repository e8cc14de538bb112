#include "replication/peering/stream_link.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "replication/peering/streams.h"
#include "replication/session/messages.h"
#include "replication/store/format/status.h"
#include "replication/store/store_access.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

// What a peer may have under way: more than a round trip's worth, and little
// memory.
constexpr uint64_t kWindowBytes = uint64_t{1} << 20;
// Whatever a peer allows.
constexpr uint64_t kMostWindowBytes = uint64_t{4} << 20;
// Keys and values that are taken from the log at once.
constexpr size_t kTakenBytes = size_t{64} << 10;
// The peer is told what was taken after this long, or after a part of the
// window.
constexpr milliseconds kTellAfter{5};
constexpr uint64_t kTellBytes = kWindowBytes / 4;
constexpr milliseconds kMostSilence{10'000};
// Announced changes that can still be asked for; with their keys.
constexpr size_t kMostAnnounced = size_t{1} << 13;

uint64_t Ms(StreamLink::Clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<milliseconds>(time.time_since_epoch())
          .count());
}

}  // namespace

StreamLink::StreamLink(Replica* replica, Link* link,
                       std::function<void()> repair)
    : replica_(replica),
      link_(link),
      repair_(std::move(repair)),
      log_(StoreAccess::ChangesOf(replica->db)) {}

StreamLink::~StreamLink() { replica_->streams.Leave(link_->peer_id(), this); }

void StreamLink::Close() { link_->connection()->Close(); }

void StreamLink::Wake() { reader_->Interrupt(); }

void StreamLink::AskFor(const std::vector<ShortHash>& hashes) {
  {
    const std::lock_guard lock(mutex_);
    to_ask_for_.insert(to_ask_for_.end(), hashes.begin(), hashes.end());
  }
  Wake();
}

bool StreamLink::ended() const {
  const std::lock_guard lock(mutex_);
  return !end_.ok();
}

void StreamLink::End(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (end_.ok()) end_ = why;
  }
  Close();
  if (reader_ != nullptr) reader_->Interrupt();
}

Status StreamLink::Run(const std::string& first) {
  const Status status = Open(first);
  return status.ok() ? Carry() : status;
}

Status StreamLink::Open(const std::string& first) {
  const bool dialed = first.empty();
  const uint64_t dialer =
      dialed ? replica_->identity.replica_id : link_->peer_id();
  const uint64_t other =
      dialed ? link_->peer_id() : replica_->identity.replica_id;
  // Before the peer may take the stream for open: what is written from here on
  // is in the log, what was written before is in the next session's snapshot.
  reader_ = std::make_unique<ChangeLog::Reader>(
      log_, replica_->options.stream_buffer_bytes);
  const std::string mine = EncodeStreamOpen(
      {kWindowBytes,
       static_cast<uint64_t>(replica_->options.io_timeout.count()),
       replica_->options.zone});
  const auto enter = [&] {
    return replica_->streams.Enter({link_->peer_id(), theirs_.zone},
                                   dialer < other, this);
  };
  Status status;
  std::string theirs = first;
  if (dialed) {
    status = link_->connection()->Send(mine, replica_->options.io_timeout);
    if (status.ok()) {
      status =
          link_->connection()->Receive(&theirs, replica_->options.io_timeout);
    }
    if (!status.ok()) return status;
    status = ToRocksDb(DecodeStreamOpen(theirs, &theirs_));
    if (!status.ok()) return Status::Busy("the peer opens no stream now");
    if (!enter()) return Status::Busy("another stream with this peer is open");
  } else {
    status = ToRocksDb(DecodeStreamOpen(theirs, &theirs_));
    if (!status.ok()) return status;
    if (!replica_->takes_streams() || !enter()) {
      std::string no(1,
                     static_cast<char>(static_cast<uint8_t>(MessageType::kEnd) |
                                       kLastOfTurn));
      EncodeEnd({EndReason::kBusy, "no stream now"}, &no);
      (void)link_->connection()->Send(no, replica_->options.io_timeout);
      return Status::Busy("another stream with this peer is open");
    }
    status = link_->connection()->Send(mine, replica_->options.io_timeout);
    if (!status.ok()) return status;
  }
  theirs_.window_bytes = std::min(theirs_.window_bytes, kMostWindowBytes);
  line_ = replica_->stats.BeginStream(
      link_->peer_name(), link_->peer_id(), link_->open(),
      dialed ? Role::kInitiator : Role::kResponder);
  wire_sent_ = link_->connection()->bytes_sent();
  wire_received_ = link_->connection()->bytes_received();
  if (repair_ != nullptr) repair_();
  return status;
}

Status StreamLink::Carry() {
  std::thread sender;
  try {
    sender = std::thread([this] { SendLoop(); });
  } catch (const std::system_error& error) {
    return Status::Aborted("cannot start a thread", error.what());
  }
  End(ReceiveLoop());
  sender.join();
  return end_;
}

// --- Sending ----------------------------------------------------------------

void StreamLink::SendLoop() {
  last_sent_ = Clock::now();
  while (!ended()) {
    reader_->Wait(NextDue(), /*ignore_changes=*/Window() == 0);
    if (ended()) return;
    const Status status = SendOnce();
    if (!status.ok()) return End(status);
  }
}

StreamLink::Clock::time_point StreamLink::SilentUntil() const {
  const auto silence = std::min(
      kMostSilence, milliseconds(static_cast<int64_t>(
                        std::max<uint64_t>(theirs_.patience_ms / 4, 1))));
  return last_sent_ + silence;
}

StreamLink::Clock::time_point StreamLink::NextDue() const {
  const uint64_t graft_ms = replica_->streams.With(
      [](const Spread* spread) { return spread->NextDueMs(); });
  Clock::time_point due = SilentUntil();
  if (graft_ms < Ms(due)) {
    due = Clock::time_point(milliseconds(static_cast<int64_t>(graft_ms)));
  }
  const std::lock_guard lock(mutex_);
  return bytes_to_tell_ > 0 ? std::min(due, tell_at_) : due;
}

size_t StreamLink::Window() const {
  const std::lock_guard lock(mutex_);
  const uint64_t under_way = bytes_sent_ - bytes_taken_;
  return under_way < theirs_.window_bytes
             ? static_cast<size_t>(theirs_.window_bytes - under_way)
             : 0;
}

Status StreamLink::SendOnce() {
  const Clock::time_point now = Clock::now();
  if (replica_->streams.AskForMissing(Ms(now))) Repair();
  Status status = SendWhatIsDue(now);
  if (status.ok()) status = SendLists();
  const size_t window = Window();
  if (status.ok() && window > 0) {
    status = SendChanges(std::min(window, kTakenBytes));
  }
  NoteLag();
  return status;
}

Status StreamLink::SendWhatIsDue(Clock::time_point now) {
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

Status StreamLink::SendChanges(size_t most_bytes) {
  const ChangeLog::Reader::Taken& taken = reader_->Take(most_bytes);
  if (taken.lost > 0) {
    const Status status = SendGap(taken.lost);
    if (!status.ok()) return status;
  }
  if (taken.changes.empty()) return Status::OK();
  oldest_ = taken.oldest;
  // What travels is durable here first, or a replica could hold what its writer
  // has lost.
  Status status;
  if (replica_->options.stream_syncs) {
    status = replica_->streams.sync()->Cover(
        taken.last, [this] { return log_->end(); },
        [this] { return ToRocksDb(link_->view()->Sync()); });
  }
  if (!status.ok()) return status;
  // A replica that is a member no more gets nothing from the moment that this
  // one knows; and ordinals of families are those of the set-up.
  if (link_->stale()) return Status::TryAgain("reconnecting");

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

Status StreamLink::Encode(const ChangeLog::Reader::Taken& taken,
                          uint64_t* left_out) {
  const bool meshed = replica_->streams.With(
      [](const Spread* spread) { return spread->meshed(); });
  const uint64_t now_ms = Ms(Clock::now());
  for (const Change& change : taken.changes) {
    const std::optional<uint32_t> family =
        link_->view()->OrdinalOf(change.family_id);
    if (!family.has_value()) return Status::TryAgain("reconnecting");
    if (change.left_out) {
      // Who has it need not be known: the session finds out.
      *left_out += change.source != link_->peer_id();
      continue;
    }
    const ShortHash hash =
        meshed ? 0
               : ShortHashOf(link_->view()->HashOf(
                     {*family, std::string(change.key), change.version,
                      change.tombstone, std::string(change.value)}));
    const Spread::Way way = replica_->streams.With([&](Spread* spread) {
      return spread->WayTo(link_->peer_id(),
                           {hash, change.version.replica, change.source},
                           now_ms);
    });
    const Status status = EncodeOne(*family, change, hash, way);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status StreamLink::EncodeOne(uint32_t family, const Change& change,
                             ShortHash hash, Spread::Way way) {
  switch (way) {
    case Spread::Way::kNone:
      return Status::OK();
    case Spread::Way::kAnnounce:
      Remember(hash, {change.version.replica, family, std::string(change.key)});
      to_announce_.push_back(hash);
      return Status::OK();
    case Spread::Way::kPush:
      encoder_.Add(family, change.key, change.version, change.tombstone,
                   change.value);
      return encoder_.full() ? SendMessage(0) : Status::OK();
  }
  return Status::OK();
}

void StreamLink::Remember(ShortHash hash, Announced announced) {
  if (!announced_.emplace(hash, std::move(announced)).second) return;
  announced_order_.push_back(hash);
  if (announced_order_.size() <= kMostAnnounced) return;
  announced_.erase(announced_order_.front());
  announced_order_.pop_front();
}

Status StreamLink::SendList(StreamMessageType type,
                            std::vector<uint64_t> list) {
  Status status;
  for (size_t at = 0; status.ok() && at < list.size(); at += kMostListed) {
    const size_t count = std::min(kMostListed, list.size() - at);
    status = Send(EncodeStreamList(type, {list.data() + at, count}));
  }
  return status;
}

Status StreamLink::SendLists() {
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
      replica_->streams.neighbours(&number);
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
Status StreamLink::SendAskedFor(const std::vector<ShortHash>& hashes) {
  Status status;
  uint64_t forgotten = 0;
  for (const ShortHash hash : hashes) {
    const auto announced = announced_.find(hash);
    if (announced == announced_.end()) {
      ++forgotten;
      continue;
    }
    status = SendPair(announced->second, hash);
    if (!status.ok()) return status;
  }
  return forgotten > 0 ? SendGap(forgotten) : status;
}

Status StreamLink::SendPair(const Announced& announced, ShortHash hash) {
  Pair pair;
  const absl::Status read =
      link_->view()->ReadPair(announced.family, announced.key, &pair);
  if (absl::IsNotFound(read)) return Status::OK();
  Status status = ToRocksDb(read);
  if (!status.ok()) return status;
  if (pair.key.size() + pair.value.size() > ChangeLog::kMostChangeBytes) {
    return SendGap(1);
  }
  // It may be later than all that the log has told of.
  if (replica_->options.stream_syncs) status = ToRocksDb(link_->view()->Sync());
  if (!status.ok()) return status;
  if (link_->stale()) return Status::TryAgain("reconnecting");
  replica_->streams.With([&](Spread* spread) {
    spread->OnGraft(link_->peer_id(), announced.origin, hash, Ms(Clock::now()));
  });
  oldest_ = Clock::now();
  encoder_.Add(pair.family, pair.key, pair.version, pair.tombstone, pair.value);
  return SendMessage(0);
}

// `changes`: of the log, dealt with by it and those before.
Status StreamLink::SendMessage(uint64_t changes) {
  const uint64_t bytes = encoder_.message().size();
  {
    // Before it is sent: the peer may have taken it before Send returns.
    const std::lock_guard lock(mutex_);
    bytes_sent_ += bytes;
    under_way_.push_back({bytes_sent_, changes, oldest_});
  }
  const Status status = Send(encoder_.message());
  if (status.ok()) line_->Sent(encoder_.count(), 0);
  encoder_.Clear();
  return status;
}

Status StreamLink::SendGap(uint64_t changes) {
  line_->GaveUp(changes);
  const Status status =
      Send(EncodeStreamCount(StreamMessageType::kGap, changes));
  if (status.ok() && repair_ != nullptr) repair_();
  return status;
}

// Whoever dialed begins the session; the other side has to tell it.
void StreamLink::Repair() {
  if (repair_ != nullptr) return repair_();
  {
    const std::lock_guard lock(mutex_);
    wants_repair_ = true;
  }
  Wake();
}

Status StreamLink::Send(const std::string& message) {
  const auto timeout = replica_->options.io_timeout;
  if (!replica_->bytes.Pay(message.size(), timeout / 4, replica_->stopped)) {
    return Status::Aborted("the replicator stops");
  }
  const Status status = link_->connection()->Send(message, timeout);
  last_sent_ = Clock::now();
  const uint64_t wire = link_->connection()->bytes_sent();
  line_->Sent(0, wire - std::exchange(wire_sent_, wire));
  return status;
}

void StreamLink::NoteLag() {
  const ChangeLog::Reader::Backlog backlog = reader_->backlog();
  uint64_t changes = backlog.changes;
  Clock::time_point oldest = backlog.oldest;
  {
    const std::lock_guard lock(mutex_);
    for (const UnderWay& message : under_way_) changes += message.changes;
    if (!under_way_.empty()) oldest = under_way_.front().oldest;
  }
  line_->Behind(changes, oldest);
}

// --- Receiving --------------------------------------------------------------

Status StreamLink::ReceiveLoop() {
  std::string message;
  while (true) {
    Status status =
        link_->connection()->Receive(&message, replica_->options.io_timeout);
    if (!status.ok()) return status;
    const uint64_t wire = link_->connection()->bytes_received();
    line_->Received(wire - std::exchange(wire_received_, wire));
    if (!replica_->bytes.Pay(message.size(), replica_->options.io_timeout / 4,
                             replica_->stopped)) {
      return Status::Aborted("the replicator stops");
    }
    if (link_->stale()) return Status::TryAgain("reconnecting");
    status = Take(message);
    if (!status.ok()) return status;
  }
}

Status StreamLink::Take(std::string_view message) {
  const std::string_view body = message.substr(1);
  switch (static_cast<StreamMessageType>(message[0])) {
    case StreamMessageType::kChanges:
      return TakeChanges(message);
    case StreamMessageType::kTaken:
      return TakeTaken(body);
    case StreamMessageType::kGap: {
      uint64_t changes = 0;
      const Status status = ToRocksDb(DecodeStreamCount(body, &changes));
      if (status.ok() && repair_ != nullptr) repair_();
      return status;
    }
    case StreamMessageType::kNeighbours:
    case StreamMessageType::kPrune:
    case StreamMessageType::kAnnounce:
    case StreamMessageType::kGraft:
      return TakeList(static_cast<StreamMessageType>(message[0]), body);
    case StreamMessageType::kAlive:
      if (body.empty()) return Status::OK();
      break;
  }
  return Status::InvalidArgument("from " + link_->peer_name(),
                                 "an unknown message in a stream");
}

Status StreamLink::TakeChanges(std::string_view message) {
  Status status = ToRocksDb(
      DecodeChanges(message.substr(1), link_->view()->FamilyCount(), &pairs_));
  if (status.ok()) status = Apply();
  if (!status.ok()) return status;
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    if (bytes_to_tell_ == 0) {
      tell_at_ = Clock::now() + kTellAfter;
      tell = true;  // the sender does not know when to wake
    }
    bytes_to_tell_ += message.size();
    tell |= bytes_to_tell_ >= kTellBytes;
  }
  if (tell) reader_->Interrupt();
  return status;
}

Status StreamLink::Apply() {
  const ReplicatedDBOptions& options = replica_->db->replication_options();
  const auto too_large = [&](const Pair& pair) {
    const bool is =
        !pair.tombstone && (pair.key.size() > options.max_key_bytes ||
                            pair.value.size() > options.max_value_bytes);
    if (is) link_->view()->NoteOversized(pair.family, pair.key);
    return is;
  };
  const uint64_t received = pairs_.size();
  std::erase_if(pairs_, too_large);
  const absl::Status applied = link_->view()->Apply(
      pairs_, [this] { return replica_->stopping || ended(); }, &outcomes_);
  if (!applied.ok()) return ToRocksDb(applied);
  carried_ = true;
  const auto count = [&](ApplyOutcome outcome) {
    return static_cast<uint64_t>(
        std::count(outcomes_.begin(), outcomes_.end(), outcome));
  };
  line_->Took(received, count(ApplyOutcome::kApplied),
              count(ApplyOutcome::kSuperseded));
  NoteArrived();
  return Status::OK();
}

// What came by two ways comes by one from now on.
void StreamLink::NoteArrived() {
  if (replica_->streams.With(
          [](const Spread* spread) { return spread->meshed(); })) {
    return;
  }
  std::set<uint64_t> prune;
  const uint64_t now_ms = Ms(Clock::now());
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const bool applied = outcomes_[i] == ApplyOutcome::kApplied;
    if (!applied && outcomes_[i] != ApplyOutcome::kSuperseded) continue;
    const Spreading change{ShortHashOf(link_->view()->HashOf(pairs_[i])),
                           pairs_[i].version.replica, link_->peer_id()};
    if (replica_->streams.With([&](Spread* spread) {
          return spread->Arrived(change, applied, now_ms);
        })) {
      prune.insert(change.origin);
    }
  }
  if (prune.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    to_prune_.merge(prune);
  }
  Wake();
}

Status StreamLink::TakeList(StreamMessageType type, std::string_view body) {
  if (type == StreamMessageType::kNeighbours) {
    std::vector<Neighbour> neighbours;
    const Status status = ToRocksDb(DecodeNeighbours(body, &neighbours));
    if (status.ok() && replica_->streams.SetNeighbours(link_->peer_id(),
                                                       std::move(neighbours))) {
      Repair();
    }
    return status;
  }
  std::vector<uint64_t> list;
  const Status status = ToRocksDb(DecodeStreamList(body, &list));
  if (!status.ok()) return status;
  if (type == StreamMessageType::kGraft) {
    const std::lock_guard lock(mutex_);
    if (asked_for_.size() + list.size() > kMostAnnounced) {
      return Status::InvalidArgument("from " + link_->peer_name(),
                                     "asks for more than was announced");
    }
    asked_for_.insert(asked_for_.end(), list.begin(), list.end());
  } else {
    replica_->streams.With([&](Spread* spread) {
      if (type == StreamMessageType::kAnnounce) {
        spread->OnAnnounce(link_->peer_id(), list, Ms(Clock::now()));
      } else {
        for (const uint64_t origin : list) {
          spread->OnPrune(link_->peer_id(), origin);
        }
      }
    });
  }
  Wake();
  return status;
}

Status StreamLink::TakeTaken(std::string_view body) {
  uint64_t bytes = 0;
  const Status status = ToRocksDb(DecodeStreamCount(body, &bytes));
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    if (bytes > bytes_sent_ - bytes_taken_) {
      return Status::InvalidArgument("from " + link_->peer_name(),
                                     "took more than was sent");
    }
    bytes_taken_ += bytes;
    while (!under_way_.empty() &&
           under_way_.front().bytes_until <= bytes_taken_) {
      under_way_.pop_front();
    }
  }
  carried_ = true;
  reader_->Interrupt();
  return status;
}

}  // namespace rocksync
