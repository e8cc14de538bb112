// Keeps the figures of stats.h while sessions run, and tells the application
// of their progress.

#ifndef ROCKSYNC_REPLICATION_STATISTICS_STATS_BOARD_H_
#define ROCKSYNC_REPLICATION_STATISTICS_STATS_BOARD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "replication/session/session.h"
#include "replication/statistics/peer_table.h"
#include "replication/statistics/stats_counters.h"
#include "rocksdb/status.h"
#include "rocksync/stats.h"

namespace rocksync {

// Thread-safe. `progress` is called with no lock held. Who is one peer, and
// which ones are kept, is for PeerTable to say.
class StatsBoard {
 public:
  using ProgressCallback = std::function<void(const SessionProgress&)>;
  using Clock = std::chrono::steady_clock;

  StatsBoard(uint64_t replica_id, const std::vector<std::string>& peers,
             ProgressCallback progress);

  // What the member list says of a replica.
  enum class Standing { kNoList, kMember, kNotNamed };

  // From now on these are the peers. Who is none any more, and is not
  // connected, is forgotten.
  void SetPeers(const std::vector<std::string>& addresses);

  // Records that `replica_id` answers at `address`. An address that is not
  // configured is merged into the replica's configured one. While `connection`
  // lives, the replica is kept. Returns false, and records nothing, if
  // `removed` is set: that is set before SetPeers leaves the address out, so
  // that a dial in progress cannot add the peer again.
  bool RecordMeeting(const std::string& address, uint64_t replica_id,
                     const std::weak_ptr<const void>& connection,
                     const std::atomic<bool>& removed);

  // No session with the replica at a configured peer's address came about, but
  // its certificate told which one it is. As RecordMeeting; nothing at another
  // address, at which somebody may have asked for a session by mistake.
  void RecordIdentity(const std::string& address, uint64_t replica_id,
                      const std::atomic<bool>& removed);

  // A session with a replica begins; `peer` is its address, or for an accepted
  // connection (`role` is kResponder) its name, used if no address of it is
  // known. `connection` as above.
  std::unique_ptr<SessionCounters> Begin(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder, Clock::time_point now = Clock::now());

  // A stream with a replica begins; as above. `lag` is called by stats(), with
  // the board's lock held, until the line is gone.
  std::unique_ptr<StreamCounters> BeginStream(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder, std::function<StreamLag()> lag = nullptr);

  // An attempt at `address` failed before a session could begin; the
  // application is told. True if the error is not the same as the last one
  // there, nor of an index build as that, so worth a line in the log.
  // `index_build`: of this replica's, which is why. `removed` as above.
  bool RecordFailure(const std::string& address, const rocksdb::Status& status,
                     bool index_build, const std::atomic<bool>& removed);
  // A replica that came here and this one refused each other, or one the other,
  // before a session could begin. That makes nobody a peer: its one
  // attempt would be shown as a failing peer from then on.
  void RecordRefusal(const std::string& peer, uint64_t replica_id,
                     Standing standing, const rocksdb::Status& status);

  // An index build of this replica has ended: no peer's error is of it any
  // more. One that is of the peer's own comes back at the next attempt.
  void ForgetIndexBuild();

  // A copy of a replica, or an older state of one, was met and refused. It
  // shares the id of the original, so the two overwrite each other's entry
  // among the peers; this record is kept for some minutes. `role` is this
  // side's.
  void RecordRefusedCopy(const std::string& peer, uint64_t replica_id,
                         Role role, const rocksdb::Status& status);
  // The replica of which that was met last, and not long ago; else 0.
  uint64_t RecentCopy(Clock::time_point now = Clock::now()) const;

  // A dialer has not proven the cluster's secret, and is refused; its
  // certificate is of `replica_id`, 0: it has none. Changes no peer's figures.
  void RecordRefusedDialer(const std::string& peer, uint64_t replica_id,
                           const rocksdb::Status& status);

  // A session that this replica began more than a second ago is shown, also if
  // the peer has not answered yet: over a slow link the first message takes
  // minutes. One that began just now is not, as the peer may be busy.
  ReplicationStats stats(Clock::time_point now = Clock::now()) const;

 private:
  friend class SessionCounters;
  friend class StreamCounters;

  // A peer that is busy says so within this time, unless the link is slow.
  static constexpr std::chrono::seconds kShownUnanswered{1};
  // Longer than it takes to be scraped, and to be met again: one that is
  // refused tries once in each interval.
  static constexpr std::chrono::minutes kCopyIsRecent{10};

  PeerEntry* FindConnected(const std::string& peer, uint64_t replica_id,
                           const std::weak_ptr<const void>& connection,
                           Role role);
  // With the lock held.
  void ShowUnanswered(Clock::time_point now, ReplicationStats* all) const;
  void ShowLags(Clock::time_point now, ReplicationStats* all) const;
  void Count(const SessionReport& now, const SessionReport& before);
  // With the lock held.
  void CountRefusal(const std::string& peer, uint64_t replica_id,
                    const std::string& why);

  const ProgressCallback progress_;
  mutable std::mutex mutex_;
  ReplicationStats totals_;  // without peers
  PeerTable table_;
  // That this replica began, and that the peer has not answered yet.
  std::vector<const SessionCounters*> unanswered_;
  std::vector<const StreamCounters*> streams_;  // that are open
  uint64_t copy_of_ = 0;
  Clock::time_point met_copy_at_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_STATS_BOARD_H_
