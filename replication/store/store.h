// What stands behind a ReplicatedDB: owns the parts of the store, starts and
// stops them, and tells what they count.

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
  rocksdb::Status SweepForTesting() { return sweep_.SweepHere(); }

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

  // Drops the family, and has its entries removed from the index.
  rocksdb::Status DropFamily(rocksdb::ColumnFamilyHandle* handle);

  // A snapshot of now and the digests at it. Unavailable: nothing may be told
  // to peers yet, as something is being compared.
  absl::Status TakeSnapshot(const std::function<bool()>& cancelled,
                            LeafDigests::DigestSnapshot* readied);
  // Looks again at an entry, or a pair by its entry's index key, that did not
  // match at some moment, and does what a scrub would.
  void Reexamine(const std::string& index_key);
  // They were not those of the entries: the next ones are read from these.
  void DistrustDigests();

  TombstoneGcStats tombstone_gc_stats() const;
  IndexStats stats() const;
  // By the opening (DiskSpaceStats).
  uint64_t log_batches_dropped() const { return log_batches_dropped_; }

  // Counts an iterator of the application as held until it is deleted.
  void Hold(rocksdb::Cleanable* iterator);
  std::unique_ptr<rocksdb::TransactionLogIterator> Hold(
      std::unique_ptr<rocksdb::TransactionLogIterator> iterator);

  // Aborted: a replicator runs on it; or snapshots are held that are not the
  // library's, so that RocksDB would not close; or iterators, with which it
  // would end the process; or a callback of this database runs in this thread.
  // `iterators` of them do not count.
  rocksdb::Status CheckClosable(uint64_t iterators = 0) const;
  // Stops background work, writes the seal and gives the handles back. The
  // database itself is closed by the caller. From then on no family is known.
  rocksdb::Status Close();
  // CURRENT as that has left it: in a directory that holds another one,
  // somebody else has opened the database since. RocksDB begins a new MANIFEST
  // also when one has grown too large, but not once it was closed.
  const std::string& manifest_at_close() const { return manifest_at_close_; }
  // Once RocksDB is closed: the process may open the directory again.
  void ReleaseDirectory() { directory_.reset(); }

 private:
  // Whether the index is in tables alone. Of what is written later says
  // nothing.
  bool FlushIndex();
  rocksdb::Status Seal();
  // Once it was shown long enough.
  void ForgetWhatWasDropped() const;

  // In this order: each part holds pointers to those before it.
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
