// How the replicator (and tests) reach the store behind a ReplicatedDB. Not
// part of the public API.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/protocol/life.h"
#include "replication/protocol/storage_view.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class Scrub;
class Store;

class StoreAccess {
 public:
  // A view with the families that are replicated now, their ordinals being
  // those of db->ReplicatedFamilies(). Once a family is created or dropped, the
  // view's TakeSnapshot and Apply return FailedPrecondition and a new view is
  // due (and a new set-up with the peer, whose families must be the same).
  // Must not outlive `db`.
  static std::unique_ptr<StorageView> NewView(ReplicatedDB* db);

  static Store* StoreOf(ReplicatedDB* db) { return db->store_.get(); }

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
  static std::optional<Life> Recall(const ReplicatedDB* db,
                                    uint64_t replica_id);

  // A peer refused `db` as rolled back, or as one of two: from now on it may be
  // opened as a new replica. One synced write.
  static rocksdb::Status NoteSuperseded(ReplicatedDB* db);
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_ACCESS_H_
