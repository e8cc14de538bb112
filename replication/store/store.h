// What stands behind a ReplicatedDB: the parts of the store and how a write
// goes through them.
//
// A write of the application: position of the key -> its stripe is locked ->
// a version is drawn (clock, lease) -> one WriteBatch with the data and, last,
// the index entry -> the position is noted for the digests -> unlocked. If the
// power goes at any moment, the batch is there as a whole or not at all.

#ifndef ROCKSYNC_REPLICATION_STORE_STORE_H_
#define ROCKSYNC_REPLICATION_STORE_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/protocol/storage_view.h"
#include "replication/protocol/tombstone_gc.h"
#include "replication/store/bucket_memtable.h"
#include "replication/store/clock.h"
#include "replication/store/counted_db.h"
#include "replication/store/family_table.h"
#include "replication/store/file_watch.h"
#include "replication/store/foreign_writes.h"
#include "replication/store/free_space.h"
#include "replication/store/hash_completion.h"
#include "replication/store/index_entry.h"
#include "replication/store/index_reader.h"
#include "replication/store/leaf_digests.h"
#include "replication/store/lease.h"
#include "replication/store/log_watch.h"
#include "replication/store/marker.h"
#include "replication/store/meta_records.h"
#include "replication/store/pair_check.h"
#include "replication/store/stripe_locks.h"
#include "replication/store/unreadable_keys.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"

namespace rocksync {

class Adoption;
class Membership;
struct Sender;
class TombstoneSweep;
struct PlannedBatch;

class Store {
 public:
  // What an opening found out before there is a store (opening.h).
  struct Opened {
    rocksdb::DB* db = nullptr;                     // owned by the ReplicatedDB
    rocksdb::ColumnFamilyHandle* index = nullptr;  // becomes the store's
    std::vector<Family> families;                  // the replicated ones
    std::vector<Family> other_families;
    std::vector<FamilyRecord> family_records;  // of the same
    IdentityRecord identity;
    IncarnationHistory past;
    PlaceRecord place;
    Marker marker;  // as it is now
    WorkRecord work;
    std::vector<ForeignRange> foreign;  // of a re-check that is not done
    std::shared_ptr<FileWatch> files;   // a listener of `db`
    std::shared_ptr<LogWatch> log;      // another
    uint64_t lease = 0;
    GcState gc;
    uint64_t swept = 0;  // the stable time of the last finished sweep
    std::vector<std::string> directories;         // that the database writes to
    std::unique_ptr<LeafDigests::Leaves> leaves;  // null: to be read
    std::shared_ptr<BucketMemtableFactory> memtable;
    LeafDigests::Tombstones tombstones;  // of the same
    LeafQuarantined quarantined;
    std::shared_ptr<HashCompletionFactory> completion;
    std::unique_ptr<ElementHasher> hasher;
  };

  Store(const ReplicatedDBOptions& options, Opened opened);
  ~Store();

  // Starts background work, if any is left. Without timers nothing happens by
  // the clock on the wall: the lease is renewed by who needs it, and tombstones
  // are swept by SweepCollected alone.
  void Start(bool timers = true);
  rocksdb::Status SweepCollected();

  // Writes of the application.
  rocksdb::Status WriteOne(const rocksdb::WriteOptions& options,
                           rocksdb::ColumnFamilyHandle* handle,
                           const rocksdb::Slice& key,
                           const rocksdb::Slice* value);  // null: delete
  rocksdb::Status WriteMany(const rocksdb::WriteOptions& options,
                            rocksdb::WriteBatch* batch);
  rocksdb::Status DeleteRangeInChunks(const rocksdb::WriteOptions& options,
                                      rocksdb::ColumnFamilyHandle* handle,
                                      const rocksdb::Slice& begin,
                                      const rocksdb::Slice& end,
                                      uint64_t* deleted);

  // Families.
  bool IsReplicated(uint32_t family_id) const {
    return table().Find(family_id) != nullptr;
  }
  // Refuses a family that the library does not know: what is written to it
  // would pass the index if it should be replicated.
  rocksdb::Status CheckKnown(rocksdb::ColumnFamilyHandle* handle) const;
  bool WouldReplicate(const std::string& name) const;
  rocksdb::Status CheckNewFamily(
      const std::string& name,
      const rocksdb::ColumnFamilyOptions& options) const;
  rocksdb::Status AddFamily(const std::string& name,
                            const rocksdb::ColumnFamilyOptions& options,
                            rocksdb::ColumnFamilyHandle* handle);
  // Has RocksDB drop it, and then removes it here. With all stripes held in
  // between: RocksDB stops all writes after one that names a family which was
  // dropped meanwhile. So whoever writes to a family by his own decision looks,
  // under the lock of the key, whether the table still has it.
  rocksdb::Status DropFamily(rocksdb::ColumnFamilyHandle* handle);
  // Since opening, or some time before, and the purge is not done.
  // REQUIRES: no stripe is held.
  bool WasDropped(uint32_t family_id);
  // True if the store takes care of destroying the handle.
  bool GiveBack(rocksdb::ColumnFamilyHandle* handle);

