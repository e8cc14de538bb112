#include "tests/simulation/cluster.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/protocol/messages.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/recording_view.h"

namespace rocksync {
namespace {

constexpr uint64_t kStartMs = 1'000'000'000;
constexpr uint64_t kIoTimeoutMs = 10'000;
constexpr uint64_t kMaxAheadMs = 60'000;

using Records = MemoryStorage::Records;

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options)
      : options_(options),
        shape_(ShapeOf(options.seed)),
        random_(options.seed ^ 0x5eed),
        hasher_(ClusterSecret{42}) {}

  ClusterResult Run();

 private:
  struct Replica {
    size_t number = 0;
    uint64_t skew_ms = 0;  // ahead of the truth by skew - max skew
    std::unique_ptr<MemoryStorage> storage;
    std::optional<Schedule> schedule;
    std::vector<size_t> peers;  // by the schedule's numbers
    Incarnation incarnation;
    std::map<uint64_t, Incarnation> remembered;
    bool up = true;
    int sessions = 0;  // it is in right now
    uint64_t syncs_seen = 0;
    uint64_t ticks = 0;  // only the last one asked for counts
    std::string name() const { return absl::StrCat("r", number); }
  };
  struct Side {
    Replica* replica = nullptr;
    std::optional<Setup> setup;
    std::unique_ptr<RecordingView> view;
    std::unique_ptr<Session> session;
    uint64_t session_number = 0;
    bool counted = false;     // in replica->sessions
    uint64_t arrives_ms = 0;  // of the last frame sent to this side
  };
  struct Link {
    uint64_t number = 0;
    Side sides[2];    // dialer, listener
    size_t peer = 0;  // the dialer's number for the listener
    bool open = true;
    bool hangs = false;  // no frame arrives any more
    uint64_t last_frame_ms = 0;
  };
  struct Event {
    uint64_t at_ms;
    uint64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return std::tie(at_ms, order) > std::tie(other.at_ms, other.order);
    }
  };

  // Time.
  void At(uint64_t at_ms, std::function<void()> run) {
    events_.push({at_ms, ++order_, std::move(run)});
  }
  void RunUntil(uint64_t end_ms);
  bool faulty() const { return now_ms_ < faulty_until_ms_; }
  uint64_t WallMs(const Replica& replica) const {
    return now_ms_ + replica.skew_ms - shape_.max_skew_ms;
  }
  template <typename... Parts>
  void Trace(const Parts&... parts);
  void Fingerprint(std::string_view bytes);

  // What goes wrong, and what is written.
  void Start();
  void StartReplica(size_t number);
  void WriteSomething();
  void CrashSomebody();
  void PartSomebody();
  void FailSomebody();
  void SkewSomebody();
  void StopFaults();
  Replica& Somebody() { return *replicas_[random_.Below(replicas_.size())]; }
  void NoteSyncs(Replica* replica);
  std::vector<const Records*> AllRecords() const;

  // Meeting.
  void Tick(Replica* replica);
  void Dial(Replica* replica, size_t peer);
  void Open(Side* side, Role role);
  void BeginSession(Link* link, int side);
  void Pump(Link* link, int side);
  void Send(Link* link, int to, std::string message);
  void Deliver(Link* link, int to, const std::string& message);
  void SessionEnded(Link* link, int side);
  void Break(Link* link, std::string_view why);
  void Close(Link* link, SessionOutcome outcome);
  void Watch(Link* link);
  bool Parted(const Replica& a, const Replica& b) const {
    return parted_.count(std::minmax(a.number, b.number)) > 0;
  }

  const ClusterOptions options_;
  const ClusterShape shape_;
  Random random_;
  const ElementHasher hasher_;
  Truth truth_;
  ClusterResult result_;

  uint64_t now_ms_ = kStartMs;
  uint64_t faulty_until_ms_ = kStartMs;
  uint64_t awake_ms_ = 0;  // nobody dials before that
  uint64_t order_ = 0;
  std::priority_queue<Event> events_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::unique_ptr<Link>> links_;
  std::set<std::pair<size_t, size_t>> parted_;
};

template <typename... Parts>
void Cluster::Trace(const Parts&... parts) {
  const std::string line = absl::StrCat(now_ms_ - kStartMs, " ", parts...);
  Fingerprint(line);
  if (options_.trace) options_.trace(line);
}

