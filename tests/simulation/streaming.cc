// Streams beside the sessions of simulated replicas: who opens them, when they
// step, and what they promise.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/stream/stream_messages.h"
#include "tests/simulation/cluster_state.h"

namespace rocksync {
namespace {

// As replicator/stream_dialers.cc has them.
constexpr uint64_t kLookAgainMs = 200;
constexpr uint64_t kLastingMs = 1'000;
// Of a schedule that has a session only when it is asked for.
constexpr uint64_t kNoIntervalMs = 1'000'000'000;
// A change may be on its way for so long once all have it, and is remembered
// for a window and a slice of it.
constexpr uint64_t kForgottenAfterMs = 20'000;

StreamMessageType TypeOf(std::string_view message) {
  return static_cast<StreamMessageType>(message[0]);
}

std::string DescribeStreamed(std::string_view message) {
  static constexpr const char* kNames[] = {"open",  "changes",  "taken",
                                           "gap",   "alive",    "neighbours",
                                           "prune", "announce", "graft"};
  const auto type = static_cast<size_t>(TypeOf(message));
  std::string text = absl::StrCat("stream ", kNames[type < 9 ? type : 0], " [",
                                  message.size(), "]");
  std::vector<Pair> pairs;
  if (TypeOf(message) != StreamMessageType::kChanges ||
      !DecodeChanges(message.substr(1), UINT32_MAX, &pairs).ok()) {
    return text;
  }
  for (const Pair& pair : pairs) {
    absl::StrAppend(&text, " ", pair.family, "/", pair.key, "@",
                    WallMs(pair.version), ".", pair.version.time & 0xffff, ":",
                    pair.version.replica, pair.tombstone ? " deleted" : "");
  }
  return text;
}

}  // namespace

// --- A replica's streams ----------------------------------------------------

void Cluster::StartStreams(Replica* replica) {
  SpreadOptions options;
  if (shape_.zones) options.zone = absl::StrCat("z", replica->number % 2);
  // What a filter errs by waits for a session at the interval, and there is
  // none while streams are alone.
  options.filter.false_positive_rate = 1e-9;
  if (options_.cluster_fault == ClusterFault::kWindowNeverAges) {
    options.filter.window_ms = 0;
  }
  MappingSeed seed;
  for (uint8_t& byte : seed) byte = static_cast<uint8_t>(random_.Next());
  replica->buffer = std::make_unique<ChangeBuffer>();
  replica->streams = std::make_unique<Streams>(replica->id, options, seed,
                                               replica->buffer.get());
}

void Cluster::StopStreams(Replica* replica) {
  replica->streams.reset();
  replica->buffer.reset();
}

void Cluster::AppendChange(Replica* replica, const Pair& pair,
                           uint64_t source) {
  if (!replica->buffer || !replica->buffer->attached()) return;
  const Change change{pair.family,    pair.key,   pair.version,
                      pair.tombstone, pair.value, source};
  replica->buffer->Append({&change, 1});
  for (const auto& [link, number] : replica->open_streams) {
    WakeStream(link, number, now_ms_ + random_.Below(3));
  }
}

// --- Opening ----------------------------------------------------------------

// Peers may be others than before: streams that were dialed to those end.
void Cluster::StartDialingStreams(Replica* replica) {
  for (const auto& link : links_) {
    if (link->open && link->is_stream && link->sides[0].replica == replica) {
      Break(link.get(), "not dialed any more");
    }
  }
  replica->stream_dialing.assign(replica->peers.size(), {});
  LookForStreams(replica, replica->schedules);
}

void Cluster::LookForStreams(Replica* replica, uint64_t schedule) {
  if (!replica->up || replica->schedules != schedule) return;
  At(now_ms_ + kLookAgainMs,
     [this, replica, schedule] { LookForStreams(replica, schedule); });
  if (now_ms_ < awake_ms_) return;
  for (size_t i = 0; i < replica->peers.size(); ++i) {
    const StreamDialing& dialing = replica->stream_dialing[i];
    const bool dials = dialing.link != nullptr && dialing.link->open;
    if (dials || now_ms_ < dialing.next_ms ||
        replica->streams->Has(replicas_[replica->peers[i]]->id)) {
      continue;
    }
    DialStream(replica, i);
  }
}

void Cluster::DialStream(Replica* replica, size_t peer, int attempt) {
  StreamDialing& dialing = replica->stream_dialing[peer];
  const Replica& listener = *replicas_[replica->peers[peer]];
  if (!listener.up || Parted(*replica, listener)) {
    dialing.next_ms =
        now_ms_ + static_cast<uint64_t>(dialing.pause.After(false).count());
    return;
  }
  Link* const link = NewLink(replica, peer, attempt);
  link->is_stream = true;
  dialing.link = link;
  Trace(replica->name(), " dials ", listener.name(), " for a stream, link ",
        link->number);
  Open(&link->sides[0], Role::kInitiator);
  Watch(link);
  Pump(link, 0);
}

void Cluster::NewStream(Link* link, int number) {
  Side& side = link->sides[number];
  Replica* const replica = side.replica;
  const bool any_terms = options_.cluster_fault == ClusterFault::kRelayAnyEpoch;
  side.view = NewView(side, side.terms, {.apply_by_any_terms = any_terms});
  const SetupFacts& peer = side.setup->peer();
  MemoryStream::Context context;
  context.storage = replica->storage.get();
  context.view = side.view.get();
  context.buffer = replica->buffer.get();
  context.streams = replica->streams.get();
  context.buffer_bytes = shape_.stream_buffer_bytes;
  context.syncs = options_.cluster_fault != ClusterFault::kStreamUnsynced;
  context.now_ms = [this] { return now_ms_; };
  context.terms_hold = [&side, replica, any_terms, id = peer.replica_id,
                        incarnation = peer.incarnation] {
    return any_terms || (side.terms.StillHold(replica->storage->terms()) &&
                         replica->remembered[id].incarnation == incarnation);
  };
  context.send = [this, link, number](std::string_view message) {
    return SendOnStream(link, 1 - number, message);
  };
  context.repair = [this, link] {
    if (options_.cluster_fault != ClusterFault::kIgnoreGap) Repair(link);
  };
  context.wake = [this, link, number] { WakeStream(link, number, now_ms_); };
  context.close = [this, link] {
    At(now_ms_, [this, link] {
      if (link->open) Break(link, "another stream is kept");
    });
  };
  StreamFacts facts{
      .peer_id = peer.replica_id,
      .peer_name = link->sides[1 - number].replica->name(),
      .dialed = number == 0,
      .mine = {shape_.stream_window, kIoTimeoutMs,
               shape_.zones ? absl::StrCat("z", replica->number % 2) : ""},
      .theirs = {}};
  side.stream = std::make_unique<MemoryStream>(context, std::move(facts));
}

void Cluster::AskForStream(Link* link) {
  NewStream(link, 0);
  SendOnStream(link, 1, EncodeStreamOpen(link->sides[0].stream->facts().mine))
      .IgnoreError();
}

void Cluster::AnswerStream(Link* link, const std::string& message) {
  StreamOpen theirs;
  if (!DecodeStreamOpen(message, &theirs).ok()) {
    return truth_.Broke("a malformed opening of a stream");
  }
  NewStream(link, 1);
  MemoryStream& stream = *link->sides[1].stream;
  stream.SetTheirs(theirs);
  if (!stream.Enter(link->sides[1].replica->id)) {
    return Close(link, SessionOutcome::kBusy);
  }
  SendOnStream(link, 0, EncodeStreamOpen(stream.facts().mine)).IgnoreError();
  if (link->open) BeginStream(link, 1);
}

void Cluster::StreamAnswered(Link* link, const std::string& message) {
  StreamOpen theirs;
  if (!DecodeStreamOpen(message, &theirs).ok()) {
    return truth_.Broke("a malformed answer to the opening of a stream");
  }
  MemoryStream& stream = *link->sides[0].stream;
  stream.SetTheirs(theirs);
  if (!stream.Enter(link->sides[0].replica->id)) {
    return Close(link, SessionOutcome::kBusy);
  }
  ++result_.streams;
  BeginStream(link, 0);
  Repair(link);
}

void Cluster::BeginStream(Link* link, int number) {
  Side& side = link->sides[number];
  side.streaming = true;
  link->opened_ms = now_ms_;
  side.replica->open_streams.emplace_back(link, number);
  side.stream->Begin();
  WakeStream(link, number, now_ms_);
}

// Of a link that is closed.
void Cluster::DropStream(Link* link, int number) {
  Side& side = link->sides[number];
  std::erase(side.replica->open_streams, std::pair(link, number));
  side.streaming = false;
  side.stream.reset();
}

void Cluster::NoteStreamEnd(Link* link) {
  StreamDialing& dialing = link->sides[0].replica->stream_dialing[link->peer];
  const bool streamed =
      link->opened_ms > 0 && now_ms_ - link->opened_ms >= kLastingMs;
  dialing.next_ms =
      now_ms_ + static_cast<uint64_t>(dialing.pause.After(streamed).count());
}

// --- Carrying ---------------------------------------------------------------

void Cluster::WakeStream(Link* link, int number, uint64_t at_ms) {
  Side& side = link->sides[number];
  if (side.steps_ms <= at_ms) return;
  side.steps_ms = at_ms;
  At(at_ms, [this, link, number, at_ms] {
    Side& stepping = link->sides[number];
    if (stepping.steps_ms != at_ms) return;
    stepping.steps_ms = UINT64_MAX;
    if (link->open && stepping.streaming) StepStream(link, number);
  });
}

void Cluster::StepStream(Link* link, int number) {
  Side& side = link->sides[number];
  const absl::Status status = side.stream->Step();
  NoteSyncs(side.replica);
  if (!link->open) return;
  if (!status.ok()) {
    Trace(side.replica->name(), ": ", status.ToString());
    return Break(link, "stream ends");
  }
  WakeStream(link, number, std::max(now_ms_ + 1, side.stream->NextStepMs()));
}

absl::Status Cluster::SendOnStream(Link* link, int to,
                                   std::string_view message) {
  const absl::Status broken = absl::AbortedError("the connection has broken");
  if (!link->open) return broken;
  const Side& from = link->sides[1 - to];
  Fingerprint(message);
  if (options_.trace) {
    options_.trace(absl::StrCat(
        now_ms_ - kStartMs, " link ", link->number, " ", from.replica->name(),
        "->", link->sides[to].replica->name(), " ", DescribeStreamed(message)));
  }
  CheckStreamed(link, 1 - to, message);
  CountStreamed(from, message);
  if (!Lose(link)) Carry(link, to, std::string(message));
  return link->open ? absl::OkStatus() : broken;
}

void Cluster::CountStreamed(const Side& from, std::string_view message) {
  constexpr size_t kListed = sizeof(uint64_t);
  std::vector<Pair> pairs;
  switch (TypeOf(message)) {
    case StreamMessageType::kChanges:
      DecodeChanges(message.substr(1), shape_.families, &pairs).IgnoreError();
      result_.changes_streamed += pairs.size();
      for (const Pair& pair : pairs) {
        result_.changes_relayed += pair.version.replica != from.replica->id;
      }
      break;
    case StreamMessageType::kGap: {
      uint64_t changes = 0;
      DecodeStreamCount(message.substr(1), &changes).IgnoreError();
      result_.changes_given_up += changes;
      ++result_.gaps;
      break;
    }
    case StreamMessageType::kPrune:
      ++result_.prunes;
      break;
    case StreamMessageType::kAnnounce:
      result_.announced += message.size() / kListed;
      break;
    case StreamMessageType::kGraft:
      result_.grafts += message.size() / kListed;
      break;
    default:
      break;
  }
}

// What travels is durable at its sender, by what was agreed upon, and no more
// than the peer's window.
void Cluster::CheckStreamed(Link* link, int from, std::string_view message) {
  if (TypeOf(message) != StreamMessageType::kChanges) return;
  Side& side = link->sides[from];
  const MemoryStorage& storage = *side.replica->storage;
  const std::string name = side.replica->name();
  std::vector<Pair> pairs;
  DecodeChanges(message.substr(1), shape_.families, &pairs).IgnoreError();
  for (const Pair& pair : pairs) {
    const RecordKey key{pair.family, pair.key};
    const auto durable = storage.synced_records().find(key);
    const bool is_durable = durable != storage.synced_records().end() &&
                            durable->second.version >= pair.version;
    if (is_durable || truth_.IsDamaged(side.replica->id, key) ||
        IsCollected(true, pair.version, storage.stable_time())) {
      continue;
    }
    truth_.Broke(absl::StrCat(name, " streams ", pair.family, "/", pair.key,
                              ", which it has not synced"));
  }
  if (!side.terms.StillHold(storage.terms())) {
    truth_.Broke(absl::StrCat(name, " streams to ",
                              link->sides[1 - from].replica->name(),
                              " by terms that hold no longer"));
  }
  if (side.stream_bytes_under_way >= shape_.stream_window) {
    truth_.Broke(absl::StrCat(name, " streams beyond the window of its peer"));
  }
  side.stream_bytes_under_way += message.size();
}

void Cluster::DeliverOnStream(Link* link, int to, const std::string& message) {
  Side& side = link->sides[to];
  if (!side.stream) return AnswerStream(link, message);
  if (!side.streaming) return StreamAnswered(link, message);
  const bool terms_hold = side.terms.StillHold(side.replica->storage->terms());
  const StreamMessageType type = TypeOf(message);
  if (type == StreamMessageType::kAck) {
    uint64_t bytes = 0;
    DecodeStreamCount(std::string_view(message).substr(1), &bytes)
        .IgnoreError();
    side.stream_bytes_under_way -= bytes;
  }
  const absl::Status status = side.stream->Receive(message);
  NoteSyncs(side.replica);
  NoteQuarantined(side.replica);
  if (!status.ok()) {
    Trace(side.replica->name(), ": ", status.ToString());
    if (absl::IsInvalidArgument(status)) {
      truth_.Broke(absl::StrCat(side.replica->name(), " on link ", link->number,
                                ": ", status.ToString()));
    }
    return Break(link, "stream ends");
  }
  if (type != StreamMessageType::kChanges) return;
  if (!terms_hold) {
    truth_.Broke(absl::StrCat(
        side.replica->name(), " takes what is streamed by ",
        link->sides[1 - to].replica->name(), " by terms that hold no longer"));
  }
  CrashShipper(link, to);
}

void Cluster::Repair(Link* link) {
  Replica* const dialer = link->sides[0].replica;
  if (!dialer->up || link->schedule != dialer->schedules) return;
  dialer->schedule->Ask(link->peer, now_ms_);
  At(now_ms_, [this, dialer, schedule = link->schedule] {
    if (dialer->up && dialer->schedules == schedule) Tick(dialer);
  });
}

// --- What streams promise ---------------------------------------------------

// Once all are equal: some more writes, and no session that nobody asked for.
void Cluster::StreamAlone() {
  Trace("streams are alone");
  interval_ms_ = kNoIntervalMs;
  for (size_t i = 0; i < links_.size(); ++i) {
    Link* const link = links_[i].get();
    if (link->open && !link->is_stream) Close(link, SessionOutcome::kBusy);
  }
  for (const auto& replica : replicas_) {
    if (replica->up) StartSchedule(replica.get());
  }
  RunUntil(now_ms_ + kIoTimeoutMs);
  constexpr int kBursts = 4;
  for (int burst = 0; burst < kBursts; ++burst) {
    Replica& writer = Somebody();
    if (!writer.up || writer.removed_epoch > 0) continue;
    const uint64_t writes = random_.Between(1, 40);
    for (uint64_t i = 0; i < writes; ++i) Write(&writer);
    RunUntil(now_ms_ + random_.Below(1000));
  }
  if (truth_.violations().empty()) Settle();
  result_.intervals_by_streams =
      IntervalsUntil(kIntervalsByStreams, [this] { return IsEqual(); });
  if (!truth_.violations().empty()) return;
  if (!truth_.Equal(Storages())) {
    truth_.Broke("neither streams nor what they ask for brings a change");
    return truth_.ExpectEqual(Storages());
  }
  CheckForgotten();
}

// After a silence nothing of what went by is remembered.
void Cluster::CheckForgotten() {
  RunUntil(now_ms_ + kForgottenAfterMs);
  for (const auto& replica : replicas_) {
    if (!replica->up) continue;
    const uint64_t remembered = replica->streams->With(
        [this](Spread* spread) { return spread->Remembered(now_ms_); });
    if (remembered == 0) continue;
    truth_.Broke(absl::StrCat(replica->name(), " remembers ", remembered,
                              " changes that went by long ago"));
  }
}

}  // namespace rocksync
