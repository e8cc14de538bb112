#include "replication/store/write/indexed_db.h"

#include <algorithm>
#include <utility>

#include "replication/base/forked.h"
#include "replication/session/acceptance.h"
#include "replication/store/write/write_stall.h"
#include "rocksdb/env.h"
#include "rocksync/limits.h"

namespace rocksync {

using rocksdb::Status;

IndexedDB::IndexedDB(const ReplicatedDBOptions& options, Parts parts,
                     LeafDigests::CheckIndexed check_indexed)
    : options_(options),
      hasher_(std::move(parts.hasher)),
      memtable_(std::move(parts.memtable)),
      identity_(std::move(parts.identity)),
      past_(std::move(parts.past)),
      counted_(parts.db, std::move(parts.log)),
      reader_(&counted_, parts.index, hasher_.get(), identity_.home_id),
      patient_(&counted_, parts.index),
      first_clock_(parts.lease),
      clock_(parts.lease),
      lease_(&counted_, parts.index, parts.lease, &clock_),
      digests_(&reader_, &locks_, std::move(check_indexed)),
      space_(
          &counted_, [this](const auto& visit) { ForEachHandle(visit); },
          std::move(parts.directories), options.min_free_bytes) {}

void IndexedDB::ForEachHandle(
    const std::function<void(rocksdb::ColumnFamilyHandle*)>& visit) const {
  visit(reader_.index());
  const FamiliesInUse now = families();
  for (const auto* list : {&now->families(), &now->others()}) {
    for (const Family& family : *list) visit(family.handle());
  }
}

ReplicaIdentity IndexedDB::identity() const {
  return {identity_.replica_id, identity_.incarnation};
}

Incarnation IndexedDB::incarnation() const {
  return {{identity_.incarnation, identity_.incarnation_random},
          first_clock_,
          std::min(clock_.Last(), lease_.until()),
          past_};
}

uint64_t IndexedDB::WallMs() const {
  return db()->GetEnv()->NowMicros() / 1000;
}

uint64_t IndexedDB::Trusted(uint64_t reading) const {
  return rocksync::Trusted(reading, WallMs(), options_.max_clock_ahead_ms);
}

Status IndexedDB::DrawVersion(uint64_t wall_ms, Version* version,
                              const std::function<bool()>& gives_up) {
  version->time = clock_.Next(wall_ms);
  version->replica = identity_.replica_id;
  if (!gives_up) return lease_.Cover(version->time);
  const Status status = WaitOutStall(
      [&] { return lease_.Cover(version->time, /*may_wait=*/false); },
      gives_up);
  return status.IsIncomplete() ? NoSlowdownError() : status;
}

Status IndexedDB::FollowClock(uint64_t reading) {
  clock_.Observe(reading);
  return lease_.Cover(reading, /*may_wait=*/false);
}

Status IndexedDB::FollowPastClock(uint64_t reading) {
  return reading >> 16 < WallMs() ? FollowClock(reading) : Status::OK();
}

void IndexedDB::PutEntry(rocksdb::WriteBatch* batch, const IndexKey& key,
                         const StoredEntry& entry) {
  // No peer could have got such a pair from here, nor can its tombstone be
  // sent: it would only keep two replicas from being equal.
  if (entry.tombstone && key.key.size() > kMaxKeyBytes) {
    RemoveEntry(batch, key);
    return;
  }
  AppendEntryTo(batch, key, entry);
  digests_.Note(key.position);
}

void IndexedDB::AppendEntryTo(rocksdb::WriteBatch* batch, const IndexKey& key,
                              const StoredEntry& entry) const {
  thread_local std::string index_key;
  thread_local std::string index_value;
  index_key.clear();
  index_value.clear();
  AppendIndexKey(&index_key, key);
  AppendEntry(&index_value, entry, identity_.home_id);
  batch->Put(reader_.index(), index_key, index_value).PermitUncheckedError();
}

void IndexedDB::RemoveEntry(rocksdb::WriteBatch* batch, const IndexKey& key) {
  std::string index_key;
  AppendIndexKey(&index_key, key);
  batch->Delete(reader_.index(), index_key).PermitUncheckedError();
  digests_.Note(key.position);
}

Status IndexedDB::CheckOpen() const {
  // Checked before any lock is taken, which a thread of the parent may have
  // held.
  const Status here = CheckMayWriteHere();
  if (!here.ok()) return here;
  return closed_ ? Status::ShutdownInProgress(
                       "rocksync: the database is closed", db()->GetName())
                 : Status::OK();
}

}  // namespace rocksync
