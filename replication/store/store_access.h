// How the replicator (and tests) reach the store behind a ReplicatedDB. Not
// part of the public API.

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

class ChangeLog;
class IndexedDB;
class Membership;
class PeerMemory;
class ReplicatorClaim;
class Scrub;
class Store;
struct Predecessor;

// A replica's storage as sessions of one connection see it: with one member
// list and one stable time. Thread-safe.
class ReplicaView : public StorageView {
 public:
  // What both sides of the connection agreed on, and with whom. Before, it is
  // what the store had when the view was made, and pairs come from nobody. No
  // session may be running.
  virtual void AgreeOn(const Terms& terms, uint64_t peer_id,
                       const IncarnationId& peer_incarnation) = 0;
  // The store has something else by now: TakeSnapshot would be Unavailable. The
  // two should agree anew.
  virtual bool stale() const = 0;
  // Of the families of the view, by ordinal.
  virtual std::vector<std::string> family_names() const = 0;
  // Which of the families of the view has this id of RocksDB's; nullopt: none.
  virtual std::optional<uint32_t> OrdinalOf(uint32_t family_id) const = 0;
  // The pair of a key as it is now. NotFound: there is none, or none that may
  // be shown; one whose value does not match its entry's hash is quarantined.
  virtual absl::Status ReadPair(uint32_t family, std::string_view key,
                                Pair* pair) const = 0;
};

class StoreAccess {
 public:
  // A view with the families that are replicated now, their ordinals being
  // those of db->ReplicatedFamilies(). Once one of them is created or dropped,
  // the view's TakeSnapshot and Apply return Unavailable and a new view is
  // due (and a new set-up with the peer, whose families must be the same).
  // Must not outlive `db`. `read` may be empty, and is told how many elements
  // its snapshots scan, keys they look up and values they read. It may wait, so
  // that they read no faster than they may. Applying is not slowed: it is
  // bounded by what comes in, and by RocksDB's own write control.
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
  static ChangeLog* ChangesOf(ReplicatedDB* db);

  // ReplicatedDB::Open. `predecessor`: see OpenIndexed.
  static rocksdb::Status Open(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles, Timers timers,
      ReplicatedDB** db, const Predecessor* predecessor = nullptr);

  // Must not outlive `db`.
  static std::unique_ptr<Scrub> NewScrub(ReplicatedDB* db);

  // What peers must have alike, by ordinal: names and comparators' names of the
  // families that are replicated now.
  struct FamilyFacts {
    std::string name;
    std::string comparator;
  };
  static std::vector<FamilyFacts> Families(const ReplicatedDB* db);

  // The incarnation of `db`, as peers hear of it now.
  static Incarnation IncarnationOf(const ReplicatedDB* db);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
