// Gives the replicator access to the store behind a ReplicatedDB.
// Not part of the public API.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "replication/membership/incarnation.h"
#include "replication/session/storage_view.h"
#include "replication/store/replica_view.h"
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
