// Applies pairs from peers, under the same locks as the writes of the
// application.

#ifndef ROCKSYNC_REPLICATION_STORE_APPLIER_H_
#define ROCKSYNC_REPLICATION_STORE_APPLIER_H_

#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/family_table.h"
#include "replication/store/upkeep/held_back.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/write/indexed_db.h"

namespace rocksync {

// Decides which pairs win, and writes those. Thread-safe.
//
// Up to three things are written, in this order: the sender's incarnation, if a
// member list is set; the lease, if a pair is later than it; one batch with the
// pairs and, behind them, their entries. If the power goes after the first or
// second, the pairs come again.
class Applier {
 public:
  Applier(IndexedDB* indexed, IndexBuild* index_build, Membership* membership,
          Quarantine* quarantine, HeldBack* held_back)
      : indexed_(indexed),
        index_build_(index_build),
        membership_(membership),
        quarantine_(quarantine),
        held_back_(held_back) {}

  // Returns the present member list and stable time.
  Terms terms() const;

  // Applies pairs by the terms that were agreed upon with the peer. `names` has
  // the families by whose ordinals the pairs name theirs; its handles are not
  // used. Returns Unavailable if the terms hold no longer, or these are not the
  // present families.
  absl::Status Apply(std::span<const Pair> pairs, const FamilyTable& names,
                     const Sender& sender, const Terms& terms,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes);

 private:
  // One batch of pairs on its way into the database.
  struct Batch;

  enum class Contest : uint8_t { kWins, kLoses, kDeferred };

  // Returns Incomplete if RocksDB or a lock would have made it wait.
  rocksdb::Status ApplyOnce(Batch* batch);
  // Computes the pairs' positions and stripes. Holds back pairs too far ahead.
  void Place(Batch* batch);
  // REQUIRES: the batch's stripes are held.
  rocksdb::Status CheckTerms(Batch* batch) const;
  // Reads what is stored for the batch's keys.
  // REQUIRES: the batch's stripes are held.
  rocksdb::Status ReadCurrent(Batch* batch);
  // Decides about each pair, and puts the winners into the write batch.
  // REQUIRES: the batch's stripes are held.
  rocksdb::Status Contend(Batch* batch);
  rocksdb::Status ContendOne(Batch* batch, size_t i);
  // REQUIRES: the batch's stripes are held.
  rocksdb::Status Commit(Batch* batch);
  void PassOn(const Batch& batch);
  void NoteChanges(const Batch& batch, bool written);
  // Lists what the batch applies, for the hook and the feeds.
  static std::vector<AppliedChange> ListChanges(const Batch& batch);

  // Decides whether `pair` wins against what is stored. May release the stored
  // entry, which then has to be written if it stays.
  rocksdb::Status ContendWith(const Family& family, const Pair& pair,
                              const IndexKey& key, StoredEntry* stored,
                              Contest* contest);
  rocksdb::Status ContendWithQuarantined(const Family& family, const Pair& pair,
                                         const IndexKey& key,
                                         StoredEntry* stored, Contest* contest);
  rocksdb::Status ContendWithItsVersion(const Family& family, const Pair& pair,
                                        const IndexKey& key,
                                        const StoredEntry& stored,
                                        Contest* contest) const;

  IndexedDB* const indexed_;
  IndexBuild* const index_build_;
  Membership* const membership_;
  Quarantine* const quarantine_;
  HeldBack* const held_back_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_APPLIER_H_
