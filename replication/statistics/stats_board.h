// Keeps the figures of stats.h while sessions and streams run, and tells the
// application of the progress of sessions.

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

// The statistics of one replicator. Thread-safe. `progress` is called with no
// lock held. PeerTable decides which entries are one peer, and which are kept.
class StatsBoard {
 public:
  using ProgressCallback = std::function<void(const SessionProgress&)>;
  using Clock = std::chrono::steady_clock;

  StatsBoard(uint64_t replica_id, const std::vector<std::string>& peers,
             ProgressCallback progress);

  // What the member list says of a replica.
  enum class Standing { kNoList, kMember, kNotNamed };

  // Sets the configured peers. A former one that is not connected is forgotten.
  void SetPeers(const std::vector<std::string>& addresses);

  // Records that `replica_id` answers at `address`. An address that is not
  // configured is merged into the replica's configured one. While `connection`
  // lives, the replica is kept. Returns false, and records nothing, if
  // `removed` is set: that is set before SetPeers leaves the address out, so
  // that a dial in progress cannot add the peer again.
  bool RecordMeeting(const std::string& address, uint64_t replica_id,
                     const std::weak_ptr<const void>& connection,
                     const std::atomic<bool>& removed);

  // Records which replica is at a configured peer's address, as its certificate
  // told, though no session came about. See RecordMeeting. Ignores other
  // addresses, at which a session may have been asked for by mistake.
  void RecordIdentity(const std::string& address, uint64_t replica_id,
                      const std::atomic<bool>& removed);

  // Begins the counting of a session with a replica. `peer` is the replica's
  // address, or for an accepted connection (`role` is kResponder) the
  // connection's name, used if no address of the replica is known.
  // `connection`: see RecordMeeting.
  std::unique_ptr<SessionCounters> Begin(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder, Clock::time_point now = Clock::now());

  // Begins the counting of a stream with a replica, as Begin does. `lag` is
  // called by stats(), with the board's lock held, until the returned counters
  // are gone.
  std::unique_ptr<StreamCounters> BeginStream(
      const std::string& peer, uint64_t replica_id,
      const std::weak_ptr<const void>& connection = {},
      Role role = Role::kResponder, std::function<StreamLag()> lag = nullptr);

  // Records that an attempt at `address` failed before a session could begin,
  // and tells the application. Returns true if that is worth a line in the log:
  // the error differs from the last one there, and the two are not both of an
  // index build. `index_build`: an index build is the cause. `removed`: see
  // RecordMeeting.
  bool RecordFailure(const std::string& address, const rocksdb::Status& status,
                     bool index_build, const std::atomic<bool>& removed);
  // Records that a replica that dialed this one was refused, or refused this
  // one, before a session could begin. Only a member becomes a peer by that:
  // the single attempt of another replica would be shown as a failing peer from
  // then on.
  void RecordRefusal(const std::string& peer, uint64_t replica_id,
                     Standing standing, const rocksdb::Status& status);

  // Clears the errors that are of an index build, as one of this replica has
  // ended. An error of the peer's own index build comes back at the next
  // attempt.
  void ForgetIndexBuild();

  // Records that a copy of a replica, or an older state of one, was met and
  // refused. It shares the id of the original, so the two overwrite each
  // other's entry among the peers; this record is kept for some minutes. `role`
  // is this side's.
  void RecordRefusedCopy(const std::string& peer, uint64_t replica_id,
                         Role role, const rocksdb::Status& status);
  // Returns the replica of which a copy was met last, if not long ago; else 0.
  uint64_t RecentCopy(Clock::time_point now = Clock::now()) const;

  // Records that a dialer is refused, as it has not proven the cluster's
  // secret. Its certificate is of `replica_id`; 0: it has none. Changes no
  // peer's figures.
  void RecordRefusedDialer(const std::string& peer, uint64_t replica_id,
                           const rocksdb::Status& status);

  // Returns the figures. A session that this replica began more than a second
  // ago is shown even if the peer has not answered yet: over a slow link the
  // first message takes minutes. A newer one is not, as the peer may be busy.
  ReplicationStats stats(Clock::time_point now = Clock::now()) const;

 private:
  friend class SessionCounters;
  friend class StreamCounters;

  // A peer that is busy says so within this time, unless the link is slow.
  static constexpr std::chrono::seconds kShownUnanswered{1};
  // How long a copy counts as recent: longer than it takes to be scraped, and
  // to be met again. A refused copy tries once in each interval.
  static constexpr std::chrono::minutes kCopyIsRecent{10};

  PeerEntry* FindConnected(const std::string& peer, uint64_t replica_id,
                           const std::weak_ptr<const void>& connection,
                           Role role);
  // REQUIRES: the lock is held, for these three.
  void ShowUnanswered(Clock::time_point now, ReplicationStats* all) const;
  void ShowLags(Clock::time_point now, ReplicationStats* all) const;
  void Count(const SessionReport& now, const SessionReport& before);
  // REQUIRES: the lock is held.
  void CountRefusal(const std::string& peer, uint64_t replica_id,
                    const std::string& why);

  const ProgressCallback progress_;
  mutable std::mutex mutex_;
  ReplicationStats totals_;  // without peers
  PeerTable table_;
  // Sessions that this replica began, and that the peer has not answered yet.
  std::vector<const SessionCounters*> unanswered_;
  std::vector<const StreamCounters*> streams_;  // that are open
  uint64_t copy_of_ = 0;
  Clock::time_point met_copy_at_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_STATS_BOARD_H_
