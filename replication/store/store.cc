#include "replication/store/store.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "replication/base/forked.h"
#include "replication/base/status.h"
#include "replication/store/format/current_manifest.h"
#include "replication/store/format/dropped_batches.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/leaf_records.h"
#include "replication/store/open/files_left.h"
#include "replication/store/open/seal.h"
#include "replication/store/upkeep/pair_check.h"
#include "replication/store/write/callback_scope.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

// An iterator over the log that counts as held: it reads what the database
// owns.
class HeldLog : public rocksdb::TransactionLogIterator {
 public:
  HeldLog(std::unique_ptr<rocksdb::TransactionLogIterator> log,
          std::atomic<uint64_t>* held)
      : log_(std::move(log)), held_(held) {
    held_->fetch_add(1, std::memory_order_relaxed);
  }
  ~HeldLog() override {
    log_.reset();
    // A thread that sees that it is gone may close the database.
    held_->fetch_sub(1, std::memory_order_release);
  }
  bool Valid() override { return log_->Valid(); }
  void Next() override { log_->Next(); }
  rocksdb::Status status() override { return log_->status(); }
  rocksdb::BatchResult GetBatch() override { return log_->GetBatch(); }

 private:
  std::unique_ptr<rocksdb::TransactionLogIterator> log_;
  std::atomic<uint64_t>* const held_;
};

using rocksdb::Status;

constexpr std::chrono::seconds kClosingPatience{10};

// The least time that the number is kept, so that monitoring has seen it.
constexpr uint64_t kDroppedBatchesShownMs = 3'600'000;

// Adds the digests to `batch`, so that the next opening need not compute them.
// Adds nothing if they would have to be computed here.
Status AddDigests(bool all_is_read, LeafDigests* digests,
                  rocksdb::ColumnFamilyHandle* index,
                  rocksdb::WriteBatch* batch, bool* sealed) {
  *sealed = false;
  LeafDigests::DigestSnapshot readied;
  if (all_is_read && digests->UpToDate() &&
      !digests->Ready({}, &readied).ok()) {
    readied.leaves = nullptr;
  }
  if (readied.leaves == nullptr) return Status::OK();
  *sealed = true;
  Status status;
  const auto put = [&](const std::string& key, const std::string& value) {
    if (status.ok()) status = batch->Put(index, key, value);
  };
  constexpr size_t kPerChunk = kLeafCount / kDigestChunks;
  const LeafDigests::Tombstones tombstones = digests->LeafTombstonesNow();
  for (uint32_t chunk = 0; chunk < kDigestChunks; ++chunk) {
    put(DigestKey(chunk),
        EncodeDigests(readied.leaves->data() + chunk * kPerChunk, kPerChunk));
    put(TombstonesKey(chunk),
        EncodeTombstones(tombstones.data() + chunk * kPerChunk, kPerChunk));
  }
  put(MetaKey(kQuarantinedRecord), Encode(digests->LeafQuarantinedNow()));
  return status;
}

}  // namespace

Store::Store(const ReplicatedDBOptions& options, Opened opened)
    : indexed_(options, std::move(opened.indexed),
               [this](const std::function<bool()>& cancelled) {
                 return foreign_writes_.Look(cancelled) ==
                                ForeignWrites::Finding::kNone
                            ? absl::OkStatus()
                            : InProgress(index_build_.Progress());
               }),
      foreign_writes_(indexed_.counted(), std::move(opened.files)),
      families_(&indexed_, std::move(opened.families),
                std::move(opened.other_families),
                std::move(opened.family_records), std::move(opened.completion)),
      writer_(&indexed_, &families_),
      key_update_(&indexed_, &families_, &writer_),
      range_deleter_(&indexed_, &families_, &writer_),
      quarantine_(&indexed_),
      held_back_(&indexed_),
      index_build_(&indexed_, &families_, &foreign_writes_, &quarantine_,
                   std::move(opened.work), std::move(opened.foreign)),
      sweep_(&indexed_, opened.swept),
      membership_(&indexed_, &index_build_, &held_back_, opened.gc,
                  [this] { sweep_.Wake(); }),
      peers_(&indexed_, std::move(opened.place)),
      applier_(&indexed_, &index_build_, &membership_, &quarantine_,
               &held_back_),
      log_batches_dropped_(opened.log_batches_dropped),
      opened_ms_(indexed_.WallMs()),
      marker_(std::move(opened.marker)),
      directory_(std::move(opened.claim)) {
  indexed_.SetStableTime(opened.gc.stable_time);
  if (opened.leaves != nullptr) {
    indexed_.digests()->Trust(std::move(*opened.leaves),
                              std::move(opened.tombstones),
                              std::move(opened.quarantined));
  }
}

