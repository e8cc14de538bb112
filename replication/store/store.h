// The store behind a ReplicatedDB: owns its parts, starts and stops them, and
// reports their counts.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "replication/store/applier.h"
#include "replication/store/directory/directory_claim.h"
#include "replication/store/format/marker.h"
#include "replication/store/index/leaf_digests.h"
#include "replication/store/open/opened.h"
#include "replication/store/replicator_claim.h"
#include "replication/store/timers.h"
#include "replication/store/upkeep/foreign_writes.h"
#include "replication/store/upkeep/held_back.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/upkeep/membership.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/store/upkeep/quarantine.h"
#include "replication/store/upkeep/tombstone_sweep.h"
#include "replication/store/write/families.h"
#include "replication/store/write/indexed_db.h"
#include "replication/store/write/key_update.h"
#include "replication/store/write/range_deleter.h"
#include "replication/store/write/writer.h"
#include "rocksdb/iterator.h"
#include "rocksdb/transaction_log.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class Store {
 public:
  Store(const ReplicatedDBOptions& options, Opened opened);

  // Starts background work, if any is left.
  void Start(Timers timers);
  rocksdb::Status SweepHere() { return sweep_.SweepHere(); }

  IndexedDB* indexed() { return &indexed_; }
  Families* families() { return &families_; }
  Writer* writer() { return &writer_; }
  KeyUpdate* key_update() { return &key_update_; }
  RangeDeleter* range_deleter() { return &range_deleter_; }
  Applier* applier() { return &applier_; }
  IndexBuild* index_build() { return &index_build_; }
  Membership* membership() { return &membership_; }
  PeerMemory* peers() { return &peers_; }
  Quarantine* quarantine() { return &quarantine_; }
  HeldBack* held_back() { return &held_back_; }
  const std::shared_ptr<ReplicatorClaim>& claim() const { return claim_; }
  FileWatch* files() { return foreign_writes_.files(); }

  // Drops the family, and requests the removal of its entries from the index.
  rocksdb::Status DropFamily(rocksdb::ColumnFamilyHandle* handle);

  // Takes a snapshot of now with its digests. Returns Unavailable if nothing
  // may be told to peers yet, as pairs and entries are being compared.
  absl::Status TakeSnapshot(const std::function<bool()>& cancelled,
                            LeafDigests::DigestSnapshot* readied);
  // Checks again an entry, or the pair of an entry's index key, that did not
  // match at some moment, and does what a scrub would.
  void Reexamine(const std::string& index_key);
  // Discards digests that did not match the entries: the next ones are read
  // from the entries.
  void DistrustDigests();

  TombstoneGcStats tombstone_gc_stats() const;
  IndexStats stats() const;
  // Returns how many batches the opening dropped (DiskSpaceStats).
  uint64_t log_batches_dropped() const { return log_batches_dropped_; }

  // Counts an iterator of the application as held until it is deleted.
  void Hold(rocksdb::Cleanable* iterator);
  std::unique_ptr<rocksdb::TransactionLogIterator> Hold(
      std::unique_ptr<rocksdb::TransactionLogIterator> iterator);

  // Returns Aborted if a replicator runs on the database; if snapshots are held
  // that are not the library's, so that RocksDB would not close; if more than
  // `iterators` iterators are held, with which it would end the process; if
  // this thread runs a callback of this database; or in a child of fork.
  rocksdb::Status CheckClosable(uint64_t iterators = 0) const;
  // Stops background work, writes the seal and releases the handles. From then
  // on no family is known. The caller closes the database itself.
  rocksdb::Status Close();
  // Returns the content of CURRENT that Close left. If the directory has
  // another, the database was opened since: RocksDB also begins a new MANIFEST
  // when one has grown too large, but not after it was closed.
  const std::string& manifest_at_close() const { return manifest_at_close_; }
  // Lets this process open the directory again. Called once RocksDB is closed.
  void ReleaseDirectory() { directory_.reset(); }

 private:
  // Returns whether the whole index is in tables; this says nothing of later
  // writes.
  bool FlushIndex();
  rocksdb::Status Seal();
  // Removes the record of dropped batches, once it was shown long enough.
  void ForgetWhatWasDropped() const;

  // The order matters: each part holds pointers to those before it.
  IndexedDB indexed_;
  ForeignWrites foreign_writes_;
  Families families_;
  Writer writer_;
  KeyUpdate key_update_;
  RangeDeleter range_deleter_;
  Quarantine quarantine_;
  HeldBack held_back_;
  IndexBuild index_build_;
  TombstoneSweep sweep_;
  Membership membership_;
  PeerMemory peers_;
  Applier applier_;
  const uint64_t log_batches_dropped_;
  const uint64_t opened_ms_;
  Marker marker_;                  // changed by Close alone
  std::string manifest_at_close_;  // likewise
  std::unique_ptr<DirectoryClaim> directory_;
  const std::shared_ptr<ReplicatorClaim> claim_ =
      std::make_shared<ReplicatorClaim>();
  std::atomic<uint64_t> wrong_digests_{0};
  std::atomic<uint64_t> iterators_held_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_H_
