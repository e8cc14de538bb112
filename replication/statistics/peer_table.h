// Who the peers are whose figures are shown: configured addresses, replicas
// that came here, and which of these are one and the same. Counts nothing
// itself.

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
  bool leaving = false;  // was configured: goes once nothing connects it
  uint64_t used = 0;     // the later, the larger
  std::vector<std::weak_ptr<const void>> connections;
  // Of the sessions that ended well, when the last one began. The error of one
  // that began before says nothing of the peer any more: it ends late, of a
  // process that was frozen, say.
  std::chrono::steady_clock::time_point good_began{};
  // last_error is of an attempt to reach the peer. One of a session stays
  // until the next session has ended well; this one is refuted by any that
  // begins.
  bool not_reached = false;

  // Neither configured nor connected.
  bool IsOther() const;
  // Not shown any more.
  bool HasLeft() const { return leaving && IsOther(); }
  // Whether it is, or may be, that replica's; `replica_id` 0: not known whose.
  bool MayBe(uint64_t replica_id) const;
  // What a line finds it by: the address, or of one that has none, `peer`.
  std::string NameOr(const std::string& peer) const {
    return stats.address.empty() ? peer : stats.address;
  }
  // Once, and without those that are closed.
  void AddConnection(const std::weak_ptr<const void>& connection);
  void NoteReached();
  // `index_build`: that is what the error is of.
  void SetError(const std::string& error, bool index_build) {
    stats.last_error = error;
    stats.waits_for_index_build = index_build;
  }
  void ForgetIndexBuild() {
    if (stats.waits_for_index_build) SetError("", false);
  }
};

// Not thread-safe. Keeps the configured peers, those that are connected, and a
// bounded number of others. What it hands out is valid until the next call that
// is not const.
class PeerTable {
 public:
  // See StatsBoard::SetPeers.
  void SetConfigured(const std::vector<std::string>& addresses);
  bool IsConfigured(const std::string& address) const;

  // The replica is at this address, whatever was known of the two before.
  PeerEntry* SetReplicaAt(const std::string& address, uint64_t replica_id);

  // The entry of an address at which no other replica is, or else of a replica;
  // null if there is none.
  PeerEntry* Known(const std::string& address, uint64_t replica_id);
  // The one that is known, or else a new one.
  PeerEntry* Find(const std::string& address, uint64_t replica_id);
  // As Find, for what began when the replica was at the address: if another one
  // is there by now, an entry that is not shown.
  PeerEntry* FindForLine(const std::string& address, uint64_t replica_id);

  const std::vector<PeerEntry>& entries() const { return entries_; }
  void ForgetIndexBuilds() {
    for (PeerEntry& entry : entries_) entry.ForgetIndexBuild();
  }

 private:
  // Those neither configured nor connected that are kept.
  static constexpr size_t kMaxOthers = 64;

  // Makes one, for which the others that were not used for the longest have to
  // go if they are too many.
  PeerEntry* Add(const std::string& address, uint64_t replica_id);
  // The first entry of the replica of which `which` holds, or null.
  template <typename Which>
  PeerEntry* FindOf(uint64_t replica_id, const Which& which);
  PeerEntry TakeOut(PeerEntry* entry);
  static void Absorb(PeerEntry other, PeerEntry* entry);
  static void BeginAnew(PeerEntry* entry);

  std::vector<PeerEntry> entries_;
  // Takes what sessions and streams still tell of a replica at whose address
  // another one is now. Not shown.
  PeerEntry replaced_;
  uint64_t uses_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STATISTICS_PEER_TABLE_H_
