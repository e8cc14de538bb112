// Keeps the figures of stats.h while sessions run, and tells the application
// of their progress.

#ifndef ROCKSYNC_REPLICATION_PEERING_STATS_BOARD_H_
#define ROCKSYNC_REPLICATION_PEERING_STATS_BOARD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

class StatsBoard;

// One session's line on the board. Used by one thread; ended once at most.
class SessionLine {
 public:
  // After each turn.
  void Update(const SessionReport& report);
  // At the end, `status` being how it went.
  void Finish(const SessionReport& report, const rocksdb::Status& status);
  // At the end of what is no session, since one of the two is busy, or they
  // have to agree anew first: the messages count, as they do at the peer.
  void GiveUp(const SessionReport& report);

 private:
  friend class StatsBoard;
  SessionLine(StatsBoard* board, std::string peer, uint64_t replica_id);
  void Tell(const SessionProgress& progress);

  StatsBoard* const board_;
  const std::string peer_;
  const uint64_t replica_id_;
  const uint64_t began_ms_;  // wall clock
  SessionReport counted_;    // what the totals contain of this session
  std::chrono::steady_clock::time_point told_{};
};

// One stream's line on the board. Thread-safe.
class StreamLine {
 public:
  using Clock = std::chrono::steady_clock;

  ~StreamLine();
  StreamLine(const StreamLine&) = delete;
  StreamLine& operator=(const StreamLine&) = delete;

  void Sent(uint64_t pairs, uint64_t bytes);
  void Received(uint64_t bytes);
  void Took(uint64_t pairs, uint64_t applied, uint64_t duplicates);
  void GaveUp(uint64_t pairs);
  // So many changes, the oldest made at `since`, are not taken by the peer yet.
  void Behind(uint64_t pairs, Clock::time_point since);

 private:
  friend class StatsBoard;
  StreamLine(StatsBoard* board, std::string peer, uint64_t replica_id)
      : board_(board), peer_(std::move(peer)), replica_id_(replica_id) {}

  template <typename Change>
  void Count(const Change& change);

  StatsBoard* const board_;
  const std::string peer_;
  const uint64_t replica_id_;
};

// Thread-safe. `progress` is called with no lock held. Keeps the configured
// peers, those that are connected, and a bounded number of others.
class StatsBoard {
 public:
  using ProgressCallback = std::function<void(const SessionProgress&)>;

  StatsBoard(uint64_t replica_id, const std::vector<std::string>& peers,
             ProgressCallback progress);

  // What the member list says of a replica.
  enum class Standing { kNoList, kMember, kNotNamed };

  // From now on these are the peers. Who is none any more, and is not
  // connected, is forgotten.
  void SetPeers(const std::vector<std::string>& addresses);

  // A configured or dialed peer turned out to be this replica. An address that
  // is not configured becomes one with the configured one of it. While
  // `connection` lives, the replica is not forgotten. False, and nothing is
  // noted, if `removed`: who takes an address from the list of peers sets that
  // before SetPeers, so that nobody who was on his way adds it again.
  bool Met(const std::string& address, uint64_t replica_id,
           const std::weak_ptr<const void>& connection,
           const std::atomic<bool>& removed);

  // No session with the replica at a configured peer's address came about, but
  // its certificate told which one it is. As Met; nothing at another address,
  // at which somebody may have asked for a session by mistake.
  void Identified(const std::string& address, uint64_t replica_id,
                  const std::atomic<bool>& removed);

  // A session with a replica begins; `peer` is its address, or for an accepted
  // connection (`role` is kResponder) its name, used if no address of it is
  // known. `connection` as above.
  std::unique_ptr<SessionLine> Begin(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder);

  // A stream with a replica begins; as above.
  std::unique_ptr<StreamLine> BeginStream(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder);

  // An attempt at `address` failed before a session could begin; the
  // application is told. True if the error is not the same as the last one
  // there, so worth a line in the log. `removed` as above.
  bool Failed(const std::string& address, const rocksdb::Status& status,
              const std::atomic<bool>& removed);
  // A replica that came here and this one refused each other, or one the other,
  // before a session could begin. That makes no stranger a peer: its one
  // attempt would be shown as a failing peer from then on.
  void Refused(const std::string& peer, uint64_t replica_id, Standing standing,
               const rocksdb::Status& status);

