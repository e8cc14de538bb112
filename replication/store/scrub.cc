#include "replication/store/scrub.h"

#include <memory>

#include "replication/store/store.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t kChunkPairs = 128;
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

constexpr uint8_t kStepFamilies = 0;
constexpr uint8_t kStepIndex = 1;

rocksdb::ReadOptions Sequential() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.total_order_seek = true;
  return options;
}

rocksdb::ReadOptions Uncached() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

// RocksDB's sequence number of the newest record of a key; 0: not known any
// more, or there is none.
Status NewestSequence(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                      const Slice& key, uint64_t* sequence) {
  *sequence = 0;
  std::vector<rocksdb::KeyVersion> versions;
  const Status status =
      rocksdb::GetAllKeyVersions(db, family, key, key, 1, &versions);
  if (status.ok() && !versions.empty()) {
    *sequence = versions.front().sequence;
  }
  return status;
}

}  // namespace

Scrub::Scrub(Store* store) : store_(store) {}

Status Scrub::Load() {
  std::string bytes;
  const Status status =
      store_->db()->Get(rocksdb::ReadOptions(), store_->reader().index(),
                        MetaKey(kScrubRecord), &bytes);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.IsNotFound() || !Decode(bytes, &record_)) {
    // A fresh index is taken as just scrubbed.
    record_ = {};
    record_.finished_ms = store_->WallMs();
    finished_ms_ = record_.finished_ms;
    return Record();
  }
  running_ = record_.running;
  pairs_ = record_.pairs;
  finished_ms_ = record_.finished_ms;
  return status;
}

Scrub::Progress Scrub::progress() const {
  return {running_, pairs_, finished_ms_, rot_found_};
}

Status Scrub::Record() {
  chunks_ = 0;
  return store_->db()->Put(rocksdb::WriteOptions(), store_->reader().index(),
                           MetaKey(kScrubRecord), Encode(record_));
}

Status Scrub::Begin() {
  record_.running = true;
  record_.step = kStepFamilies;
  record_.family_id = 0;
  record_.cursor.clear();
  record_.pairs = 0;
  pairs_ = 0;
  running_ = true;
  return Record();
}

Status Scrub::Step(uint64_t* bytes, bool* finished) {
  *bytes = 0;
  *finished = false;
  Status status;
  if (!record_.running) status = Begin();
  if (!status.ok()) return status;
  status =
      record_.step == kStepFamilies ? StepFamilies(bytes) : StepIndex(bytes);
  if (!status.ok()) return status;
  pairs_ = record_.pairs;
  if (record_.step > kStepIndex) {
    record_.running = false;
    record_.step = kStepFamilies;
    record_.cursor.clear();
    record_.finished_ms = store_->WallMs();
    finished_ms_ = record_.finished_ms;
    running_ = false;
    *finished = true;
    return Record();
  }
  return ++chunks_ >= kRecordEvery ? Record() : status;
}

const Family* Scrub::FamilyFrom(uint32_t id) const {
  const Family* next = nullptr;
  for (const Family& family : store_->table().families()) {
    if (family.id >= id && (next == nullptr || family.id < next->id)) {
      next = &family;
    }
  }
  return next;
}