  // Writes past the library (foreign_writes.h).
  // Whether all that was acknowledged so far is in the index: nothing came by
  // another door, and nothing is being compared. Stripes may be held.
  bool AllIsIndexed(const std::function<bool()>& cancelled = {});
  // If something came, has everything compared anew. OK: that is written down,
  // or there was nothing. With `may_wait` false it waits for nobody.
  // REQUIRES: no stripe is held.
  rocksdb::Status DealWithForeignWrites(
      bool may_wait, const std::function<bool()>& cancelled = {});
  FileWatch* files() { return foreign_.files(); }
  // As RocksDB's own calls, which take sequence numbers in ways of their own.
  CountedDB* counted() { return &counted_; }

  // What the view needs (rocksdb_view.cc).
  absl::Status TakeSnapshot(const std::function<bool()>& cancelled,
                            LeafDigests::Readied* readied);
  // The present member list and stable time.
  Terms terms() const;
  // By what was agreed upon with the peer. `families`: by whose ordinals the
  // pairs name theirs. Unavailable: what was agreed upon holds no longer.
  // FailedPrecondition: these are not the families of now.
  absl::Status Apply(std::span<const Pair> pairs, const FamilyTable& families,
                     const Sender& sender, const Terms& terms,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes);
  bool HoldsBack(const Version& version) const;
  // For the log and the statistics: whose clock is ahead?
  void NameHeldBack(const Version& version) const;
  // A pair that is too large to send or to take: counts it and, once a minute,
  // names one in the log.
  void NoteOversized(const std::string& family, std::string_view key) const;
  // Looks again at an entry, or a pair by its entry's index key, that did not
  // match at some moment, and does what a scrub would.
  void Reexamine(const std::string& index_key);
  // They were not those of the entries: the next ones are read from these.
  void DistrustDigests();

  // Identity.
  ReplicaIdentity identity() const;
  rocksdb::Status RememberPeer(const ReplicaIdentity& peer);
  // What is remembered of a peer; NotFound: nothing.
  rocksdb::Status RecallPeer(uint64_t replica_id, PeerRecord* known) const;
  // A peer has met a later incarnation of these data, or another one: writes
  // down that they may be opened as a new replica.
  rocksdb::Status NoteSuperseded();
  // It met its own identity in another incarnation: one of the two is a copy,
  // and neither knows which. Writes the same down.
  rocksdb::Status NoteMetItself();
  // `peer_id` refuses it as one that acknowledged more than it knows of: the
  // same, until that peer takes it back.
  rocksdb::Status NoteAcknowledgedMore(uint64_t peer_id);
  rocksdb::Status NoteTakenBack(uint64_t peer_id);

  // Tombstone garbage collection.
  Membership* membership() const { return membership_.get(); }
  TombstoneGcStats tombstone_gc_stats() const;

  AdoptionProgress adoption_progress() const;
  rocksdb::Status WaitForAdoption(uint64_t timeout_ms) const;
  IndexStats stats() const;

  // Aborted: snapshots are held that are not the library's, so that RocksDB
  // would not close.
  rocksdb::Status CheckClosable() const;
  // Stops background work, writes the seal and gives the handles back. The
  // database itself is closed by the caller. From then on no family is known.
  rocksdb::Status Close();
  // ShutdownInProgress after Close.
  rocksdb::Status CheckOpen() const;

  // For the parts of the store.
  // Writes through it are the library's.
  rocksdb::DB* db() const { return reader_.db(); }
  const ReplicatedDBOptions& options() const { return options_; }
  const IndexReader& reader() const { return reader_; }
  const FamilyTable& table() const { return reader_.families(); }
  StripeLocks* locks() { return &locks_; }
  LeafDigests* digests() { return &digests_; }
  uint64_t WallMs() const;
  // What to believe of a peer's clock reading. One that is too far ahead is of
  // a clock that jumped, and `rocksync restamp` may set it back; then the time
  // here counts. What holds for a reading holds for every earlier one.
  uint64_t Trusted(uint64_t reading) const;
  rocksdb::Status DrawVersion(Version* version);
  UnreadableKeys* unreadable() { return &unreadable_; }
  void Count(PairCheck::Finding finding);
  void CountQuarantined() {
    ++pairs_quarantined_;
    NoteQuarantined();
  }
  // A pair is quarantined now, or was found to be still quarantined.
  void NoteQuarantined() {
    quarantined_noted_ = true;
    last_quarantined_ms_ = WallMs();
  }
  // When, by the wall clock; 0: none is known of.
  uint64_t last_quarantined_ms() const { return last_quarantined_ms_; }
  // Those known of until `ms` are settled.
  void QuarantinedResolved(uint64_t ms) {
    last_quarantined_ms_.compare_exchange_strong(ms, 0);
  }
  // Versions drawn from now on are later than `reading`, over restarts too.
  rocksdb::Status FollowClock(uint64_t reading);
  // REQUIRES: all stripes are held.
  void SetStableTime(uint64_t stable_time) {
    reader_.SetStableTime(stable_time);
  }
  // Appends an entry to a batch. The batch's last operation must be one.
  void PutEntry(rocksdb::WriteBatch* batch, const IndexKey& key,
                const StoredEntry& entry) const;
  void RemoveEntry(rocksdb::WriteBatch* batch, const IndexKey& key) const;
  std::vector<FamilyRecord> family_records() const;
  // Writes down that nothing of the family is left to be read, unless a check
  // was asked for after the one of this `generation` (adoption.h).
  rocksdb::Status FamilyIsRead(uint32_t family_id, uint64_t generation);