  // A copy of a replica, or an older state of one, was met and refused. It has
  // that one's id, so that what was met of the two comes and goes among the
  // peers; this stays for a while. `role` is this side's.
  void RefusedCopy(const std::string& peer, uint64_t replica_id, Role role,
                   const rocksdb::Status& status);
  // The replica of which that was met last, and not long ago; else 0.
  uint64_t RecentCopy(
      StreamLine::Clock::time_point now = StreamLine::Clock::now()) const;

  // Whoever came here has not proven the cluster's secret, and is refused; its
  // certificate is of `replica_id`, 0: it has none. Changes no peer's figures.
  void RefusedStranger(const std::string& peer, uint64_t replica_id,
                       const rocksdb::Status& status);

  ReplicationStats stats() const;

 private:
  friend class SessionLine;
  friend class StreamLine;

  struct Entry {
    PeerStats stats;
    bool leaving = false;  // was configured: goes once nothing connects it
    uint64_t used = 0;     // the later, the larger
    std::vector<std::weak_ptr<const void>> connections;
    StreamLine::Clock::time_point behind_since{};
    // last_error is of an attempt to reach the peer. One of a session stays
    // until the next session has ended well; this one is refuted by any that
    // begins.
    bool not_reached = false;
  };

  // Longer than it takes to be scraped, and to be met again: one that is
  // refused tries once in each interval.
  static constexpr std::chrono::minutes kCopyIsRecent{10};
  // Those neither configured nor connected that are kept.
  static constexpr size_t kMostOthers = 64;
  static bool IsOther(const Entry& entry);
  static bool HasLeft(const Entry& entry) {
    return entry.leaving && IsOther(entry);
  }

  static bool IsConfigured(const Entry& entry) {
    return entry.stats.configured;
  }

  // Whether it is, or may be, that replica's; `replica_id` 0: not known whose.
  static bool MayBe(const Entry& entry, uint64_t replica_id);

  // The entry of an address at which no other replica is, or else of a replica;
  // null if there is none.
  Entry* Known(const std::string& address, uint64_t replica_id);
  // Makes one, for which the others that were not used for the longest have to
  // go if they are too many.
  Entry* Add(const std::string& address, uint64_t replica_id);
  // The one that is known, or else a new one.
  Entry* Find(const std::string& address, uint64_t replica_id);
  // As Find, for what began when the replica was at the address.
  Entry* FindForLine(const std::string& address, uint64_t replica_id);
  // As Find, of a peer that came here: `peer` is where from.
  Entry* FindIncoming(const std::string& peer, uint64_t replica_id);
  // What a line finds the entry by: the address, or of one that is not shown,
  // `peer`.
  static std::string NameOf(const Entry& entry, const std::string& peer);
  Entry* FindConnected(const std::string& peer, uint64_t replica_id,
                       const std::weak_ptr<const void>& connection, Role role);

  // The first entry of the replica of which `which` holds, or null.
  template <typename Which>
  Entry* FindOf(uint64_t replica_id, const Which& which);
  Entry TakeOut(Entry* entry);
  static void Absorb(Entry other, Entry* entry);
  static void BeginAnew(Entry* entry);
  static void Reached(Entry* entry);

  void Count(const SessionReport& now, const SessionReport& before);
  // With the lock held.
  void CountRefusal(const std::string& peer, uint64_t replica_id,
                    const std::string& why);

  const ProgressCallback progress_;
  mutable std::mutex mutex_;
  ReplicationStats totals_;  // without peers
  std::vector<Entry> peers_;
  // Takes what sessions and streams still tell of a replica at whose address
  // another one is now. Not shown.
  Entry replaced_;
  uint64_t copy_of_ = 0;
  StreamLine::Clock::time_point met_copy_at_{};
  uint64_t uses_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STATS_BOARD_H_
