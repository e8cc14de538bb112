// The simulated cluster from inside: replicas, links, and the queue of what
// happens next.

#ifndef ROCKSYNC_TESTS_SIMULATION_CLUSTER_STATE_H_
#define ROCKSYNC_TESTS_SIMULATION_CLUSTER_STATE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/membership/announcement.h"
#include "replication/membership/setup.h"
#include "replication/peering/streams.h"
#include "replication/replicator/redial_pause.h"
#include "replication/replicator/schedule.h"
#include "replication/session/session.h"
#include "replication/store/write/change_buffer.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/memory_account.h"
#include "tests/simulation/memory_storage.h"
#include "tests/simulation/memory_stream.h"
#include "tests/simulation/random.h"
#include "tests/simulation/recording_view.h"
#include "tests/simulation/shape.h"
#include "tests/simulation/sketch_rounds.h"
#include "tests/simulation/truth.h"

namespace rocksync {

inline constexpr uint64_t kStartMs = 1'000'000'000;
inline constexpr uint64_t kIoTimeoutMs = 10'000;
inline constexpr uint64_t kMaxAheadMs = 60'000;
inline constexpr uint64_t kLeastIntervalMs = 5'000;
inline constexpr uint64_t kMaxClones = 3;
inline constexpr size_t kMaxReplicas = 10;
// A session that expires has closed a leaf at least. So many of them, for each
// replica, are all leaves twice: of what a replica has, and of what reaches it
// meanwhile.
inline constexpr uint64_t kMaxExpired = uint64_t{2} << kLeafBitsHere;

// See cluster.h. Time, writes and faults are in cluster.cc, lost disks and
// copies in disasters.cc, bad ones in corruption.cc, how replicas meet in
// meeting.cc, streams in streaming.cc, who is a member and what is collected in
// members.cc.
class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options)
      : options_(options),
        shape_(ShapeOf(options.seed)),
        random_(options.seed ^ 0x5eed),
        hasher_(ClusterSecret{42}),
        interval_ms_(shape_.interval_ms) {
    lines_.push_back({});
  }

  ClusterResult Run();

 private:
  // What really becomes of a replica's data, to judge what replicas believe: a
  // line of incarnations that ends where a backup is restored or a copy begins.
  struct Line {
    size_t parent = 0;   // 0: none
    uint64_t clock = 0;  // what this line started from
  };
  struct Encounter {
    size_t line = 0;     // of the peer; 0: never met
    uint64_t clock = 0;  // the peer's, then
  };
  struct Disk {
    std::unique_ptr<MemoryStorage> storage;
    IncarnationId incarnation;
    IncarnationHistory past;
    std::map<uint64_t, Incarnation> remembered;
    std::map<uint64_t, Encounter> met;
    size_t line = 0;
  };
  struct Link;
  // Of the stream to a peer, by the schedule's numbers.
  struct StreamDialing {
    const Link* link = nullptr;  // the last one
    RedialPause pause;
    uint64_t next_ms = 0;  // not before
  };
  struct Replica {
    size_t number = 0;
    uint64_t id = 0;
    uint64_t skew_ms = 0;  // ahead of the truth by skew - max skew
    std::unique_ptr<MemoryStorage> storage;
    std::optional<MemoryMembership> membership;
    std::optional<Schedule> schedule;
    uint64_t schedules = 0;     // begun so far: the last one's number
    std::vector<size_t> peers;  // by the schedule's numbers
    // When it was last equal to each of them, as of a session's beginning.
    std::vector<uint64_t> equal_ms;
    IncarnationId incarnation;
    IncarnationHistory past{.since = 0};
    uint64_t first_clock = 0;                    // its clock's reading, then
    std::map<uint64_t, Incarnation> remembered;  // by replica id
    std::map<uint64_t, Encounter> met;           // by replica id
    size_t line = 0;
    std::optional<Disk> backup;
    // Somebody else may issue versions in its name: it is a copy or has one, or
    // was rolled back.
    bool shares_id = false;
    bool keeps_id = false;  // the copy it shared it with has another one now
    bool up = false;
    bool gone = false;            // for good
    uint64_t removed_epoch = 0;   // in which it was no member any more; 0: none
    bool readmitted = false;      // to the list, as it is
    uint64_t listed_from_ms = 0;  // nobody lists it before
    uint64_t last_removed_epoch = 0;  // also once it is a member again
    uint64_t collected_up_to = 0;     // the largest stable time it ever had
    int out_of_reach = 0;             // times it was refused as that
    uint64_t quarantined_seen = 0;
    uint64_t last_quarantined_ms = 0;
    int sessions = 0;  // it is in right now
    uint64_t syncs_seen = 0;
    uint64_t ticks = 0;  // only the last one asked for counts
    // With streams, as long as it is up:
    std::unique_ptr<ChangeBuffer> buffer;
    std::unique_ptr<Streams> streams;
    std::vector<StreamDialing> stream_dialing;
    std::vector<std::pair<Link*, int>> open_streams;  // and which side it is
    std::string name() const { return absl::StrCat("r", number); }
  };
  struct Side {
    Replica* replica = nullptr;
    std::optional<Setup> setup;
    std::unique_ptr<RecordingView> view;
    std::unique_ptr<MemoryAccount> memory;  // of the session
    std::unique_ptr<Session> session;
    Announcement mine;  // what both said last
    Announcement theirs;
    Terms terms;  // agreed upon
    uint64_t session_number = 0;
    uint64_t session_started_ms = 0;
    bool announced = false;   // and waits for an answer
    bool met = false;         // the set-up is over and both agreed
    bool counted = false;     // in replica->sessions
    uint64_t arrives_ms = 0;  // of the last frame sent to this side
    // Of a stream; `view` is of it.
    std::unique_ptr<MemoryStream> stream;
    bool streaming = false;               // it is open
    uint64_t steps_ms = UINT64_MAX;       // when it steps next
    uint64_t stream_bytes_under_way = 0;  // from this side
  };
  struct Link {
    uint64_t number = 0;
    Side sides[2];          // dialer, listener
    size_t peer = 0;        // the listener's number in the dialer's schedule,
    uint64_t schedule = 0;  // which has this number
    int attempt = 0;        // in a row, since member lists were taken over
    bool open = true;
    bool is_stream = false;
    uint64_t opened_ms = 0;
    bool hangs = false;  // no frame arrives any more
    SketchRounds rounds;
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
  MemoryStorage::Options StorageOptions(const Replica* replica, size_t number);
  Replica* AddReplica(std::vector<size_t> peers);
  void StartReplica(Replica* replica);
  void StartSchedule(Replica* replica);
  uint64_t IntervalsUntil(uint64_t most, const std::function<bool()>& done);
  bool IsEqual();
  void Stop(Replica* replica);
  void Restart(Replica* replica, uint64_t after_ms);
  void WriteSomething();
  void Write(Replica* replica);
  void NoteWrite(Replica* replica, const MemoryStorage::Key& key);
  void CrashSomebody();
  void PartSomebody();
  void Part(size_t a, size_t b, uint64_t for_ms);
  void CrashShipper(Link* link, int to);
  void FailSomebody();
  void SkewSomebody();
  void StopFaults();

  // Disasters.
  Disk CopyOf(const Replica& replica);
  void Mount(Disk disk, Replica* replica);
  void MountAsNew(Disk disk, Replica* replica);
  void BackUpSomebody();
  void RollBackSomebody();
  void CopySomebody();
  void OpenAsNew(Replica* replica);
  void PartClones(const Replica& replica);
  void OpenEmpty(Replica* replica);
  void CheckSuccession(Replica* replica, const Replica& peer);

  // Bad disks.
  void CorruptSomebody();
  void ScrubAll();
  void NoteQuarantined(Replica* replica);
  void ResolveQuarantined(Replica* replica);

  // Members.
  void Operate();
  bool StableTimesAreAlike() const;
  bool SetMembers();
  std::vector<uint64_t> WantedMembers() const;
  bool IsMember(const Replica& replica) const;
  bool NewestListStays(const Replica& without) const;
  bool IsOnAnotherBranch(const Replica& replica) const;
  bool IsFenced(const Replica& replica) const;
  void AddSomebody();
  void AddOldCopy();
  std::vector<size_t> PeersOfNew();
  void RemoveSomebody();
  void DecideAboutRemoved(Replica* replica);
  void BeginAnew(Replica* replica);
  void Empty(Replica* replica);
  void Retire(Replica* replica);
  void Reconnect(Replica* replica);
  void KeepConnected(const Replica& without);
  void LeaveSomebody();
  void StableTimeMoves(Replica* replica, const GcState& next);
  void CheckGc(const Replica& replica, const GcState& next,
               const RecordKey& key, const Record& tombstone);
  void SweepSoon(Replica* replica);
  bool Collected() const;

  Replica& Somebody() { return *replicas_[random_.Below(replicas_.size())]; }
  uint64_t IntervalMs() const;
  bool streams() const { return shape_.streams && options_.streams; }
  void Settle();
  void NoteSyncs(Replica* replica);
  // Of all that belong to the cluster; without one of them.
  Truth::Storages Storages(const Replica* without = nullptr) const;

  // PeerVerdict.
  void Tick(Replica* replica);
  void Dial(Replica* replica, size_t peer, int attempt = 0);
  Link* NewLink(Replica* replica, size_t peer, int attempt);
  void Open(Side* side, Role role);
  bool LetIn(Link* link, int side);
  bool Remember(Link* link, int side);
  bool Meet(Link* link, int side);
  bool AgreeOn(Link* link, int side, const Announcement& mine,
               const Announcement& theirs);
  void GoOn(Link* link);
  void ReceiveAnnouncement(Link* link, int side, const std::string& message);
  std::unique_ptr<RecordingView> NewView(const Side& side, Terms terms,
                                         const RecordingView::Faults& faults);
  void BeginSession(Link* link, int side);
  SessionOptions OptionsOfSession() const;
  void CheckMemory(const Link& link, const Side& side);
  void Pump(Link* link, int side);
  void Send(Link* link, int to, std::string message);
  bool Lose(Link* link);
  void Carry(Link* link, int to, std::string message);
  void Deliver(Link* link, int to, const std::string& message);
  void Refused(Link* link, int side);
  void ActOnRefusal(Link* link, Replica* heard, RefusalReason reason,
                    std::string_view why);
  void SessionEnded(Link* link, int side);
  void NoteProof(Link* link, int side);
  void NoteEqualDigests(Link* link, int number);
  void Break(Link* link, std::string_view why);
  void Close(Link* link, SessionOutcome outcome);
  void Watch(Link* link);

  // Streams.
  void StartStreams(Replica* replica);
  void StopStreams(Replica* replica);
  void StartDialingStreams(Replica* replica);
  void LookForStreams(Replica* replica, uint64_t schedule);
  void DialStream(Replica* replica, size_t peer, int attempt = 0);
  void NewStream(Link* link, int side);
  void AskForStream(Link* link);
  void AnswerStream(Link* link, const std::string& message);
  void StreamAnswered(Link* link, const std::string& message);
  void BeginStream(Link* link, int side);
  void DropStream(Link* link, int side);
  void NoteStreamEnd(Link* link);
  void WakeStream(Link* link, int side, uint64_t at_ms);
  void StepStream(Link* link, int side);
  absl::Status SendOnStream(Link* link, int to, std::string_view message);
  void CountStreamed(const Side& from, std::string_view message);
  void CheckStreamed(Link* link, int from, std::string_view message);
  void DeliverOnStream(Link* link, int to, const std::string& message);
  void Repair(Link* link);
  void AppendChange(Replica* replica, const Pair& pair, uint64_t source);
  void StreamAlone();
  void CheckForgotten();
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
  uint64_t next_id_ = 1;
  std::vector<Line> lines_;  // [0] is none
  // Nonces and numbers of sessions begun: each has a mapping of its own.
  std::set<std::string> seeds_;
  std::vector<std::unique_ptr<Link>> links_;
  std::set<uint64_t> to_part_;  // ids known in two incarnations
  std::set<std::pair<size_t, size_t>> parted_;
  uint64_t interval_ms_ = 0;         // of schedules that start now
  uint64_t expired_ = 0;             // sessions that did
  uint64_t longest_session_ms_ = 0;  // of those begun since awake_ms_
  uint64_t epoch_ = 0;               // of the newest member list
  uint64_t waits_until_ms_ = 0;      // an operator, for the wrong moment
  std::vector<uint64_t> members_;    // in it, ascending
  // By epoch, that of the list which the replica had on which it was set.
  std::map<uint64_t, uint64_t> list_before_;
};

template <typename... Parts>
void Cluster::Trace(const Parts&... parts) {
  const std::string line = absl::StrCat(now_ms_ - kStartMs, " ", parts...);
  Fingerprint(line);
  if (options_.trace) options_.trace(line);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_CLUSTER_STATE_H_