// FNV-1a.
void Cluster::Fingerprint(std::string_view bytes) {
  for (const char c : bytes) {
    result_.fingerprint =
        (result_.fingerprint ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
}

// --- Time -------------------------------------------------------------------

ClusterResult Cluster::Run() {
  Start();
  RunUntil(faulty_until_ms_);
  StopFaults();
  result_.violations = truth_.violations();
  if (!result_.violations.empty()) return std::move(result_);
  // Clocks may have been ahead by twice the skew of each other; wait until
  // nobody holds anything back any more.
  const uint64_t held_ms =
      2 * shape_.max_skew_ms > kMaxAheadMs ? 2 * shape_.max_skew_ms : 0;
  awake_ms_ = now_ms_ + held_ms;
  RunUntil(awake_ms_);
  uint64_t intervals = 0;
  while (truth_.violations().empty() && !truth_.Equal(AllRecords()) &&
         intervals < kIntervalsToEqual) {
    RunUntil(now_ms_ + shape_.interval_ms);
    ++intervals;
  }
  result_.intervals_to_equal = intervals;
  if (truth_.violations().empty()) truth_.ExpectEqual(AllRecords());
  // Being equal, they also find out.
  const uint64_t proofs = result_.proofs;
  RunUntil(now_ms_ + 4 * shape_.interval_ms);
  result_.violations = truth_.violations();
  if (result_.violations.empty() && result_.proofs == proofs) {
    result_.violations.push_back("equal, but no session proves it");
  }
  return std::move(result_);
}

void Cluster::RunUntil(uint64_t end_ms) {
  while (!events_.empty() && events_.top().at_ms <= end_ms) {
    now_ms_ = events_.top().at_ms;
    // The queue only lends its top, but it is popped at once.
    const std::function<void()> run =
        std::move(const_cast<Event&>(events_.top()).run);
    events_.pop();
    run();
    if (!truth_.violations().empty()) return;
  }
  now_ms_ = end_ms;
}

// --- What goes wrong, and what is written -----------------------------------

void Cluster::Start() {
  Trace(Describe(shape_));
  faulty_until_ms_ = kStartMs + shape_.faulty_ms;
  for (size_t i = 0; i < shape_.replicas; ++i) {
    replicas_.push_back(std::make_unique<Replica>());
    Replica* const replica = replicas_.back().get();
    replica->number = i;
    replica->skew_ms = shape_.max_skew_ms;
    MemoryStorage::Options options;
    options.replica_id = i + 1;
    options.families.assign({"default", "other"});
    options.families.resize(shape_.families);
    options.wall_ms = [this, replica] { return WallMs(*replica); };
    options.max_ahead_ms = kMaxAheadMs;
    options.sync_every_write = shape_.sync_every_write;
    if (i == 0) options.fault = options_.storage_fault;
    replica->storage = std::make_unique<MemoryStorage>(&hasher_, options);
  }
  for (size_t i = 0; i < shape_.replicas; ++i) StartReplica(i);
  WriteSomething();
  const auto later = [this](uint64_t every_ms, void (Cluster::*what)()) {
    if (every_ms > 0) {
      At(now_ms_ + random_.Between(1, every_ms),
         [this, what] { (this->*what)(); });
    }
  };
  later(shape_.crash_every_ms, &Cluster::CrashSomebody);
  later(shape_.partition_every_ms, &Cluster::PartSomebody);
  later(shape_.fail_write_every_ms, &Cluster::FailSomebody);
  later(shape_.max_skew_ms > 0 ? 10'000 : 0, &Cluster::SkewSomebody);
}

void Cluster::StartReplica(size_t number) {
  Replica* const replica = replicas_[number].get();
  replica->up = true;
  replica->incarnation = {.counter = replica->incarnation.counter + 1,
                          .random = random_.Next()};
  replica->peers.clear();
  for (size_t i = 0; i < shape_.replicas; ++i) {
    const bool next = (number + 1) % shape_.replicas == i;
    const bool linked = shape_.links == ClusterShape::Links::kMesh ? i != number
                        : shape_.links == ClusterShape::Links::kRing
                            ? next && i != number
                            : i == 0 && number != 0;
    if (linked) replica->peers.push_back(i);
  }
  ScheduleOptions options;
  options.interval_ms = shape_.interval_ms;
  options.max_backoff_ms = 2 * shape_.interval_ms;
  replica->schedule.emplace(options, replica->peers.size(), random_.Next(),
                            now_ms_);
  Trace(replica->name(), " starts, life ", replica->incarnation.counter);
  Tick(replica);
}

void Cluster::WriteSomething() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.write_every_ms),
     [this] { WriteSomething(); });
  Replica& replica = Somebody();
  if (!replica.up) return;
  const auto family = static_cast<uint32_t>(random_.Below(shape_.families));
  const std::string key = absl::StrCat("k", random_.Below(shape_.keys));
  if (random_.OneIn(4)) {
    replica.storage->Delete(family, key);
  } else {
    std::string value = absl::StrCat("v", ++result_.writes);
    if (shape_.large_value > 0 && random_.OneIn(20)) {
      value.resize(shape_.large_value, 'x');
    }
    replica.storage->Put(family, key, value);
  }
  const MemoryStorage::Record& record =
      replica.storage->records().at({family, key});
  truth_.Wrote({family, key}, record);
  Trace(replica.name(), record.tombstone ? " deletes " : " puts ", family, "/",
        key, " @", record.version.time >> 16, ".",
        record.version.time & 0xffff);
  if (random_.OneIn(10)) replica.storage->Sync().IgnoreError();
  NoteSyncs(&replica);
}

