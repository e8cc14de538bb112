// The peers whose figures are shown: configured addresses, replicas that dialed
// this one, and which of these are one and the same. The table itself counts
// nothing.

#ifndef ROCKSYNC_REPLICATION_STATISTICS_PEER_TABLE_H_
#define ROCKSYNC_REPLICATION_STATISTICS_PEER_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rocksync/stats.h"

namespace rocksync {

struct PeerEntry {
  PeerStats stats;
  bool leaving = false;  // was configured; dropped once not connected
  uint64_t used = 0;     // sequence number of the last use
  std::vector<std::weak_ptr<const void>> connections;
  // When the last of the sessions that ended well began. The error of a session
  // that began earlier says nothing of the peer any more: such a session ends
  // late, in a process that was frozen, say.
  std::chrono::steady_clock::time_point good_began{};
  // last_error is of an attempt to reach the peer. The error of a session stays
  // until the next session has ended well; that of an attempt is cleared by any
  // session or stream that begins.
  bool not_reached = false;

  // Returns true if the peer is neither configured nor connected.
  bool IsOther() const;
  // Returns true if the peer is not shown any more.
  bool HasLeft() const { return leaving && IsOther(); }
  // Returns true if the entry is, or may be, that replica's; `replica_id` 0:
  // not known whose.
  bool MayBe(uint64_t replica_id) const;
  // Returns the name by which counters find the entry: its address or, if it
  // has none, `peer`.
  std::string NameOr(const std::string& peer) const {
    return stats.address.empty() ? peer : stats.address;
  }
  // Adds a connection unless it is there, and drops closed ones.
  void AddConnection(const std::weak_ptr<const void>& connection);
  void NoteReached();
  // `index_build`: the error is of an index build.
  void SetError(const std::string& error, bool index_build) {
    stats.last_error = error;
    stats.waits_for_index_build = index_build;
  }
  void ForgetIndexBuild() {
    if (stats.waits_for_index_build) SetError("", false);
  }
};

// The table of the configured peers, those that are connected, and a bounded
// number of others. Not thread-safe. The entries that it returns are valid
// until the next call that is not const.
class PeerTable {
 public:
  // See StatsBoard::SetPeers.
  void SetConfigured(const std::vector<std::string>& addresses);
  bool IsConfigured(const std::string& address) const;

  // Records that the replica is at this address, whatever was known of the two
  // before.
  PeerEntry* SetReplicaAt(const std::string& address, uint64_t replica_id);

  // Returns the entry of the address, if no other replica is at it, or else
  // that of the replica; null if there is none.
  PeerEntry* Known(const std::string& address, uint64_t replica_id);
  // Returns the entry that Known finds, or else a new one.
  PeerEntry* Find(const std::string& address, uint64_t replica_id);
  // Returns what Find does, for a session or stream that began when the replica
  // was at the address: if another one is there by now, an entry that is not
  // shown.
  PeerEntry* FindForLine(const std::string& address, uint64_t replica_id);

  const std::vector<PeerEntry>& entries() const { return entries_; }
  void ForgetIndexBuilds() {
    for (PeerEntry& entry : entries_) entry.ForgetIndexBuild();
  }

 private:
  // How many peers are kept that are neither configured nor connected.
  static constexpr size_t kMaxOthers = 64;

  // Adds an entry. If there are too many others, removes those that were not
  // used for the longest.
  PeerEntry* Add(const std::string& address, uint64_t replica_id);
  // Returns the first entry of the replica for which `which` holds, or null.
  template <typename Which>
  PeerEntry* FindOf(uint64_t replica_id, const Which& which);
  PeerEntry TakeOut(PeerEntry* entry);
  static void Absorb(PeerEntry other, PeerEntry* entry);
  static void BeginAnew(PeerEntry* entry);

  std::vector<PeerEntry> entries_;
  // Collects what sessions and streams still report of a replica at whose
  // address another one is now. Not shown.
  PeerEntry replaced_;
  uint64_t uses_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_PEER_TABLE_H_
