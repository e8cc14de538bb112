#include "replication/store/adoption.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "replication/store/store.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t kChunkPairs = 128;
// An iterator pins what it reads; it is renewed this often.
constexpr uint64_t kPairsPerIterator = 100000;
constexpr auto kRetry = std::chrono::seconds(1);
constexpr auto kUpkeep = std::chrono::seconds(15);

constexpr uint8_t kStepPurge = 0;
constexpr uint8_t kStepFamilies = 1;
constexpr uint8_t kStepIndex = 2;

}  // namespace

Adoption::Adoption(Store* store, WorkRecord work)
    : store_(store), work_(std::move(work)) {}

Adoption::~Adoption() { Stop(); }

void Adoption::Start() {
  {
    std::lock_guard lock(mutex_);
    pending_ = work_.purge || work_.index_pass;
    for (const FamilyRecord& family : store_->family_records()) {
      pending_ = pending_ || family.work != 0;
    }
    if (pending_) estimate_ = EstimatePairs();
  }
  thread_ = std::thread([this] { Run(); });
}

void Adoption::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Status Adoption::RequestPurge() {
  std::lock_guard lock(mutex_);
  work_.purge = true;
  work_.step = kStepPurge;
  work_.cursor.clear();
  pending_ = true;
  estimate_ = EstimatePairs();
  changed_.notify_all();
  return store_->db()->Put(rocksdb::WriteOptions(), store_->reader().index(),
                           MetaKey(kWorkRecord), Encode(work_));
}

WorkRecord Adoption::Current() const {
  std::lock_guard lock(mutex_);
  return work_;
}

AdoptionProgress Adoption::Progress() const {
  std::lock_guard lock(mutex_);
  AdoptionProgress progress;
  progress.pairs_read = pairs_read_;
  progress.status = last_error_;
  progress.done = !pending_;
  if (progress.done) return progress;
  progress.activity = "adopting";
  if (work_.index_pass) progress.activity = "re-checking";
  if (work_.purge) progress.activity = "purging";
  const uint64_t total = std::max<uint64_t>(estimate_, 1);
  // Only what is done may say 100.
  progress.percent =
      std::min(99.0, 100.0 * static_cast<double>(work_.pairs_read) /
                         static_cast<double>(total));
  return progress;
}

Status Adoption::Wait(uint64_t timeout_ms) const {
  std::unique_lock lock(mutex_);
  const bool done =
      changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return !pending_ || stop_; });
  if (done && !pending_) return Status::OK();
  return Status::Incomplete("rocksync: the database is still being read",
                            last_error_.ToString());
}

uint64_t Adoption::EstimatePairs() const {
  uint64_t total = 0;
  const auto add = [&](rocksdb::ColumnFamilyHandle* handle) {
    uint64_t keys = 0;
    if (store_->db()->GetIntProperty(
            handle, rocksdb::DB::Properties::kEstimateNumKeys, &keys)) {
      total += keys;
    }
  };
  const std::vector<FamilyRecord> records = store_->family_records();
  for (const FamilyRecord& record : records) {
    const Family* family = store_->table().Find(record.id);
    if (record.work != 0 && family != nullptr) add(family->handle());
  }
  if (work_.purge) add(store_->reader().index());
  if (work_.index_pass) add(store_->reader().index());
  return total;
}

void Adoption::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!pending_) {
      changed_.wait_for(lock, kUpkeep, [this] { return stop_ || pending_; });
      if (stop_ || pending_) continue;
      lock.unlock();
      store_->digests()->RenewOldBase([this] { return stop_.load(); });
      lock.lock();
      continue;
    }
    lock.unlock();
    const Status status = Work();
    lock.lock();
    last_error_ = status;
    changed_.notify_all();
    if (!status.ok() && !stop_) {
      changed_.wait_for(lock, kRetry, [this] { return stop_.load(); });
    }
  }
}

// OK: done, or stopped.
Status Adoption::Work() {
  Status status;
  if (Current().purge) status = Purge();
  for (const FamilyRecord& record : store_->family_records()) {
    if (!status.ok() || stop_) return status;
    const Family* family = store_->table().Find(record.id);
    if (record.work == 0 || family == nullptr) continue;
    status = ReadFamily(*family, record.work);
  }
  if (status.ok() && !stop_ && Current().index_pass) status = CheckIndex();
  if (status.ok() && !stop_) status = Finish();
  return status;
}

Status Adoption::Commit(rocksdb::WriteBatch* batch) {
  Status status = batch->Put(store_->reader().index(), MetaKey(kWorkRecord),
                             Encode(Current()));
  if (!status.ok()) return status;
  return store_->db()->Write(rocksdb::WriteOptions(), batch);
}

