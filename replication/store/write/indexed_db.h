// A database and the index of its replicated families, as everything that
// writes to both sees them.
//
// A change of a key takes these steps: compute the key's position -> lock its
// stripe -> draw a version (clock, lease) -> build one WriteBatch with the data
// and, last, the index entry -> write the batch -> unlock. If the power goes at
// any moment, the batch is there as a whole or not at all.
//
// The digests learn of it in one of two ways. PutEntry and RemoveEntry note the
// position before the write; one that is noted for a write that fails is only
// read once more. The applier knows both the old and the new element: it
// appends with AppendEntryTo, and after the write notes what changed
// (LeafDigests::NoteKnown), or the position if the write has failed. A snapshot
// locks all stripes, so it never falls between a write and its note.

#ifndef ROCKSYNC_REPLICATION_STORE_WRITE_INDEXED_DB_H_
#define ROCKSYNC_REPLICATION_STORE_WRITE_INDEXED_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "replication/membership/incarnation.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/index/bucket_memtable.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/index/leaf_digests.h"
#include "replication/store/index/shown_families.h"
#include "replication/store/index/stripe_locks.h"
#include "replication/store/write/change_buffer.h"
#include "replication/store/write/change_feeds.h"
#include "replication/store/write/clock.h"
#include "replication/store/write/counted_db.h"
#include "replication/store/write/free_space.h"
#include "replication/store/write/lease.h"
#include "replication/store/write/log_watch.h"
#include "replication/store/write/write_stall.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

// What all writes need. Thread-safe, except for closing.
class IndexedDB {
 public:
  // What an opening found (opening.h).
  struct Parts {
    rocksdb::DB* db = nullptr;                     // owned by the ReplicatedDB
    rocksdb::ColumnFamilyHandle* index = nullptr;  // becomes this object's
    IdentityRecord identity;
    IncarnationHistory past;
    uint64_t lease = 0;
    std::shared_ptr<LogWatch> log;         // a listener of `db`
    std::vector<std::string> directories;  // those the database writes to
    std::shared_ptr<BucketMemtableFactory> memtable;  // the index's
    std::unique_ptr<ElementHasher> hasher;
  };

  // `check_indexed`: see LeafDigests.
  IndexedDB(const ReplicatedDBOptions& options, Parts parts,
            LeafDigests::CheckIndexed check_indexed);

  // The database. Writes through it count as the library's.
  rocksdb::DB* db() const { return reader_.db(); }
  // The same object, for RocksDB's calls that take sequence numbers in their
  // own way.
  CountedDB* counted() { return &counted_; }
  const CountedDB& counted() const { return counted_; }
  const ReplicatedDBOptions& options() const { return options_; }
  const IndexReader& reader() const { return reader_; }
  FamiliesInUse families() const { return reader_.families(); }
  const ElementHasher& hasher() const { return *hasher_; }
  const BucketMemtableFactory& memtable() const { return *memtable_; }
  StripeLocks* locks() { return &locks_; }
  LeafDigests* digests() { return &digests_; }
  const LeafDigests& digests() const { return digests_; }
  FreeSpace* space() { return &space_; }
  Lease* lease() { return &lease_; }
  // The change log. The code that commits a change appends it.
  ChangeBuffer* changes() { return &changes_; }
  ChangeFeeds* feeds() { return &feeds_; }
  // A writer for threads that must not wait for the end of a stall.
  PatientWriter* patient() { return &patient_; }

  // REQUIRES: all stripes are held to show another table.
  ShownFamilies* shown_families() { return reader_.shown(); }
  // REQUIRES: all stripes are held.
  void SetStableTime(uint64_t stable_time) {
    reader_.SetStableTime(stable_time);
  }

  uint64_t replica_id() const { return identity_.replica_id; }
  uint64_t home_id() const { return identity_.home_id; }
  ReplicaIdentity identity() const;
  // Returns what peers hear of this incarnation now: up to the latest durable
  // reading of its clock.
  Incarnation incarnation() const;

  uint64_t WallMs() const;
  // Returns a peer's clock reading, but at most a time that is not too far
  // ahead of this replica's. A reading further ahead is of a clock that jumped,
  // and `rocksync restamp` may set it back. The cap is safe, as what holds for
  // a reading holds for every earlier one.
  uint64_t Trusted(uint64_t reading) const;
  // Returns the last reading of the hybrid clock.
  uint64_t LastReading() const { return clock_.Last(); }
  // Draws a version. `wall_ms` is a result of WallMs. An old one is as safe as
  // a clock that was set back: versions never go back. Returns Incomplete if
  // `gives_up`, which may be empty, returned true while RocksDB stalls the
  // renewal of the lease.
  rocksdb::Status DrawVersion(uint64_t wall_ms, Version* version,
                              const std::function<bool()>& gives_up = {});
  // Makes all versions drawn from now on later than `reading`, also after
  // restarts. Returns Incomplete if it would have to wait (see Lease::Cover).
  rocksdb::Status FollowClock(uint64_t reading);
  // Follows a reading before this machine's time, which changes no version that
  // is drawn. Ignores a later reading.
  rocksdb::Status FollowPastClock(uint64_t reading);

  // Appends an entry to a batch that is about to be written, after the batch's
  // data, and notes its position for the digests.
  // REQUIRES: the position's stripe is held until the batch is written.
  void PutEntry(rocksdb::WriteBatch* batch, const IndexKey& key,
                const StoredEntry& entry);
  // Appends an entry of a value that the caller notes for the digests itself,
  // after the write.
  void AppendEntryTo(rocksdb::WriteBatch* batch, const IndexKey& key,
                     const StoredEntry& entry) const;
  // Appends the removal of an entry, as PutEntry does.
  void RemoveEntry(rocksdb::WriteBatch* batch, const IndexKey& key);

  // Returns ShutdownInProgress once the database is closed or being closed, and
  // NotSupported in a child of fork.
  rocksdb::Status CheckOpen() const;
  bool closed() const { return closed_; }
  void SetClosed() { closed_ = true; }

 private:
  // Visits the handles of all families, the index's too.
  void ForEachHandle(
      const std::function<void(rocksdb::ColumnFamilyHandle*)>& visit) const;

  const ReplicatedDBOptions options_;
  const std::unique_ptr<const ElementHasher> hasher_;
  const std::shared_ptr<const BucketMemtableFactory> memtable_;
  const IdentityRecord identity_;
  const IncarnationHistory past_;
  CountedDB counted_;
  IndexReader reader_;
  PatientWriter patient_;
  StripeLocks locks_;
  const uint64_t first_clock_;  // the reading that clock_ started from
  HybridClock clock_;
  Lease lease_;
  LeafDigests digests_;
  FreeSpace space_;
  ChangeBuffer changes_;
  ChangeFeeds feeds_;
  bool closed_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_INDEXED_DB_H_