 private:
  void SetFamilyRecords(std::vector<FamilyRecord> records);
  rocksdb::Status RefuseOptions(const rocksdb::WriteOptions& options) const;
  rocksdb::Status CommitPlanned(const rocksdb::WriteOptions& options,
                                const rocksdb::WriteBatch& batch,
                                const PlannedBatch& plan);
  // Incomplete: RocksDB or a lock would have made it wait.
  rocksdb::Status ApplyOnce(std::span<const Pair> pairs,
                            const FamilyTable& families, const Sender& sender,
                            const Terms& terms,
                            const std::function<bool()>& cancelled,
                            std::vector<ApplyOutcome>* outcomes);
  enum class Contest : uint8_t { kWins, kLoses, kDeferred };
  // Whether `pair` beats what is stored. May release the stored entry, which
  // then is to be written if it stays.
  rocksdb::Status Contend(const Family& family, const Pair& pair,
                          const IndexKey& key, StoredEntry* stored,
                          Contest* contest);
  rocksdb::Status ContendWithQuarantined(const Family& family, const Pair& pair,
                                         const IndexKey& key,
                                         StoredEntry* stored, Contest* contest);
  rocksdb::Status ContendAtOneVersion(const Family& family, const Pair& pair,
                                      const IndexKey& key,
                                      const StoredEntry& stored,
                                      Contest* contest) const;
  rocksdb::Status NoteDropping(uint32_t family_id, bool dropping);
  rocksdb::Status DropLocked(uint32_t id, rocksdb::ColumnFamilyHandle* handle);
  // From now on they are known. REQUIRES: all stripes are held.
  void ShowFamilies(std::unique_ptr<const FamilyTable> next,
                    std::vector<FamilyRecord> records);
  rocksdb::Status RecordFamilies(const std::vector<FamilyRecord>& records);
  rocksdb::Status InstallFamilies(std::vector<Family> families,
                                  std::vector<Family> others,
                                  std::vector<FamilyRecord> records);
  rocksdb::Status Recheck(bool may_wait, uint64_t known,
                          const std::vector<ForeignRange>& ranges);
  // As `change` makes it, unless it is so already. Durable.
  rocksdb::Status NotePlace(const std::function<void(PlaceRecord*)>& change);
  rocksdb::Status Seal();

  const ReplicatedDBOptions options_;
  const std::unique_ptr<const ElementHasher> hasher_;
  const std::shared_ptr<const BucketMemtableFactory> memtable_;  // the index's
  const std::shared_ptr<HashCompletionFactory> completion_;
  const IdentityRecord identity_;
  const IncarnationHistory past_;
  std::mutex place_mutex_;
  PlaceRecord place_;  // guarded by place_mutex_
  Marker marker_;      // changed by Close alone
  CountedDB counted_;
  IndexReader reader_;
  StripeLocks locks_;
  const uint64_t first_clock_;  // what clock_ started from
  HybridClock clock_;
  Lease lease_;
  LeafDigests digests_;
  FreeSpace space_;

  // Families change rarely, with all stripes held. Tables are kept until the
  // end, since readers hold plain pointers to them.
  const FamilyTable no_families_{{}, {}};  // of a store that is closed
  std::mutex families_mutex_;
  std::vector<std::unique_ptr<const FamilyTable>> tables_;
  mutable std::mutex records_mutex_;
  std::vector<FamilyRecord> family_records_;
  std::atomic<uint64_t> family_drops_{0};  // begun and ended: odd meanwhile

  std::mutex peers_mutex_;
  ForeignWrites foreign_;
  std::unique_ptr<Adoption> adoption_;
  const std::unique_ptr<TombstoneSweep> sweep_;
  const std::unique_ptr<Membership> membership_;
  UnreadableKeys unreadable_;
  std::atomic<uint64_t> pairs_quarantined_{0};
  std::atomic<uint64_t> released_pairs_{0};
  std::atomic<uint64_t> wrong_digests_{0};
  std::atomic<uint64_t> repaired_entries_{0};
  std::atomic<uint64_t> removed_entries_{0};
  std::atomic<uint64_t> last_quarantined_ms_{0};
  std::atomic<bool> quarantined_noted_{false};  // since opening
  std::atomic<uint64_t> repaired_pairs_{0};
  std::atomic<uint64_t> held_back_pairs_{0};
  mutable std::atomic<uint64_t> held_back_replica_{0};
  mutable std::atomic<uint64_t> oversized_pairs_{0};
  mutable std::atomic<uint64_t> oversized_silent_until_ms_{0};  // in the log
  mutable std::mutex held_back_mutex_;
  mutable uint64_t held_back_silent_until_ms_ = 0;  // in the log
  bool closed_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_STORE_H_