Status Adoption::Purge() {
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().horizon(),
                     IndexCursor::Order::kTotal);
  const WorkRecord work = Current();
  const std::string from = work.step == kStepPurge ? work.cursor : "";
  if (from.empty()) {
    cursor.SeekToFirstEntry();
  } else {
    cursor.SeekKey(from);
  }
  Status status;
  while (cursor.Valid() && !stop_ && status.ok()) {
    rocksdb::WriteBatch batch;
    uint64_t read = 0;
    for (; cursor.Valid() && read < 32 * kChunkPairs; cursor.Next(), ++read) {
      if (cursor.family() == nullptr) {
        status = batch.Delete(store_->reader().index(), cursor.index_key());
      }
    }
    {
      std::lock_guard lock(mutex_);
      work_.step = kStepPurge;
      work_.cursor = cursor.Valid() ? std::string(cursor.index_key()) : "";
      work_.pairs_read += read;
    }
    if (status.ok()) status = Commit(&batch);
  }
  if (!status.ok() || stop_) return status;
  if (!cursor.status().ok()) return cursor.status();
  std::lock_guard lock(mutex_);
  work_.purge = false;
  work_.step = kStepFamilies;
  work_.family_id = 0;
  work_.cursor.clear();
  return status;
}

Status Adoption::ReadFamily(const Family& family, uint8_t work) {
  const WorkRecord progress = Current();
  std::string from = progress.cursor;
  bool resumed = progress.step == kStepFamilies &&
                 progress.family_id == family.id && !from.empty();
  while (!stop_) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> iterator(
        store_->db()->NewIterator(options, family.handle()));
    if (resumed) {
      iterator->Seek(from);
      if (iterator->Valid() && iterator->key() == Slice(from)) iterator->Next();
    } else {
      iterator->SeekToFirst();
    }
    uint64_t read = 0;
    while (iterator->Valid() && read < kPairsPerIterator && !stop_) {
      std::vector<Candidate> candidates;
      for (; iterator->Valid() && candidates.size() < kChunkPairs;
           iterator->Next()) {
        candidates.push_back({iterator->key().ToString(),
                              store_->reader().hasher().Position(
                                  family.name, iterator->key().ToStringView()),
                              HashValue(iterator->value().ToStringView())});
      }
      read += candidates.size();
      from = candidates.back().key;
      resumed = true;
      const Status status = JudgePairs(family, work, candidates);
      if (!status.ok()) return status;
    }
    if (!iterator->status().ok()) return iterator->status();
    if (!iterator->Valid())
      return stop_ ? Status::OK() : FinishFamily(family.id);
  }
  return Status::OK();
}

Status Adoption::JudgePairs(const Family& family, uint8_t work,
                            const std::vector<Candidate>& candidates) {
  StripeSet stripes;
  for (const Candidate& candidate : candidates) {
    stripes.Add(StripeOf(candidate.position));
  }
  StripeSetGuard guard(store_->locks(), stripes);
  rocksdb::WriteBatch batch;
  for (const Candidate& candidate : candidates) {
    const Status status = JudgePair(family, work, candidate, &batch);
    if (!status.ok()) return status;
  }
  {
    std::lock_guard lock(mutex_);
    work_.step = kStepFamilies;
    work_.family_id = family.id;
    work_.cursor = candidates.back().key;
    work_.pairs_read += candidates.size();
    pairs_read_ += candidates.size();
  }
  return Commit(&batch);
}

Status Adoption::JudgePair(const Family& family, uint8_t work,
                           const Candidate& candidate,
                           rocksdb::WriteBatch* batch) {
  const IndexKey key{candidate.position, family.id, candidate.key};
  StoredEntry entry;
  Status status = store_->reader().Get(key, &entry);
  if (!status.ok() && !status.IsNotFound()) return status;
  const bool known = status.ok();
  ValueHash value = candidate.value;
  if (known) {
    // An adoption alone need not compare: who wrote the entry wrote the pair.
    if ((work & kFamilyChecking) == 0) return Status::OK();
    rocksdb::PinnableSlice current;
    status = store_->db()->Get(rocksdb::ReadOptions(), family.handle(),
                               candidate.key, &current);
    if (status.IsNotFound()) return Status::OK();  // the index pass judges it
    if (!status.ok()) return status;
    value = HashValue(current.ToStringView());
    const StoredEntry found{entry.version, false,      false,
                            true,          value.high, value.low};
    const ElementHasher& hasher = store_->reader().hasher();
    if (!entry.tombstone && !entry.suspect &&
        CompleteHash(hasher, family.name, candidate.key, found) ==
            CompleteHash(hasher, family.name, candidate.key, entry)) {
      return Status::OK();
    }
  }
  StoredEntry judged;
  judged.pending = true;
  judged.hash_high = value.high;
  judged.hash_low = value.low;
  bool foreign = false;
  if ((work & kFamilyChecking) != 0) {
    status = ForeignWrite(family, candidate.key, &foreign);
    if (!status.ok()) return status;
  }
  if (foreign) {
    status = store_->DrawVersion(&judged.version);
    if (!status.ok()) return status;
  } else if (known || (work & kFamilyAdopting) == 0) {
    if (known && entry.suspect) return Status::OK();
    judged.suspect = true;
    // What the entry said stays in it, for people who look.
    if (known) judged.version = entry.version;
    store_->CountSuspect();
  }
  store_->PutEntry(batch, key, judged);
  store_->digests()->Note(candidate.position);
  return Status::OK();
}