void Store::Start(Timers timers) {
  if (timers == Timers::kThreads) indexed_.lease()->Start();
  files()->Start(&indexed_.reader(), indexed_.counted(), [this] {
    // This runs in a call from RocksDB: a thread that holds a lock may wait for
    // it.
    index_build_.NoticeForeignWrites();
  });
  index_build_.Start();
  if (timers == Timers::kThreads) sweep_.Start();
}

Status Store::DropFamily(rocksdb::ColumnFamilyHandle* handle) {
  const Status status =
      indexed_.space()->Check(indexed_.WallMs(), 0, /*deletes=*/true);
  if (!status.ok()) return status;
  return families_.Drop(handle, [this](const std::vector<FamilyRecord>& left) {
    return index_build_.RequestPurge(left);
  });
}

absl::Status Store::TakeSnapshot(const std::function<bool()>& cancelled,
                                 LeafDigests::DigestSnapshot* readied) {
  const uint64_t checks = index_build_.generation();
  const uint64_t drops = families_.drops();
  const IndexBuildProgress progress = index_build_.Progress();
  if (!progress.done) return InProgress(progress);
  const absl::Status status = indexed_.digests()->Ready(cancelled, readied);
  if (absl::IsUnavailable(status)) {
    index_build_.NoticeForeignWrites();
  }
  if (status.ok() && index_build_.generation() != checks) {
    return InProgress(index_build_.Progress());
  }
  // The digests count what a dropped family held until that is subtracted, too.
  if (status.ok() && (drops % 2 != 0 || families_.drops() != drops)) {
    return absl::UnavailableError(
        "a column family is being dropped on this replica");
  }
  // Pairs that were quarantined before this opening are to be resolved like
  // others, and not only after a scrub. Recorded once: what cannot be read
  // stays quarantined.
  if (status.ok() && readied->quarantined > 0 && !quarantine_.any_seen()) {
    quarantine_.RecordSeen();
  }
  return status;
}

void Store::Reexamine(const std::string& index_key) {
  IndexKey key;
  const FamiliesInUse families = indexed_.families();
  const Family* family = nullptr;
  if (ParseIndexKey(index_key, &key)) family = families->Find(key.family_id);
  PairCheck check(&indexed_, &quarantine_, &index_build_);
  PairCheck::Finding finding = PairCheck::Finding::kFine;
  // What cannot be checked now is checked by the next session, or by a scrub.
  const Status status =
      family != nullptr &&
              indexed_.hasher().Position(family->name, key.key) == key.position
          ? check.Check(*family, std::string(key.key), &finding)
          : check.CheckStray(index_key, &finding);
  status.PermitUncheckedError();
}

void Store::DistrustDigests() {
  ++wrong_digests_;
  indexed_.digests()->Distrust();
  rocksdb::Warn(
      indexed_.db()->GetDBOptions().info_log,
      "rocksync: the digests of leaves did not match the index entries; "
      "recomputing them");
}

