// How simulated replicas meet: dial, set up, talk, part.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/session/acceptance.h"
#include "replication/session/messages.h"
#include "tests/simulation/cluster_state.h"
#include "tests/simulation/conversation.h"

namespace rocksync {
namespace {

std::string NameOf(const SessionSeed& seed) {
  std::string name(seed.dialer_nonce.begin(), seed.dialer_nonce.end());
  name.append(seed.listener_nonce.begin(), seed.listener_nonce.end());
  return absl::StrCat(name, seed.session_number);
}

}  // namespace

void Cluster::Tick(Replica* replica) {
  if (!replica->up) return;
  if (now_ms_ < awake_ms_) {
    At(awake_ms_, [this, replica] { Tick(replica); });
    return;
  }
  if (const std::optional<size_t> peer = replica->schedule->Due(now_ms_)) {
    if (replica->sessions > 0 && !shape_.incoming_at_once) {
      replica->schedule->Ended(*peer, SessionOutcome::kBusy, now_ms_);
    } else {
      Dial(replica, *peer);
    }
  }
  const std::optional<uint64_t> next = replica->schedule->NextDueMs();
  const uint64_t tick = ++replica->ticks;
  At(std::max(now_ms_ + 1, next.value_or(now_ms_ + 1000)),
     [this, replica, tick] {
       if (replica->ticks == tick) Tick(replica);
     });
}

void Cluster::Dial(Replica* replica, size_t peer, int attempt) {
  Replica* const listener = replicas_[replica->peers[peer]].get();
  // Until it ends the peer is not due again, but now and then the dialer
  // forgets that and dials twice.
  const bool twice = faulty() && random_.OneIn(20);
  replica->schedule->Begins(peer);
  replica->schedule->Ended(peer, SessionOutcome::kNotProven,
                           twice ? now_ms_ - shape_.interval_ms : now_ms_);
  if (!listener->up || Parted(*replica, *listener)) {
    Trace(replica->name(), " cannot reach ", listener->name());
    replica->schedule->Ended(peer, SessionOutcome::kFailed, now_ms_);
    return;
  }
  Link* const link = NewLink(replica, peer, attempt);
  Trace(replica->name(), " dials ", listener->name(), ", link ", link->number);
  Open(&link->sides[0], Role::kInitiator);
  // Else once the first frame is there; what is said then may have changed.
  if (random_.OneIn(2)) Open(&link->sides[1], Role::kResponder);
  Watch(link);
  Pump(link, 0);
}

Cluster::Link* Cluster::NewLink(Replica* replica, size_t peer, int attempt) {
  links_.push_back(std::make_unique<Link>());
  Link* const link = links_.back().get();
  link->number = links_.size();
  link->peer = peer;
  link->schedule = replica->schedules;
  link->attempt = attempt;
  link->sides[0].replica = replica;
  link->sides[1].replica = replicas_[replica->peers[peer]].get();
  link->last_frame_ms = now_ms_;
  return link;
}

void Cluster::Open(Side* side, Role role) {
  Replica* const replica = side->replica;
  SetupFacts facts;
  facts.cluster = "simulated";
  facts.replica_id = replica->id;
  facts.incarnation = replica->incarnation;
  facts.first_clock = replica->first_clock;
  facts.past = replica->past;
  side->mine = replica->membership->Announce();
  facts.clock = side->mine.reading;
  facts.gc = side->mine.gc;
  for (uint8_t& byte : facts.nonce) {
    byte = static_cast<uint8_t>(random_.Next());
  }
  if (options_.cluster_fault == ClusterFault::kReuseMapping) facts.nonce = {};
  facts.families.push_back({"default", "bytewise"});
  if (shape_.families > 1) facts.families.push_back({"other", "bytewise"});
  SetupPolicy policy;
  policy.remembered = [this,
                       replica](uint64_t id) -> std::optional<Incarnation> {
    if (options_.cluster_fault == ClusterFault::kIgnoreRollback) return {};
    const auto it = replica->remembered.find(id);
    if (it == replica->remembered.end()) return std::nullopt;
    return it->second;
  };
  policy.said = [replica](uint64_t id, const IncarnationId& incarnation) {
    return replica->membership->SaidWith(id, incarnation);
  };
  side->setup.emplace(role, facts, ClusterSecret{42}, policy);
}

bool Cluster::LetIn(Link* link, int number) {
  link->sides[number].met = true;
  return Remember(link, number) && Meet(link, number);
}

// Remembers whom this side met. Another incarnation of the peer may have been
// let in on another link since the set-up checked; then this one ends here, and
// the next set-up refuses it by name.
bool Cluster::Remember(Link* link, int number) {
  const Side& side = link->sides[number];
  const SetupFacts& peer = side.setup->peer();
  const Incarnation now = {peer.incarnation, peer.first_clock, peer.clock,
                           peer.past};
  Incarnation& incarnation = side.replica->remembered[peer.replica_id];
  if (Compare(incarnation, now) != Succession::kFollows &&
      options_.cluster_fault != ClusterFault::kIgnoreRollback) {
    Break(link, "superseded");
    return false;
  }
  const uint64_t before = incarnation.clock;
  incarnation = Later(incarnation, now);
  incarnation.clock = std::max(
      before, Trusted(incarnation.clock, WallMs(*side.replica), kMaxAheadMs));
  return true;
}

// Takes over a newer member list, or agrees on the stable time.
bool Cluster::Meet(Link* link, int number) {
  Side& side = link->sides[number];
  Replica* const replica = side.replica;
  const Replica& other = *link->sides[1 - number].replica;
  const SetupFacts& peer = side.setup->peer();
  side.theirs = {peer.clock, peer.gc};
  CheckSuccession(replica, other);
  if (other.removed_epoch > 0 && other.id == peer.replica_id &&
      side.mine.gc.epoch >= other.removed_epoch) {
    truth_.Broke(absl::StrCat(replica->name(), " lets ", other.name(),
                              " in, which is no member any more"));
  }
  if (side.setup->verdict() == PeerVerdict::kOursNewer) return false;
  if (side.setup->verdict() == PeerVerdict::kSameList) {
    return AgreeOn(link, number, side.mine, side.theirs);
  }
  const absl::Status status = replica->membership->Learn(side.theirs);
  Trace(replica->name(), " learns of epoch ", peer.gc.epoch, ": ",
        status.ToString());
  if (absl::IsFailedPrecondition(status)) {
    At(now_ms_, [this, replica, incarnation = replica->incarnation] {
      if (replica->incarnation != incarnation) return;
      BeginAnew(replica);
    });
  }
  constexpr int kMeetings = 3;
  Close(link, SessionOutcome::kFailed);
  Replica* const dialer = link->sides[0].replica;
  if (status.ok() && link->attempt < kMeetings && dialer->up &&
      link->schedule == dialer->schedules) {
    if (link->is_stream) {
      DialStream(dialer, link->peer, link->attempt + 1);
    } else {
      Dial(dialer, link->peer, link->attempt + 1);
    }
  }
  return false;
}

bool Cluster::AgreeOn(Link* link, int number, const Announcement& mine,
                      const Announcement& theirs) {
  Side& side = link->sides[number];
  const SetupFacts& peer = side.setup->peer();
  Terms agreed;
  const absl::Status status = side.replica->membership->Agree(
      mine.gc, peer.replica_id, peer.incarnation, theirs, &agreed);
  if (!status.ok()) {
    ActOnRefusal(link, link->sides[1 - number].replica,
                 RefusalReason::kOutOfReach, status.ToString());
    Break(link, "refused");
    return false;
  }
  PartClones(*side.replica);
  if (!IsFenced(*side.replica)) side.replica->out_of_reach = 0;
  side.mine = mine;
  side.theirs = theirs;
  side.terms = agreed;
  return true;
}

// After a session: what is new is announced, then another session follows.
void Cluster::GoOn(Link* link) {
  Side& side = link->sides[0];
  if (!link->open) return;
  if (link->sides[1].session) {  // has not heard the end of the last one
    At(now_ms_ + 50, [this, link] { GoOn(link); });
    return;
  }
  if (!side.terms.StillHold(side.replica->storage->terms())) {
    return Close(link, SessionOutcome::kNotProven);
  }
  if (side.terms.epoch == 0) {
    BeginSession(link, 0);
    return Pump(link, 0);
  }
  side.mine = side.replica->membership->Announce();
  side.announced = true;
  Send(link, 1, side.mine.Encode());
}

void Cluster::ReceiveAnnouncement(Link* link, int number,
                                  const std::string& message) {
  Side& side = link->sides[number];
  Announcement theirs;
  if (!theirs.DecodeFrom(message)) {
    return truth_.Broke("a malformed announcement");
  }
  Announcement mine = side.mine;
  if (number == 1) {
    mine = side.replica->membership->Announce();
    Send(link, 0, mine.Encode());
    if (!link->open) return;
  }
  const SetupFacts& peer = side.setup->peer();
  const PeerJudgement verdict = mine.gc.JudgePeer(
      side.replica->id, theirs.gc, peer.replica_id,
      side.replica->membership->SaidWith(peer.replica_id, peer.incarnation));
  if (verdict.verdict != PeerVerdict::kSameList)
    return Break(link, "to meet anew");
  if (!AgreeOn(link, number, mine, theirs) || number == 1) return;
  side.announced = false;
  BeginSession(link, 0);
  Pump(link, 0);
}

// Of one connection, by what was agreed upon there.
std::unique_ptr<RecordingView> Cluster::NewView(
    const Side& side, Terms terms, const RecordingView::Faults& faults) {
  Replica* const replica = side.replica;
  const uint64_t peer = side.setup->peer().replica_id;
  auto view =
      std::make_unique<RecordingView>(replica->storage.get(), terms, faults);
  view->set_on_apply([this, replica, peer](const Pair& pair) {
    truth_.Applied(pair, WallMs(*replica), kMaxAheadMs, IsFenced(*replica));
    if (replica->buffer && replica->buffer->passes_on(peer)) {
      AppendChange(replica, pair, peer);
    }
  });
  view->set_before_apply(
      [replica, peer, incarnation = side.setup->peer().incarnation](
          std::span<const Pair> pairs) {
        uint64_t latest = 0;
        for (const Pair& pair : pairs) {
          if (pair.version.replica == peer &&
              !replica->storage->RejectIfTooFarAhead(pair.version)) {
            latest = std::max(latest, pair.version.time);
          }
        }
        return replica->membership->RecordSender(peer, incarnation, latest);
      });
  return view;
}

void Cluster::BeginSession(Link* link, int number) {
  Side& side = link->sides[number];
  Replica* const replica = side.replica;
  SessionSeed seed = side.setup->seed();
  seed.session_number = side.session_number++;
  if (number == 0 && !seeds_.insert(NameOf(seed)).second) {
    truth_.Broke(absl::StrCat("link ", link->number,
                              " uses the mappings of an earlier session"));
  }
  side.session_started_ms = now_ms_;
  side.view = NewView(side, side.terms,
                      {options_.cluster_fault == ClusterFault::kApplyLate,
                       options_.cluster_fault == ClusterFault::kShipUnsynced});
  SessionContext context;
  context.storage = side.view.get();
  context.now_ms = [this] { return now_ms_; };
  context.busy =
      number == 1 && replica->sessions > 0 && !shape_.incoming_at_once;
  side.memory = std::make_unique<MemoryAccount>();
  const Charging charging(side.memory.get());
  side.session = NewSession(number == 0 ? Role::kInitiator : Role::kResponder,
                            OptionsOfSession(), seed, context);
  ++replica->sessions;
  side.counted = true;
}

SessionOptions Cluster::OptionsOfSession() const {
  SessionOptions options = shape_.session;
  if (options_.cluster_fault == ClusterFault::kForgetMemory) {
    options.max_batch_elements = SessionOptions().max_batch_elements;
    options.max_turn_bytes = SessionOptions().max_turn_bytes;
  }
  return options;
}

void Cluster::CheckMemory(const Link& link, const Side& side) {
  if (shape_.session_bytes == 0) return;
  const size_t may = shape_.session_bytes +
                     4 * std::max(shape_.value_bytes, shape_.large_value);
  if (side.memory->peak() <= may) return;
  truth_.Broke(absl::StrCat("link ", link.number, ": the session of ",
                            side.replica->name(), " held ", side.memory->peak(),
                            " bytes, it may hold ", may));
}

void Cluster::Pump(Link* link, int number) {
  Side& side = link->sides[number];
  std::string message;
  while (link->open && side.setup && side.setup->NextMessage(&message)) {
    Send(link, 1 - number, message);
  }
  if (!link->open || !side.setup->done() || !side.setup->status().ok()) return;
  if (!side.met) {
    if (!LetIn(link, number)) return;
    if (number == 0) {
      if (link->is_stream) return AskForStream(link);
      BeginSession(link, 0);
    }
  }
  const auto next = [&side, &message] {
    const Charging charging(side.memory.get());
    return side.session->NextMessage(&message);
  };
  while (link->open && side.session && next()) {
    const int type = message[0] & kTypeMask;
    if (type == static_cast<int>(MessageType::kSummary) ||
        type == static_cast<int>(MessageType::kEqual)) {
      side.view->SyncBeforeProof();
    }
    Send(link, 1 - number, message);
  }
  if (link->open && side.session) {
    const Charging charging(side.memory.get());
    side.session->ReadAhead();
  }
  if (link->open && side.session && side.session->done()) {
    SessionEnded(link, number);
  }
}

void Cluster::Send(Link* link, int to, std::string message) {
  const Side& from = link->sides[1 - to];
  Fingerprint(message);
  if (options_.trace) {
    options_.trace(absl::StrCat(
        now_ms_ - kStartMs, " link ", link->number, " ", from.replica->name(),
        "->", link->sides[to].replica->name(), " ", Describe(message)));
  }
  if (Lose(link)) return;
  const bool differs =
      (message[0] & kTypeMask) == static_cast<int>(MessageType::kDiffers);
  const bool after_sketches = link->rounds.Denies(message);
  if ((options_.cluster_fault == ClusterFault::kBelieveFilter && differs) ||
      (options_.cluster_fault == ClusterFault::kActOnDecode &&
       after_sketches)) {
    message = "\x82";
  }
  Carry(link, to, std::move(message));
}

// True: the frame does not arrive.
bool Cluster::Lose(Link* link) {
  if (faulty()) {
    if (shape_.break_one_in > 0 && random_.OneIn(shape_.break_one_in)) {
      Break(link, "broken");
      return true;
    }
    if (shape_.lose_one_in > 0 && random_.OneIn(shape_.lose_one_in)) {
      Trace("link ", link->number, " hangs");
      link->hangs = true;
    }
  }
  return link->hangs;
}

void Cluster::Carry(Link* link, int to, std::string message) {
  uint64_t delay_ms = random_.Between(1, 30);
  if (faulty() && shape_.slow_one_in > 0 && random_.OneIn(shape_.slow_one_in)) {
    delay_ms += random_.Below(4000);
  }
  // Frames of a connection stay in order.
  uint64_t& arrives = link->sides[to].arrives_ms;
  arrives = std::max(arrives, now_ms_ + delay_ms);
  At(arrives, [this, link, to, message = std::move(message)] {
    if (link->open) Deliver(link, to, message);
  });
}

void Cluster::Deliver(Link* link, int to, const std::string& message) {
  Side& side = link->sides[to];
  if (Parted(*link->sides[0].replica, *link->sides[1].replica)) {
    return Break(link, "parted");
  }
  link->last_frame_ms = now_ms_;
  absl::Status status;
  if (!side.setup) Open(&side, Role::kResponder);
  if (!side.setup->done()) {
    status = side.setup->Receive(message);
  } else if (link->is_stream) {
    return DeliverOnStream(link, to, message);
  } else if (message[0] == static_cast<char>(MessageType::kAnnouncement) &&
             (to == 1 || side.announced)) {
    return ReceiveAnnouncement(link, to, message);
  } else {
    if (!side.session) {
      if (!side.terms.StillHold(side.replica->storage->terms())) {
        return Break(link, "to meet anew");
      }
      BeginSession(link, to);
    }
    {
      const Charging charging(side.memory.get());
      status = side.session->Receive(message);
    }
    NoteSyncs(side.replica);
  }
  if (absl::IsFailedPrecondition(status) && !side.session) {
    return Refused(link, to);
  }
  NoteQuarantined(side.replica);
  if (!status.ok()) {
    Trace(side.replica->name(), ": ", status.ToString());
    if (absl::IsInvalidArgument(status)) {
      // Both sides are ours: nobody lies here.
      truth_.Broke(absl::StrCat(side.replica->name(), " on link ", link->number,
                                ": ", status.ToString()));
    }
    return Break(link, "refused");
  }
  Pump(link, to);
  const int type = message[0] & kTypeMask;
  if (type == static_cast<int>(MessageType::kPairs) ||
      type == static_cast<int>(MessageType::kValues)) {
    CrashShipper(link, to);
  }
}

// Whoever just handed a pair on loses power, and is out of reach of the one
// that has it for long enough to meet all others.
void Cluster::CrashShipper(Link* link, int to) {
  if (!faulty() || shape_.crash_shipper_one_in == 0 ||
      !random_.OneIn(shape_.crash_shipper_one_in)) {
    return;
  }
  Replica* const from = link->sides[1 - to].replica;
  if (!from->up) return;
  ++result_.crashes;
  Trace(from->name(), " crashes, having handed a pair on");
  Part(from->number, link->sides[to].replica->number,
       random_.Between(5000, 30'000));
  Stop(from);
  Restart(from, random_.Between(10, 1000));
}

// One of the two refuses. Whoever does still says so; whoever hears that its
// incarnation is over is opened as a new replica.
void Cluster::Refused(Link* link, int number) {
  const Side& side = link->sides[number];
  Trace(side.replica->name(), ": ", side.setup->status().ToString());
  const std::optional<RefusalReason> reason = side.setup->refused();
  if (!reason) return Pump(link, number);
  ++result_.refused;
  const std::string why = side.setup->status().ToString();
  Break(link, "refused");
  ActOnRefusal(link, side.replica, *reason, why);
}

void Cluster::NoteProof(Link* link, int number) {
  Side& side = link->sides[number];
  const Side& other = link->sides[1 - number];
  Replica* const replica = side.replica;
  side.view->SyncBeforeProof();
  truth_.Proved(
      {side.view->snapshot(), side.view->stable_time(), replica->storage.get()},
      {other.view->snapshot(), other.view->stable_time(),
       other.replica->storage.get()},
      side.session->report().merged);
  replica->membership->Proved(side.mine, side.setup->peer().replica_id,
                              side.theirs);
}

// Whether or not quarantined pairs are left out: nobody has anything of them.
void Cluster::NoteEqualDigests(Link* link, int number) {
  const Side& side = link->sides[number];
  const Side& other = link->sides[1 - number];
  Replica* const replica = side.replica;
  NoteSyncs(replica);
  for (size_t i = 0; i < replica->peers.size(); ++i) {
    if (replica->peers[i] != other.replica->number) continue;
    replica->equal_ms[i] =
        std::max(replica->equal_ms[i], side.session_started_ms);
  }
  ResolveQuarantined(replica);
}

void Cluster::SessionEnded(Link* link, int number) {
  Side& side = link->sides[number];
  const SessionReport report = side.session->report();
  const absl::Status status = side.session->status();
  CheckMemory(*link, side);
  NoteSyncs(side.replica);
  Trace("link ", link->number, " ", side.replica->name(), " ends: ",
        report.proven_equal    ? "equal"
        : report.digests_equal ? "equal but for quarantined pairs"
        : report.busy          ? "busy"
        : report.expired       ? "expired"
        : report.refused       ? "refused"
                               : status.ToString());
  if (report.proven_equal) {
    ++result_.proofs;
    NoteProof(link, number);
  }
  if (report.digests_equal) NoteEqualDigests(link, number);
  result_.pairs_sent += report.pairs_sent;
  --side.replica->sessions;
  side.counted = false;
  side.session.reset();
  if (number == 1) return;
  ++result_.sessions;
  if (report.expired) ++expired_;
  if (side.session_started_ms >= awake_ms_) {
    longest_session_ms_ =
        std::max(longest_session_ms_, now_ms_ - side.session_started_ms);
  }
  const bool at_intervals = interval_ms_ == shape_.interval_ms;
  if (report.proven_equal && shape_.keeps_links && at_intervals &&
      !random_.OneIn(3)) {
    At(now_ms_ + random_.Between(1, shape_.interval_ms),
       [this, link] { GoOn(link); });
    return;
  }
  Close(link, report.proven_equal ? SessionOutcome::kProven
              : report.busy       ? SessionOutcome::kBusy
              : report.expired    ? SessionOutcome::kExpired
              : status.ok()       ? SessionOutcome::kNotProven
                                  : SessionOutcome::kFailed);
}

void Cluster::Break(Link* link, std::string_view why) {
  Trace("link ", link->number, " ", absl::string_view(why.data(), why.size()));
  ++result_.broken;
  Close(link, SessionOutcome::kFailed);
}

// The sides are kept: a call of theirs may be on the stack.
void Cluster::Close(Link* link, SessionOutcome outcome) {
  link->open = false;
  Replica* const dialer = link->sides[0].replica;
  // A dialer whose peers have changed meanwhile has another schedule.
  const bool is_scheduled = dialer->up && link->schedule == dialer->schedules;
  if (link->is_stream) {
    if (is_scheduled) NoteStreamEnd(link);
  } else if (is_scheduled) {
    dialer->schedule->Ended(link->peer, outcome, now_ms_);
    Tick(dialer);
  }
  At(now_ms_, [this, link] {
    for (const int number : {0, 1}) {
      Side& side = link->sides[number];
      if (side.counted) --side.replica->sessions;
      side.counted = false;
      side.session.reset();
      DropStream(link, number);
      side.view.reset();
    }
  });
}

void Cluster::Watch(Link* link) {
  At(link->last_frame_ms + kIoTimeoutMs, [this, link] {
    if (!link->open) return;
    if (now_ms_ >= link->last_frame_ms + kIoTimeoutMs) {
      Break(link, "timed out");
    } else {
      Watch(link);
    }
  });
}

}  // namespace rocksync