void Cluster::CrashSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.crash_every_ms),
     [this] { CrashSomebody(); });
  Replica& replica = Somebody();
  if (!replica.up) return;
  ++result_.crashes;
  Trace(replica.name(), " crashes");
  replica.up = false;
  replica.storage->Crash();
  for (const auto& link : links_) {
    if (link->open && (link->sides[0].replica == &replica ||
                       link->sides[1].replica == &replica)) {
      Break(link.get(), "crash");
    }
  }
  At(now_ms_ + random_.Between(10, 10'000),
     [this, &replica] { StartReplica(replica.number); });
}

void Cluster::PartSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.partition_every_ms),
     [this] { PartSomebody(); });
  const size_t a = random_.Below(shape_.replicas);
  const size_t b = random_.Below(shape_.replicas);
  if (a == b) return;
  const std::pair<size_t, size_t> pair = std::minmax(a, b);
  parted_.insert(pair);
  Trace("r", pair.first, " and r", pair.second, " are parted");
  At(now_ms_ + random_.Between(100, 20'000), [this, pair] {
    parted_.erase(pair);
    Trace("r", pair.first, " and r", pair.second, " are joined");
  });
}

void Cluster::FailSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.fail_write_every_ms),
     [this] { FailSomebody(); });
  Replica& replica = Somebody();
  Trace(replica.name(), " will fail to apply");
  replica.storage->FailApply(absl::ResourceExhaustedError("disk full"));
}

void Cluster::SkewSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 20'000), [this] { SkewSomebody(); });
  Replica& replica = Somebody();
  replica.skew_ms = random_.Below(2 * shape_.max_skew_ms + 1);
  Trace(replica.name(), "'s clock is off by ",
        static_cast<int64_t>(replica.skew_ms - shape_.max_skew_ms), " ms");
}

void Cluster::StopFaults() {
  Trace("faults stop");
  parted_.clear();
  for (const auto& replica : replicas_) {
    replica->skew_ms = shape_.max_skew_ms;
    replica->storage->FailApply(absl::OkStatus(), 0);
    NoteSyncs(replica.get());
    if (!replica->up) StartReplica(replica->number);
  }
  if (truth_.violations().empty()) truth_.Settle(AllRecords());
}

void Cluster::NoteSyncs(Replica* replica) {
  if (replica->storage->syncs() == replica->syncs_seen) return;
  replica->syncs_seen = replica->storage->syncs();
  truth_.Synced(replica->storage->synced_records());
}

std::vector<const Records*> Cluster::AllRecords() const {
  std::vector<const Records*> records;
  for (const auto& replica : replicas_) {
    records.push_back(&replica->storage->records());
  }
  return records;
}

// --- Meeting ----------------------------------------------------------------