TombstoneGcStats Store::tombstone_gc_stats() const {
  const GcState now = membership_.Now();
  TombstoneGcStats stats;
  stats.epoch = now.epoch;
  stats.stable_ms = now.stable_time >> 16;
  stats.may_hold_deleted_pairs = now.may_hold_deleted_pairs;
  stats.tombstones = indexed_.digests().tombstones();
  stats.removed = sweep_.removed();
  stats.sweeping = !sweep_.done();
  // Without sessions the tombstones are not counted for long, and there may be
  // some.
  if (stats.tombstones > 0 || !indexed_.digests().counted()) {
    stats.held_up_by =
        now.HeldUpBy(indexed_.replica_id(), indexed_.LastReading());
  }
  stats.identity_conflict = membership_.identity_conflict();
  for (const Member& member : now.members) {
    stats.members.push_back({member.replica_id, member.since,
                             member.summary >> 16, member.acknowledged >> 16});
  }
  return stats;
}

IndexStats Store::stats() const {
  IndexStats stats;
  const LeafDigests& digests = indexed_.digests();
  stats.quarantined_now = digests.quarantined();
  stats.digest_rescans = digests.rescans();
  stats.digest_entries_read = digests.entries_read();
  stats.wrong_digests = wrong_digests_;
  stats.foreign_writes = foreign_writes_.noticed();
  quarantine_.AddTo(&stats);
  held_back_.AddTo(&stats);
  return stats;
}

bool Store::FlushIndex() {
  const FamiliesInUse now = indexed_.families();
  std::vector<rocksdb::ColumnFamilyHandle*> families = {
      indexed_.reader().index()};
  // With a budget of memtables that may stall writes (write_buffer_budget.h),
  // no later flush would free what other families hold of it.
  if (indexed_.db()->GetDBOptions().atomic_flush) {
    for (const Family& family : now->families()) {
      families.push_back(family.handle());
    }
  }
  // Without this RocksDB would wait until the flush would slow no writer down,
  // which may be never: a family may stay at that limit with nothing to
  // compact.
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;
  return indexed_.db()->Flush(options, families).ok();
}

