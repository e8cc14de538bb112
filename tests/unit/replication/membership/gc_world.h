// A few replicas with one key, small enough that everything that can happen to
// them can be tried: deletes, connections, sessions that end well or break,
// losses of power, new member lists. What tombstone_gc.h decides is held
// against the truth.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_WORLD_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_WORLD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replication/membership/announcement.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/session/conflict.h"

namespace rocksync {

// Mistakes, to see that they are found.
enum class GcFault : uint8_t {
  kNone,
  kCollectLocally,    // a tombstone goes once this replica holds enough
  kCountUnsynced,     // a proof counts before what it says is synced
  kShipUnsynced,      // pairs travel before the sender has synced them
  kKeepProofs,        // a new member list does not start knowledge anew
  kLetAnybodyIn,      // a new member's old data are not looked at
  kClonesForOne,      // what is said of a third does not name its incarnation
  kByStableTime,      // guards go by the stable time that two compare by
  kLargerStableTime,  // of two stable times of earlier lists the larger counts
  kBootstrappingCounts,  // who is being filled counts as a member all along
};

struct WorldShape {
  size_t replicas = 3;
  size_t founders = 3;    // in the first list; a later replica is no member
  int deletes = 1;        // how many may happen
  int ticks = 1;          // writes to other keys: the clock goes on
  int crashes = 0;        // each ends an incarnation
  int copies = 0;         // a copy begins to run beside its original
  int connects = 0;       // connections that are used only later
  int broken = 0;         // sessions that break after one pair
  size_t removes = 0;     // the second list lacks this many, from the end
  bool admits = false;    // the second list names those that are no founders
  bool anywhere = false;  // the second list is set on anybody
  int losses = 0;         // a replica is gone for good
  bool outside_deletes = false;  // also by those that are in no list yet
  size_t old_new_members = 0;    // the last so many have the pair, unlisted
  GcFault fault = GcFault::kNone;
};

// One state of the world. Copyable: every step begins with a copy.
class GcWorld {
 public:
  explicit GcWorld(const WorldShape& shape);

  // Calls `visit` with every state that is one step away.
  void ForEachStep(
      const std::function<void(const GcWorld&, const std::string& step)>& visit)
      const;

  // What must never be, in words; empty: nothing.
  const std::string& violation() const { return violation_; }
  // The tombstone went from everybody's hands.
  bool collected_all() const;
  // Equal states have equal fingerprints.
  std::string Fingerprint() const;

 private:
  static constexpr size_t kMost = 4;

  struct Record {
    bool present = false;
    bool tombstone = false;
    uint64_t time = 0;
    uint64_t replica = 0;
    Contender AsContender() const {
      return {.version = {time, replica}, .tombstone = tombstone, .hash = {}};
    }
    bool Beats(const Record& other) const {
      if (!present || !other.present) return present;
      return rocksync::Beats(AsContender(), other.AsContender());
    }
  };
  struct Replica {
    uint64_t id = 0;
    bool lost = false;
    Incarnation incarnation;
    bool twin = false;  // a copy, or its original
    Record now;
    Record synced;
    Record dropped;  // the greatest tombstone that it has collected
    uint64_t clock = 1;
    GcState knows;
  };
  // What two heard when they connected; [0] is what the one with the smaller
  // number said.
  struct Link {
    std::array<GcState, 2> said;
    std::array<uint64_t, 2> readings{};
    std::array<Terms, 2> terms;
  };

  uint64_t IdOf(size_t replica) const { return replicas_[replica].id; }
  GcState HeardFrom(size_t replica) const;
  bool MayMeet(size_t a, size_t b) const;
  std::optional<Link>& LinkOf(size_t a, size_t b) { return links_[a][b]; }

  void Delete(size_t i);
  void Tick(size_t i);
  void Crash(size_t i);
  void Copy(size_t i);
  void BeginIncarnation(size_t i);
  void LeaveLinks(size_t i);
  bool Connect(size_t a, size_t b);  // false: they may not talk
  bool Usable(size_t a, size_t b) const;
  void Prove(size_t a, size_t b);
  bool Ship(size_t from, size_t to);  // false: it is not taken
  void Take(size_t to, const Record& record);
  void Sync(size_t i) { replicas_[i].synced = replicas_[i].now; }
  bool Learn(size_t pupil, size_t teacher);
  void KeepProofs(const GcState& before, GcState* knows) const;
  void StableTimeMoved(size_t i);
  void AdvanceStableTime(size_t i);
  Terms AgreeHere(const Link& link, size_t side, size_t i);
  void BreakMarks(size_t i);
  void Forget(size_t i, Record* record);
  void SetSecondList(size_t at);
  void Lose(size_t i);

  WorldShape shape_;
  std::vector<Replica> replicas_;
  std::array<std::array<std::optional<Link>, kMost>, kMost> links_;
  std::string violation_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_MEMBERSHIP_GC_WORLD_H_
