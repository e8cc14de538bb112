// Gives the replicator (and tests) access to the store behind a ReplicatedDB.
// Not part of the public API.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/session/storage_view.h"
#include "replication/store/timers.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class ChangeBuffer;
class IndexedDB;
class Membership;
class PeerMemory;
class ReplicatorClaim;
class Scrub;
class Store;
struct Predecessor;

// A replica's storage as the sessions of one connection see it: with one member
// list and one stable time. Thread-safe.
class ReplicaView : public StorageView {
 public:
  // Sets what both sides of the connection agreed on, and with which peer.
  // Before, the view has the store's terms of when it was made, and pairs have
  // no sender.
  // REQUIRES: no session is running.
  virtual void AgreeOn(const Terms& terms, uint64_t peer_id,
                       const IncarnationId& peer_incarnation) = 0;
  // Whether the store has other terms or families by now. TakeSnapshot would
  // return Unavailable, and the two sides should agree anew.
  virtual bool stale() const = 0;
  // Returns the names of the view's families, by ordinal.
  virtual std::vector<std::string> family_names() const = 0;
  // Returns the ordinal of the view's family with this RocksDB id; nullopt:
  // none.
  virtual std::optional<uint32_t> OrdinalOf(uint32_t family_id) const = 0;
  // Reads the present pair of a key. Returns NotFound if there is none, or none
  // that may be shown; a pair whose value does not match its entry's hash is
  // quarantined.
  virtual absl::Status ReadPair(uint32_t family, std::string_view key,
                                Pair* pair) const = 0;
};

class StoreAccess {
 public:
  // Returns a view of the families that are replicated now; their ordinals are
  // those of db->ReplicatedFamilies(). Once one of them is created or dropped,
  // the view's TakeSnapshot and Apply return Unavailable, and a new view is due
  // (and a new set-up with the peer, whose families must be the same). The view
  // must not outlive `db`. `read`, which may be empty, is told how many
  // elements its snapshots scan, keys they look up and values they read. It may
  // wait, to limit their rate. Applying is not slowed: it is bounded by what
  // comes in, and by RocksDB's own write control.
  static std::unique_ptr<ReplicaView> NewView(ReplicatedDB* db,
                                              ReadsDone read = {});

  // Valid as long as `db`.
  static Membership* MembershipOf(const ReplicatedDB* db);
  static PeerMemory* PeersOf(const ReplicatedDB* db);

  // Valid as long as `db`.
  static Store* StoreOf(ReplicatedDB* db) { return db->store_.get(); }
  static IndexedDB* IndexedOf(ReplicatedDB* db);
  static std::shared_ptr<ReplicatorClaim> ClaimOf(ReplicatedDB* db);
  // Valid as long as `db`.
  static ChangeBuffer* ChangesOf(ReplicatedDB* db);

  // Implements ReplicatedDB::Open. `predecessor`: see OpenIndexed.
  static rocksdb::Status Open(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles, Timers timers,
      ReplicatedDB** db, const Predecessor* predecessor = nullptr);

  // Makes a scrub of `db`, which must outlive it.
  static std::unique_ptr<Scrub> NewScrub(ReplicatedDB* db);

  // What peers must have alike: names and comparators' names of the families
  // that are replicated now, by ordinal.
  struct FamilyFacts {
    std::string name;
    std::string comparator;
  };
  static std::vector<FamilyFacts> Families(const ReplicatedDB* db);

  // Returns the incarnation of `db`, as peers hear of it now.
  static Incarnation IncarnationOf(const ReplicatedDB* db);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