Status Scrub::StepFamilies(uint64_t* bytes) {
  const Family* const family = FamilyFrom(record_.family_id);
  if (family == nullptr) {
    record_.step = kStepIndex;
    record_.cursor.clear();
    return Status::OK();
  }
  if (family->id != record_.family_id) record_.cursor.clear();
  const std::unique_ptr<rocksdb::Iterator> pair(
      store_->db()->NewIterator(Sequential(), family->handle()));
  if (record_.cursor.empty()) {
    pair->SeekToFirst();
  } else {
    pair->Seek(record_.cursor);
    if (pair->Valid() && pair->key() == Slice(record_.cursor)) pair->Next();
  }
  std::string cursor = record_.cursor;
  size_t read = 0;
  for (; pair->Valid() && read < kChunkPairs && *bytes < kChunkBytes;
       pair->Next(), ++read) {
    cursor = pair->key().ToString();
    *bytes += pair->key().size() + pair->value().size();
    if (Agrees(*family, cursor, pair->value())) continue;
    const Status status = Judge(*family, cursor);
    if (!status.ok()) return status;
  }
  record_.pairs += read;
  record_.family_id = family->id;
  record_.cursor = std::move(cursor);
  if (pair->Valid()) return Status::OK();
  if (!pair->status().ok() && !pair->status().IsCorruption()) {
    return pair->status();
  }
  if (pair->status().IsCorruption()) {
    // What follows here is found by way of the index.
    rocksdb::Warn(store_->db()->GetDBOptions().info_log,
                  "rocksync: family %s does not read on: %s",
                  family->name.c_str(), pair->status().ToString().c_str());
  }
  record_.family_id = family->id + 1;
  record_.cursor.clear();
  return Status::OK();
}

Status Scrub::StepIndex(uint64_t* bytes) {
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().horizon(),
                     IndexCursor::Order::kTotal);
  if (record_.cursor.empty()) {
    cursor.SeekToFirstEntry();
  } else {
    cursor.SeekKey(record_.cursor);
  }
  for (size_t read = 0;
       cursor.Valid() && read < kChunkPairs && *bytes < kChunkBytes;
       cursor.Next(), ++read) {
    *bytes += cursor.index_key().size();
    if (cursor.family() != nullptr && cursor.entry().suspect) {
      store_->NoteSuspect();
    }
    if (!cursor.Counts() || cursor.entry().tombstone) continue;
    const Family& family = *cursor.family();
    const std::string key(cursor.key().key);
    rocksdb::PinnableSlice value;
    Status status = store_->db()->Get(Uncached(), family.handle(), key, &value);
    *bytes += value.size();
    if (status.ok() && Agrees(family, key, value)) continue;
    status = Judge(family, key);
    if (!status.ok()) return status;
  }
  if (!cursor.Valid() && !cursor.status().ok()) return cursor.status();
  record_.cursor = cursor.Valid() ? std::string(cursor.index_key()) : "";
  if (!cursor.Valid()) ++record_.step;
  return Status::OK();
}

bool Scrub::Agrees(const Family& family, std::string_view key,
                   const Slice& value) {
  const ElementHasher& hasher = store_->reader().hasher();
  StoredEntry entry;
  if (!store_->reader()
           .Get({hasher.Position(family.name, key), family.id, key}, &entry)
           .ok()) {
    return false;
  }
  if (entry.suspect) return true;  // known
  if (entry.tombstone) return false;
  const ValueHash hash = HashValue(value.ToStringView());
  if (entry.pending) {
    return hash.high == entry.hash_high && hash.low == entry.hash_low;
  }
  return hasher.HashPair(family.name, key, entry.version, hash) ==
         ElementHash{entry.hash_high, entry.hash_low};
}

