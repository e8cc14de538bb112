// A database and the index of its replicated families, as everything that
// writes to both sees them.
//
// Whoever changes a key: position of the key -> its stripe is locked -> a
// version is drawn (clock, lease) -> one WriteBatch with the data and, last,
// the index entry, whose position PutEntry and RemoveEntry note for the digests
// -> the batch is written -> unlocked. If the power goes at any moment, the
// batch is there as a whole or not at all. The position is noted before the
// write: one that was noted in vain is read once more, one that was written and
// not noted would leave a wrong digest. A snapshot locks all stripes, so it
// never falls between the two.

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
#include "replication/store/write/change_feeds.h"
#include "replication/store/write/change_log.h"
#include "replication/store/write/clock.h"
#include "replication/store/write/counted_db.h"
#include "replication/store/write/free_space.h"
#include "replication/store/write/lease.h"
#include "replication/store/write/log_watch.h"
#include "replication/store/write/write_stall.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

// Thread-safe but for Close.
class IndexedDB {
 public:
  // What an opening found out (opening.h).
  struct Parts {
    rocksdb::DB* db = nullptr;                     // owned by the ReplicatedDB
    rocksdb::ColumnFamilyHandle* index = nullptr;  // becomes this object's
    IdentityRecord identity;
    IncarnationHistory past;
    uint64_t lease = 0;
    std::shared_ptr<LogWatch> log;         // a listener of `db`
    std::vector<std::string> directories;  // that the database writes to
    std::shared_ptr<BucketMemtableFactory> memtable;  // the index's
    std::unique_ptr<ElementHasher> hasher;
  };

  // `check_indexed`: see LeafDigests.
  IndexedDB(const ReplicatedDBOptions& options, Parts parts,
            LeafDigests::CheckIndexed check_indexed);

  // Writes through it are the library's.
  rocksdb::DB* db() const { return reader_.db(); }
  // As RocksDB's own calls, which take sequence numbers in ways of their own.
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
  // What is committed is appended by whoever committed it.
  ChangeLog* changes() { return &changes_; }
  ChangeFeeds* feeds() { return &feeds_; }
  // For threads that must not wait for the end of a stall.
  PatientWriter* patient() { return &patient_; }

  // REQUIRES: all stripes are held, to show others.
  ShownFamilies* shown_families() { return reader_.shown(); }
  // REQUIRES: all stripes are held.
  void SetStableTime(uint64_t stable_time) {
    reader_.SetStableTime(stable_time);
  }

  uint64_t replica_id() const { return identity_.replica_id; }
  uint64_t home_id() const { return identity_.home_id; }
  ReplicaIdentity identity() const;
  // As peers hear of it now: up to the latest durable reading of its clock.
  Incarnation incarnation() const;

  uint64_t WallMs() const;
  // Caps a peer's clock reading: one that is too far ahead is of a clock that
  // jumped, and `rocksync restamp` may set it back, so the time here is taken.
  // That is safe, as what holds for a reading holds for every earlier one.
  uint64_t Trusted(uint64_t reading) const;
  // The last reading of the hybrid clock.
  uint64_t LastReading() const { return clock_.Last(); }
  // `wall_ms`: a reading of WallMs. An old one is as safe as a clock that was
  // set back: versions never go back.
  // Incomplete: `gives_up`, if there is one, turned true while RocksDB stalls
  // the renewal of the lease.
  rocksdb::Status DrawVersion(uint64_t wall_ms, Version* version,
                              const std::function<bool()>& gives_up = {});
  // Versions drawn from now on are later than `reading`, over restarts too.
  // Incomplete: it would have to wait, see Lease::Cover.
  rocksdb::Status FollowClock(uint64_t reading);
  // The same of a reading before this machine's time, by which no version is
  // another one than without it; nothing of a later one.
  rocksdb::Status FollowPastClock(uint64_t reading);

  // Appends an entry to a batch that is about to be written, after the batch's
  // data, and notes its position for the digests.
  // REQUIRES: the position's stripe is held until the batch is written.
  void PutEntry(rocksdb::WriteBatch* batch, const IndexKey& key,
                const StoredEntry& entry);
  // The same for the removal of an entry.
  void RemoveEntry(rocksdb::WriteBatch* batch, const IndexKey& key);

  // ShutdownInProgress once it is closed, or being closed. NotSupported in a
  // child of fork.
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
  const uint64_t first_clock_;  // what clock_ started from
  HybridClock clock_;
  Lease lease_;
  LeafDigests digests_;
  FreeSpace space_;
  ChangeLog changes_;
  ChangeFeeds feeds_;
  bool closed_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_WRITE_INDEXED_DB_H_