void Cluster::Tick(Replica* replica) {
  if (!replica->up) return;
  if (now_ms_ < awake_ms_) {
    At(awake_ms_, [this, replica] { Tick(replica); });
    return;
  }
  if (const std::optional<size_t> peer = replica->schedule->Due(now_ms_)) {
    if (replica->sessions > 0 && !shape_.visitors_at_once) {
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

void Cluster::Dial(Replica* replica, size_t peer) {
  Replica* const listener = replicas_[replica->peers[peer]].get();
  // Until it ends the peer is not due again, but now and then the dialer
  // forgets that and dials twice.
  const bool twice = faulty() && random_.OneIn(20);
  replica->schedule->Ended(peer, SessionOutcome::kUnproven,
                           twice ? now_ms_ - shape_.interval_ms : now_ms_);
  if (!listener->up || Parted(*replica, *listener)) {
    Trace(replica->name(), " cannot reach ", listener->name());
    replica->schedule->Ended(peer, SessionOutcome::kFailed, now_ms_);
    return;
  }
  links_.push_back(std::make_unique<Link>());
  Link* const link = links_.back().get();
  link->number = links_.size();
  link->peer = peer;
  link->sides[0].replica = replica;
  link->sides[1].replica = listener;
  link->last_frame_ms = now_ms_;
  Trace(replica->name(), " dials ", listener->name(), ", link ", link->number);
  Open(&link->sides[0], Role::kInitiator);
  Open(&link->sides[1], Role::kResponder);
  Watch(link);
  Pump(link, 0);
}

void Cluster::Open(Side* side, Role role) {
  Replica* const replica = side->replica;
  SetupFacts facts;
  facts.cluster = "simulated";
  facts.replica_id = replica->number + 1;
  facts.incarnation = replica->incarnation;
  for (uint8_t& byte : facts.nonce) {
    byte = static_cast<uint8_t>(random_.Next());
  }
  facts.families.push_back({"default", "bytewise"});
  if (shape_.families > 1) facts.families.push_back({"other", "bytewise"});
  SetupPolicy policy;
  policy.remembered = [replica](uint64_t id) -> std::optional<Incarnation> {
    const auto it = replica->remembered.find(id);
    if (it == replica->remembered.end()) return std::nullopt;
    return it->second;
  };
  side->setup.emplace(role, facts, ClusterSecret{42}, policy);
}

void Cluster::BeginSession(Link* link, int number) {
  Side& side = link->sides[number];
  Replica* const replica = side.replica;
  replica->remembered[side.setup->peer().replica_id] =
      side.setup->peer().incarnation;
  SessionSeed seed = side.setup->seed();
  seed.session_number = side.session_number++;
  side.view = std::make_unique<RecordingView>(replica->storage.get());
  side.view->set_on_apply([this, replica](const Pair& pair) {
    truth_.Applied(pair, WallMs(*replica), kMaxAheadMs);
  });
  SessionContext context;
  context.storage = side.view.get();
  context.now_ms = [this] { return now_ms_; };
  context.busy =
      number == 1 && replica->sessions > 0 && !shape_.visitors_at_once;
  side.session = NewSession(number == 0 ? Role::kInitiator : Role::kResponder,
                            shape_.session, seed, context);
  ++replica->sessions;
  side.counted = true;
}

void Cluster::Pump(Link* link, int number) {
  Side& side = link->sides[number];
  std::string message;
  while (link->open && side.setup->NextMessage(&message)) {
    Send(link, 1 - number, message);
  }
  if (!link->open || !side.setup->done()) return;
  if (!side.setup->status().ok()) {
    Trace(side.replica->name(), ": ", side.setup->status().ToString());
    return;
  }
  if (number == 0 && !side.session) BeginSession(link, 0);
  while (link->open && side.session && side.session->NextMessage(&message)) {
    Send(link, 1 - number, message);
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
  if (faulty()) {
    if (shape_.break_one_in > 0 && random_.OneIn(shape_.break_one_in)) {
      return Break(link, "broken");
    }
    if (shape_.lose_one_in > 0 && random_.OneIn(shape_.lose_one_in)) {
      Trace("link ", link->number, " hangs");
      link->hangs = true;
    }
  }
  if (link->hangs) return;
  if (options_.cluster_fault == ClusterFault::kBelieveFilter &&
      (message[0] & kTypeMask) == static_cast<int>(MessageType::kDiffers)) {
    message = "\x82";
  }
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
  if (!side.setup->done()) {
    status = side.setup->Receive(message);
  } else {
    if (!side.session) BeginSession(link, to);
    status = side.session->Receive(message);
    NoteSyncs(side.replica);
  }
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
}

void Cluster::SessionEnded(Link* link, int number) {
  Side& side = link->sides[number];
  Side& other = link->sides[1 - number];
  const SessionReport& report = side.session->report();
  const absl::Status status = side.session->status();
  NoteSyncs(side.replica);
  Trace("link ", link->number, " ", side.replica->name(), " ends: ",
        report.proven_equal ? "equal"
        : report.busy       ? "busy"
        : report.expired    ? "expired"
        : report.unsettled  ? "unsettled"
                            : status.ToString());
  if (report.proven_equal) {
    ++result_.proofs;
    truth_.Proved(side.view->snapshot(), other.view->snapshot(), report.merged,
                  side.replica->storage->records(),
                  side.replica->storage->synced_records());
  }
  result_.pairs_sent += report.pairs_sent;
  --side.replica->sessions;
  side.counted = false;
  side.session.reset();
  if (number == 1) return;
  ++result_.sessions;
  Close(link, report.proven_equal ? SessionOutcome::kProven
              : report.busy       ? SessionOutcome::kBusy
              : report.expired    ? SessionOutcome::kExpired
              : status.ok()       ? SessionOutcome::kUnproven
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
  if (dialer->up) {
    dialer->schedule->Ended(link->peer, outcome, now_ms_);
    Tick(dialer);
  }
  At(now_ms_, [this, link] {
    for (Side& side : link->sides) {
      if (side.counted) --side.replica->sessions;
      side.counted = false;
      side.session.reset();
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

}  // namespace

ClusterShape ShapeOf(uint64_t seed) {
  Random random(seed);
  ClusterShape shape;
  shape.replicas = random.Between(2, 7);
  shape.keys =
      random.OneIn(4) ? random.Between(50, 300) : random.Between(2, 20);
  shape.families = static_cast<uint32_t>(random.Between(1, 2));
  shape.links = static_cast<ClusterShape::Links>(random.Below(3));
  shape.sync_every_write = random.OneIn(3);
  shape.visitors_at_once = random.OneIn(3);
  shape.write_every_ms = random.OneIn(3) ? 50 : random.Between(200, 1500);
  if (random.OneIn(3)) shape.max_skew_ms = random.Between(1, 300'000);
  if (random.OneIn(2)) shape.lose_one_in = random.Between(30, 400);
  if (random.OneIn(2)) shape.break_one_in = random.Between(30, 400);
  if (random.OneIn(2)) shape.slow_one_in = random.Between(5, 50);
  if (random.OneIn(2)) shape.crash_every_ms = random.Between(3000, 30'000);
  if (random.OneIn(2)) shape.partition_every_ms = random.Between(2000, 20'000);
  if (random.OneIn(3)) shape.fail_write_every_ms = random.Between(2000, 20'000);
  if (random.OneIn(6)) shape.large_value = random.Between(100, 400'000);
  SessionOptions& session = shape.session;
  session.exchange.mode =
      random.OneIn(3) ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  session.exchange.prefer =
      random.OneIn(3) ? Prefer::kRoundTrips : Prefer::kBytes;
  session.exchange.false_positive_rate = random.OneIn(2) ? 0.5 : 0.05;
  if (random.OneIn(4)) session.max_span_elements = random.Between(1, 50);
  if (random.OneIn(3)) session.max_turn_bytes = random.Between(20, 5000);
  if (random.OneIn(3)) session.inline_value_bytes = random.Between(1, 64);
  if (random.OneIn(6)) session.max_snapshot_age_ms = random.Between(50, 2000);
  return shape;
}

std::string Describe(const ClusterShape& shape) {
  static constexpr const char* kLinks[] = {"mesh", "ring", "star"};
  return absl::StrCat(
      shape.replicas, " replicas in a ", kLinks[static_cast<int>(shape.links)],
      ", ", shape.keys, " keys, ",
      shape.session.exchange.mode == ExchangeMode::kBloom ? "bloom"
                                                          : "adaptive",
      shape.sync_every_write ? ", synced" : "", ", spans of ",
      shape.session.max_span_elements, ", turns of ",
      shape.session.max_turn_bytes, ", skew ", shape.max_skew_ms,
      " ms, a crash every ", shape.crash_every_ms, " ms");
}

ClusterResult RunCluster(const ClusterOptions& options) {
  return Cluster(options).Run();
}

}  // namespace rocksync