Status Scrub::Judge(const Family& family, const std::string& key) {
  const ElementHasher& hasher = store_->reader().hasher();
  const IndexKey index_key{hasher.Position(family.name, key), family.id, key};
  StripeGuard guard(store_->locks(), StripeOf(index_key.position));
  StoredEntry entry;
  Status status = store_->reader().Get(index_key, &entry);
  if (!status.ok() && !status.IsNotFound()) return status;
  const bool known = status.ok();
  if (known && entry.suspect) return Status::OK();
  rocksdb::PinnableSlice value;
  status = store_->db()->Get(Uncached(), family.handle(), key, &value);
  // A value that does not read is as bad as a wrong one.
  const bool there = !status.IsNotFound();
  const bool reads = status.ok();
  if (!known && !there) return Status::OK();
  if (known && entry.tombstone && !there) return Status::OK();
  if (known && !entry.tombstone && reads && Agrees(family, key, value)) {
    return Status::OK();
  }
  rocksdb::WriteBatch batch;
  const ValueHash hash = reads ? HashValue(value.ToStringView()) : ValueHash{};
  if (known && entry.tombstone) {
    status = JudgeTombstone(family, key, index_key, entry, hash, &batch);
    if (!status.ok()) return status;
  } else {
    if (!known) {
      entry = {};
      entry.pending = true;
      entry.hash_high = hash.high;
      entry.hash_low = hash.low;
    }
    entry.suspect = true;  // what an entry said stays in it, for people
    store_->PutEntry(&batch, index_key, entry);
    store_->CountSuspect();
  }
  ++rot_found_;
  rocksdb::Warn(store_->db()->GetDBOptions().info_log,
                "rocksync: rot: key %s of family %s %s",
                Slice(key).ToString(true).c_str(), family.name.c_str(),
                !known            ? "has no index entry"
                : entry.tombstone ? "is deleted, but there"
                : there && !reads ? "does not read"
                : there           ? "does not match its index entry"
                                  : "is not there, its index entry is");
  store_->digests()->Note(index_key.position);
  return store_->db()->Write(rocksdb::WriteOptions(), &batch);
}

Status Scrub::JudgeTombstone(const Family& family, const std::string& key,
                             const IndexKey& index_key,
                             const StoredEntry& entry, ValueHash value,
                             rocksdb::WriteBatch* batch) {
  std::string bytes;
  AppendIndexKey(&bytes, index_key);
  uint64_t written = 0;
  uint64_t deleted = 0;
  Status status = NewestSequence(store_->db(), family.handle(), key, &written);
  if (status.ok()) {
    status =
        NewestSequence(store_->db(), store_->reader().index(), bytes, &deleted);
  }
  if (!status.ok()) return status;
  StoredEntry judged = entry;
  if (written > deleted) {
    judged = {};
    judged.suspect = true;
    judged.pending = true;
    judged.hash_high = value.high;
    judged.hash_low = value.low;
    store_->CountSuspect();
  } else {
    status = batch->Delete(family.handle(), key);
  }
  if (status.ok()) store_->PutEntry(batch, index_key, judged);
  return status;
}

Status Scrub::SettleSuspects(const std::function<bool()>& cancelled,
                             uint64_t* settled) {
  *settled = 0;
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().horizon(),
                     IndexCursor::Order::kTotal);
  for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
    if (cancelled && cancelled()) return Status::Aborted("stopped");
    if (cursor.family() == nullptr || !cursor.entry().suspect) continue;
    bool done = false;
    const Status status =
        Settle(*cursor.family(), std::string(cursor.key().key), &done);
    if (!status.ok()) return status;
    if (done) ++*settled;
  }
  return cursor.status();
}

Status Scrub::Settle(const Family& family, const std::string& key,
                     bool* settled) {
  const IndexKey index_key{store_->reader().hasher().Position(family.name, key),
                           family.id, key};
  StripeGuard guard(store_->locks(), StripeOf(index_key.position));
  StoredEntry entry;
  Status status = store_->reader().Get(index_key, &entry);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.IsNotFound() || !entry.suspect) return Status::OK();
  rocksdb::PinnableSlice value;
  status = store_->db()->Get(Uncached(), family.handle(), key, &value);
  rocksdb::WriteBatch batch;
  if (status.ok()) {
    const std::string_view view = value.ToStringView();
    store_->PutEntry(&batch, index_key, PendingEntry({}, &view));
  } else if (status.IsNotFound()) {
    std::string bytes;
    AppendIndexKey(&bytes, index_key);
    status = batch.Delete(store_->reader().index(), bytes);
    if (!status.ok()) return status;
  } else {
    return Status::OK();  // it does not read; it stays suspect
  }
  store_->digests()->Note(index_key.position);
  *settled = true;
  return store_->db()->Write(rocksdb::WriteOptions(), &batch);
}

}  // namespace rocksync