Status Store::Seal() {
  rocksdb::DB* const db = indexed_.db();
  rocksdb::ColumnFamilyHandle* const index = indexed_.reader().index();
  rocksdb::WriteBatch batch;
  bool sealed = false;
  Status status = AddDigests(index_build_.Progress().done, indexed_.digests(),
                             index, &batch, &sealed);
  AllStripesGuard all(indexed_.locks());
  // Synced, so that a failing disk is reported here, and not in a flush, which
  // RocksDB retries after a second.
  rocksdb::WriteOptions synced;
  synced.sync = true;
  // A stall may end while RocksDB still works in the background.
  if (status.ok()) {
    status = indexed_.patient()->Write(synced, &batch, kClosingPatience);
  }
  if (status.IsBusy()) return ClosedUnsealed();
  if (!status.ok()) return status;
  // The flush leaves the next opening next to nothing of the index to replay.
  // It comes before the seal, after which nothing is flushed.
  const bool flushed = FlushIndex();
  batch.Clear();
  status = batch.Put(index, MetaKey(kLeaseRecord),
                     EncodeLease(indexed_.LastReading() + 1));
  // The close gets its own mark (marker.h), so that an earlier state of this
  // opening that is put back later is recognised. Without room for the file the
  // old mark stays.
  const std::string mark = NewMark();
  Marker either = marker_;
  either.marks.push_back(mark);
  const bool marked = WriteMarker(db->GetEnv(), db->GetName(), either).ok();
  if (status.ok() && marked) {
    status = batch.Put(index, MetaKey(kMarkRecord), EncodeMark(mark));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  const FamiliesInUse now = indexed_.families();
  for (const Family& family : now->families()) {
    families.push_back(family.handle());
  }
  if (status.ok()) status = WriteSeal(db, index, families, sealed, &batch);
  if (!status.ok() || !marked) return status;
  marker_.marks = {mark};
  marker_.files = FilesLeft(db);
  marker_.index_in_tables = flushed;
  // If this fails, the marker goes on listing both marks.
  WriteMarker(db->GetEnv(), db->GetName(), marker_).PermitUncheckedError();
  return status;
}

void Store::Hold(rocksdb::Cleanable* iterator) {
  if (iterator == nullptr) return;
  iterators_held_.fetch_add(1, std::memory_order_relaxed);
  iterator->RegisterCleanup(
      [](void* held, void*) {
        // A thread that sees that it is gone may close the database.
        static_cast<std::atomic<uint64_t>*>(held)->fetch_sub(
            1, std::memory_order_release);
      },
      &iterators_held_, nullptr);
}

std::unique_ptr<rocksdb::TransactionLogIterator> Store::Hold(
    std::unique_ptr<rocksdb::TransactionLogIterator> iterator) {
  if (iterator == nullptr) return iterator;
  return std::make_unique<HeldLog>(std::move(iterator), &iterators_held_);
}

Status Store::CheckClosable(uint64_t iterators) const {
  if (InForkedChild()) {
    return Status::Aborted("rocksync: cannot close " +
                               indexed_.db()->GetName() +
                               " in a child of the process that opened it",
                           "close it there; a child may exec, or leave by "
                           "_exit");
  }
  if (const char* const callback = CallbackHere(&indexed_)) {
    return Status::Aborted("rocksync: cannot close " +
                               indexed_.db()->GetName() + " in " + callback,
                           "close it once that has returned");
  }
  if (claim_->held()) {
    return Status::Aborted("rocksync: cannot close " +
                               indexed_.db()->GetName() +
                               ": a replicator is running",
                           "stop the replicator, then close it");
  }
  if (iterators_held_.load(std::memory_order_acquire) > iterators) {
    return Status::Aborted("rocksync: cannot close " +
                               indexed_.db()->GetName() +
                               ": iterators are held",
                           "delete them, then close it");
  }
  if (indexed_.closed() || indexed_.counted().CountForeignSnapshots() == 0) {
    return Status::OK();
  }
  return Status::Aborted("rocksync: cannot close " + indexed_.db()->GetName() +
                             ": snapshots are held",
                         "release them, then close it");
}

// The record is kept for a while: a start that failed later has shown it to
// nobody.
void Store::ForgetWhatWasDropped() const {
  if (log_batches_dropped_ == 0 ||
      indexed_.WallMs() < opened_ms_ + kDroppedBatchesShownMs) {
    return;
  }
  rocksdb::DB* const db = indexed_.db();
  ForgetDroppedBatches(db->GetEnv(), db->GetName()).PermitUncheckedError();
}

Status Store::Close() {
  if (indexed_.closed()) return Status::OK();
  indexed_.SetClosed();
  indexed_.feeds()->Close();
  // Recorded, so that the next opening goes on with what has to be compared.
  const Status noticed = index_build_.RecheckForeignWrites(/*may_wait=*/true);
  files()->Stop();
  index_build_.Stop();
  sweep_.Stop();
  indexed_.lease()->Stop();  // the seal's is the last one written
  Status status = Seal();
  if (status.IsIncomplete()) {
    // See ClosedUnsealed. RocksDB closes even while it stalls writes; so does
    // this.
    rocksdb::Warn(indexed_.db()->GetDBOptions().info_log, "%s",
                  status.ToString().c_str());
    status = Status::OK();
  }
  if (status.ok()) status = noticed;
  if (status.ok()) ForgetWhatWasDropped();
  manifest_at_close_ =
      CurrentManifest(indexed_.db()->GetEnv(), indexed_.db()->GetName());
  indexed_.digests()->Invalidate();
  foreign_writes_.Close();
  families_.Close();
  const Status destroyed =
      indexed_.db()->DestroyColumnFamilyHandle(indexed_.reader().index());
  return status.ok() ? destroyed : status;
}

}  // namespace rocksync