Status Adoption::ForeignWrite(const Family& family, const std::string& key,
                              bool* foreign) const {
  *foreign = false;
  std::vector<rocksdb::KeyVersion> versions;
  const Status status = rocksdb::GetAllKeyVersions(
      store_->db(), family.handle(), key, key, 1, &versions);
  if (status.ok() && !versions.empty()) {
    *foreign = versions.front().sequence > Current().sealed_sequence;
  }
  return status;
}

Status Adoption::CheckIndex() {
  const WorkRecord work = Current();
  const std::string from = work.step == kStepIndex ? work.cursor : "";
  IndexCursor cursor(store_->reader(), nullptr, store_->reader().horizon(),
                     IndexCursor::Order::kTotal);
  if (from.empty()) {
    cursor.SeekToFirstEntry();
  } else {
    cursor.SeekKey(from);
  }
  Status status;
  while (cursor.Valid() && !stop_ && status.ok()) {
    struct Live {
      const Family* family;
      uint64_t position;
      std::string key;
    };
    std::vector<Live> live;
    StripeSet stripes;
    uint64_t read = 0;
    for (; cursor.Valid() && read < kChunkPairs; cursor.Next(), ++read) {
      if (!cursor.Counts() || cursor.entry().tombstone) continue;
      live.push_back({cursor.family(), cursor.key().position,
                      std::string(cursor.key().key)});
      stripes.Add(StripeOf(cursor.key().position));
    }
    StripeSetGuard guard(store_->locks(), stripes);
    rocksdb::WriteBatch batch;
    for (const Live& entry : live) {
      status = JudgeEntry(
          *entry.family, {entry.position, entry.family->id, entry.key}, &batch);
      if (!status.ok()) return status;
    }
    {
      std::lock_guard lock(mutex_);
      work_.step = kStepIndex;
      work_.cursor = cursor.Valid() ? std::string(cursor.index_key()) : "";
      work_.pairs_read += read;
      pairs_read_ += read;
    }
    status = Commit(&batch);
  }
  return status.ok() ? cursor.status() : status;
}

Status Adoption::JudgeEntry(const Family& family, const IndexKey& key,
                            rocksdb::WriteBatch* batch) {
  rocksdb::PinnableSlice value;
  const Slice pair_key(key.key.data(), key.key.size());
  Status status = store_->db()->Get(rocksdb::ReadOptions(), family.handle(),
                                    pair_key, &value);
  if (status.ok()) return status;  // judged with its data
  if (!status.IsNotFound()) return status;
  StoredEntry entry;
  status = store_->reader().Get(key, &entry);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (entry.tombstone || entry.suspect) return Status::OK();
  bool foreign = false;
  status = ForeignWrite(family, std::string(key.key), &foreign);
  if (!status.ok()) return status;
  if (foreign) {
    entry = PendingEntry({}, nullptr);
    status = store_->DrawVersion(&entry.version);
    if (!status.ok()) return status;
  } else {
    entry.suspect = true;
    store_->CountSuspect();
  }
  store_->PutEntry(batch, key, entry);
  store_->digests()->Note(key.position);
  return Status::OK();
}

Status Adoption::FinishFamily(uint32_t family_id) {
  {
    std::lock_guard lock(mutex_);
    work_.cursor.clear();
    work_.family_id = 0;
  }
  return store_->FamilyIsRead(family_id);
}

Status Adoption::Finish() {
  std::lock_guard lock(mutex_);
  if (work_.purge) return Status::OK();  // asked for meanwhile
  rocksdb::WriteBatch batch;
  Status status = batch.Delete(store_->reader().index(), MetaKey(kWorkRecord));
  if (status.ok()) {
    status = store_->db()->Write(rocksdb::WriteOptions(), &batch);
  }
  if (status.ok()) {
    work_ = {};
    pending_ = false;
  }
  return status;
}

}  // namespace rocksync
