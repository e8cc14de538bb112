// The digests of all leaves. They follow the writes, and the write path reads
// nothing for them.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_LEAF_DIGESTS_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_LEAF_DIGESTS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/storage_view.h"
#include "replication/store/format/leaf_records.h"
#include "replication/store/index/dirty_positions.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/index/stripe_locks.h"
#include "rocksdb/db.h"
#include "sketch/element/digest.h"

namespace rocksync {

// A snapshot of RocksDB with the stable time to read it by. Its last user
// releases it.
class HeldSnapshot {
 public:
  HeldSnapshot(rocksdb::DB* db, uint64_t stable_time)
      : db_(db), held_(db->GetSnapshot()), stable_time_(stable_time) {}
  ~HeldSnapshot() { db_->ReleaseSnapshot(held_); }
  HeldSnapshot(const HeldSnapshot&) = delete;
  HeldSnapshot& operator=(const HeldSnapshot&) = delete;

  const rocksdb::Snapshot* get() const { return held_; }
  uint64_t stable_time() const { return stable_time_; }

 private:
  rocksdb::DB* const db_;
  const rocksdb::Snapshot* const held_;
  const uint64_t stable_time_;
};

// The digests at a base snapshot S. Writers note the positions they write to.
// Ready takes all stripes for a moment, and takes the notes and a snapshot T.
// Then it adds, for every noted position, what stands there at T, less what
// stood there at S. Since it reads all entries of a position, keys that share
// one are no special case. With too many notes, or without a base, it reads the
// whole index at T instead. T is the new base.
//
// A writer that has read what it replaces, as the one of peers' pairs has, may
// note what it changed instead; then nothing is read.
//
// If the stable time has grown, leaves whose tombstones may be collected now
// are read as a whole.
//
// Quarantined entries are in no digest. Their number in each leaf is kept in
// the same way, since equal digests prove nothing about them.
//
// Thread-safe.
class LeafDigests {
 public:
  using Leaves = std::vector<Digest>;              // kLeafCount of them
  using Tombstones = std::vector<LeafTombstones>;  // kLeafCount of them

  // The digests of one moment.
  struct DigestSnapshot {
    std::shared_ptr<const HeldSnapshot> snapshot;
    std::shared_ptr<const Leaves> leaves;  // at the snapshot
    uint64_t quarantined = 0;              // entries there, in no digest
  };

  // Checks a snapshot that was just taken, with all stripes held. Returns OK if
  // all that is in it is in the index, too, and Unavailable if not yet.
  using CheckIndexed =
      std::function<absl::Status(const std::function<bool()>& cancelled)>;

  // `reader` and `locks` must outlive this.
  LeafDigests(const IndexReader* reader, StripeLocks* locks,
              CheckIndexed check_indexed)
      : reader_(reader),
        locks_(locks),
        check_indexed_(std::move(check_indexed)) {}

  // Takes digests that are known to be right now: nothing was written since.
  void Trust(Leaves leaves, Tombstones tombstones, LeafQuarantined quarantined);

  // Brings the digests up to date. OK: `*readied` is a snapshot of now with its
  // digests. Cancelled: `cancelled` ended the wait. Unavailable: the index does
  // not have all data.
  absl::Status Ready(const std::function<bool()>& cancelled,
                     DigestSnapshot* readied);

  // The number of tombstone entries, as of the last Ready or Trust.
  uint64_t tombstones() const { return tombstones_held_.load(); }
  // Whether tombstones() is recent; false once no session has begun for long.
  bool counted() const { return counted_.load(); }
  // The number of quarantined entries, as of the last Ready or Trust.
  uint64_t quarantined() const { return quarantined_now_.load(); }

  // Estimates how many tombstones would be collected if the stable time were
  // this one, and of how many elements: it takes all tombstones of leaves in
  // which at least one would be. Returns zeros if digests are being readied
  // right now, or unknown.
  struct Share {
    uint64_t tombstones = 0;
    uint64_t elements = 0;
  };
  Share CollectedBy(uint64_t stable_time) const;

  // Return copies, for the seal. REQUIRES: the store is closing.
  Tombstones LeafTombstonesNow() const;
  LeafQuarantined LeafQuarantinedNow() const;

  // Whether Ready would only have to look at what was written since the base.
  bool UpToDate() const;

  // Notes that an entry at `position` is being written.
  // REQUIRES: the position's stripe is held.
  void Note(uint64_t position) { notes_.Add(position); }

  // Whether notes are taken: without a base they would be in vain. Does not
  // become true while any stripe is held.
  bool tracking() const { return notes_.tracking(); }

  // Notes what a write has changed, instead of its position. Neither entry is a
  // tombstone, nor is the old one quarantined.
  // REQUIRES: the position's stripe has been held since before the write.
  void NoteKnown(const DigestChange& known) { notes_.AddKnown(known); }

  // Discards the base, so that the next Ready reads everything.
  void Invalidate();

  // Makes the next Ready read everything. Called if an entry was damaged, as
  // the base may count what it was before, or if the stable time falls back, as
  // the base may count what was swept since. Never waits, so the caller may
  // hold a stripe. It must hold the stripe if it changes the entry, and all
  // stripes if it changes the stable time.
  void Distrust() { distrusted_.store(true); }

  // Renews an old base, or drops it if no digests were asked for in a long
  // time; called now and then. A base is a RocksDB snapshot, and an old one
  // makes RocksDB keep old versions of the application's data.
  void RenewOldBase(const std::function<bool()>& cancelled);

  uint64_t rescans() const { return rescans_.load(); }
  uint64_t entries_read() const { return entries_read_.load(); }

 private:
  using Clock = std::chrono::steady_clock;

  // REQUIRES: ready_mutex_ held.
  absl::Status ReadyLocked(const std::function<bool()>& cancelled);
  absl::Status Rescan(const HeldSnapshot& at,
                      const std::function<bool()>& cancelled);
  absl::Status AddDifferences(const std::vector<uint64_t>& positions,
                              const HeldSnapshot& from, const HeldSnapshot& to,
                              const std::function<bool()>& cancelled);
  absl::Status RereadLeaves(const std::vector<uint32_t>& leaves,
                            const HeldSnapshot& at,
                            const std::function<bool()>& cancelled);
  // Returns the leaves that the new stable time may have changed, ascending.
  std::vector<uint32_t> LeavesCollected(uint64_t stable_time) const;
  void Add(const IndexCursor& cursor);
  void Remove(const IndexCursor& cursor);
  void CountHeld();
  void DropBase();

  const IndexReader* const reader_;
  StripeLocks* const locks_;
  const CheckIndexed check_indexed_;
  DirtyPositions notes_;

  std::atomic<bool> distrusted_{false};
  mutable std::timed_mutex ready_mutex_;
  std::shared_ptr<const HeldSnapshot> base_;  // null: the digests are not valid
  Leaves leaves_;
  Tombstones tombstones_{kLeafCount};
  LeafQuarantined quarantined_;
  Clock::time_point base_time_;
  Clock::time_point asked_time_ = Clock::now();
  std::atomic<uint64_t> tombstones_held_{0};
  std::atomic<bool> counted_{false};
  std::atomic<uint64_t> quarantined_now_{0};
  std::atomic<uint64_t> rescans_{0};
  std::atomic<uint64_t> entries_read_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_LEAF_DIGESTS_H_
