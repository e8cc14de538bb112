// How the replicator (and tests) reach the store behind a ReplicatedDB. Not
// part of the public API.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/protocol/incarnation.h"
#include "replication/protocol/storage_view.h"
#include "replication/protocol/tombstone_gc.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class Membership;
class Scrub;
class Store;

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
};

class StoreAccess {
 public:
  // A view with the families that are replicated now, their ordinals being
  // those of db->ReplicatedFamilies(). Once a family is created or dropped, the
  // view's TakeSnapshot and Apply return FailedPrecondition and a new view is
  // due (and a new set-up with the peer, whose families must be the same).
  // Must not outlive `db`.
  static std::unique_ptr<ReplicaView> NewView(ReplicatedDB* db);

  // Valid as long as `db`.
  static Membership* MembershipOf(const ReplicatedDB* db);

  static Store* StoreOf(ReplicatedDB* db) { return db->store_.get(); }

  // As ReplicatedDB::Open, for simulations (Store::Start, without timers).
  static rocksdb::Status OpenWithoutTimers(
      const rocksdb::DBOptions& options, const ReplicatedDBOptions& replication,
      const std::string& name,
      const std::vector<rocksdb::ColumnFamilyDescriptor>& column_families,
      std::vector<rocksdb::ColumnFamilyHandle*>* handles, ReplicatedDB** db);

  // Must not outlive `db`.
  static std::unique_ptr<Scrub> NewScrub(ReplicatedDB* db);

  // What peers must have alike, by ordinal: names and comparators' names of the
  // families that are replicated now.
  struct FamilyFacts {
    std::string name;
    std::string comparator;
  };
  static std::vector<FamilyFacts> Families(const ReplicatedDB* db);

  // What is remembered of a peer, see ReplicatedDB::RememberPeer. nullopt:
  // nothing, or it cannot be read, which RememberPeer then says.
  static std::optional<Incarnation> Recall(const ReplicatedDB* db,
                                           uint64_t replica_id);

  // A peer refused `db` as rolled back, or as one of two: from now on it may be
  // opened as a new replica. One synced write.
  static rocksdb::Status NoteSuperseded(ReplicatedDB* db);
  // `db` met a peer that has its identity. As above.
  static rocksdb::Status NoteMetItself(ReplicatedDB* db);
  // A peer refused `db` as one that acknowledged more than it knows of. As
  // above, until NoteTakenBack of the same peer, which writes nothing
  // otherwise.
  static rocksdb::Status NoteAcknowledgedMore(ReplicatedDB* db,
                                              uint64_t peer_id);
  static rocksdb::Status NoteTakenBack(ReplicatedDB* db, uint64_t peer_id);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
