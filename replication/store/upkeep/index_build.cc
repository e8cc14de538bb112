#include "replication/store/upkeep/index_build.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "replication/store/format/rocksdb_version.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/upkeep/pair_check.h"
#include "rocksdb/comparator.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t kChunkPairs = 128;
// An iterator pins what it reads; it is renewed this often.
constexpr uint64_t kPairsPerIterator = 100000;
constexpr auto kRetry = std::chrono::seconds(1);
constexpr int kMostTries = 10;
constexpr uint64_t kMostLines = 100;  // of the log, on unreadable pairs
constexpr auto kUpkeep = std::chrono::seconds(15);
constexpr auto kLookForForeign = std::chrono::seconds(1);

constexpr uint8_t kStepPurge = 0;
constexpr uint8_t kStepFamilies = 1;
constexpr uint8_t kStepIndex = 2;

Status CompareAnew() {
  return Status::Aborted("rocksync: everything is to be compared anew");
}

// What RocksDB says of damage, and of a blob file that is not there.
bool IsDamage(const Status& status) {
  return status.IsCorruption() || status.IsPathNotFound();
}

// `error`, with the pairs that did not read and the remedy.
Status DataError(const Status& error, const Family& family,
                 const std::string& which, const std::string& remedy) {
  if (!error.IsCorruption() && !error.IsIOError()) return error;
  const std::string what = "rocksync: family " + family.name.substr(0, 40) +
                           " does not read " + which + ": " + remedy;
  return error.IsCorruption() ? Status::Corruption(what, error.ToString())
                              : Status::IOError(what, error.ToString());
}

std::string Shown(std::string_view key) {
  constexpr size_t kShown = 32;
  return "key 0x" +
         Slice(key.data(), std::min(key.size(), kShown)).ToString(true) +
         (key.size() > kShown ? "..." : "");
}

Status ValueError(const Status& error, const Family& family,
                  std::string_view key) {
  return DataError(error, family, "at " + Shown(key),
                   "write or delete that key, or restore the file");
}

// `from`: null for the beginning.
Status KeysError(const Status& error, const Family& family,
                 const std::string* from) {
  return DataError(
      error, family,
      from == nullptr ? "from its beginning" : "behind " + Shown(*from),
      "restore the file, or begin with an empty replica, which its peers fill");
}

// The first `most` keys behind `from` (`first`: from the beginning on, and
// `from` is none), deleted ones too. Reads no values.
Status KeysBehind(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                  const std::string& from, bool first, size_t most,
                  std::vector<std::string>* keys) {
  // One key may have many versions: of a snapshot, or in a memtable.
  for (size_t records = most;; records *= 4) {
    std::vector<rocksdb::KeyVersion> versions;
    const Slice begin(from);
    const Status status = KeyVersionsFrom(db, family, first ? nullptr : &begin,
                                          records, &versions);
    if (!status.ok()) return status;
    keys->clear();
    for (rocksdb::KeyVersion& version : versions) {
      if (!first && version.user_key == from) continue;
      if (!keys->empty() && version.user_key == keys->back()) continue;
      keys->push_back(std::move(version.user_key));
    }
    if (!keys->empty() || versions.size() < records) return status;
  }
}

// Whether a range of keys that was deleted hides a pair. The library deletes no
// ranges.
Status HiddenByRange(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                     const std::string& key, bool* hidden) {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = true;
  rocksdb::PinnableSlice value;
  const Status status = db->Get(options, family, key, &value);
  *hidden = status.ok();
  return status.IsNotFound() ? Status::OK() : status;
}

// Where there are too many ranges, one of each family and kind that covers all.
void Bound(const FamilyTable& families, std::vector<ForeignRange>* ranges) {
  if (ranges->size() <= kMaxForeignRanges) return;
  std::vector<ForeignRange> covers;
  for (ForeignRange& range : *ranges) {
    const Family* const family = families.Find(range.family_id);
    if (family == nullptr) continue;
    const auto cover = std::find_if(
        covers.begin(), covers.end(), [&range](const ForeignRange& other) {
          return other.family_id == range.family_id &&
                 other.came == range.came && other.untold == range.untold;
        });
    if (cover == covers.end()) {
      covers.push_back(std::move(range));
      continue;
    }
    if (range.untold) continue;
    const rocksdb::Comparator* const order = family->handle()->GetComparator();
    if (order->Compare(range.smallest, cover->smallest) < 0) {
      cover->smallest = std::move(range.smallest);
    }
    if (order->Compare(cover->largest, range.largest) < 0) {
      cover->largest = std::move(range.largest);
    }
  }
  *ranges = std::move(covers);
}

}  // namespace

IndexBuild::IndexBuild(IndexedDB* indexed, Families* families,
                       ForeignWrites* foreign_writes, Quarantine* quarantine,
                       WorkRecord work, std::vector<ForeignRange> foreign)
    : indexed_(indexed),
      families_(families),
      foreign_writes_(foreign_writes),
      quarantine_(quarantine),
      work_(std::move(work)),
      foreign_(std::move(foreign)) {}

IndexBuild::~IndexBuild() { Stop(); }

void IndexBuild::Start() {
  {
    std::lock_guard lock(mutex_);
    pending_ = work_.purge || work_.index_pass;
    for (const FamilyRecord& family : families_->records()) {
      pending_ = pending_ || family.work != 0;
    }
    if (pending_) estimate_ = EstimatePairs();
  }
  thread_ = std::thread([this] { Run(); });
}

void IndexBuild::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool IndexBuild::AllIsIndexed(const std::function<bool()>& cancelled) const {
  // In this order: what is dealt with is being compared from then on.
  return foreign_writes_->Look(cancelled) == ForeignWrites::Finding::kNone &&
         Progress().done;
}

Status IndexBuild::DealWithForeignWrites(
    bool may_wait, const std::function<bool()>& cancelled) {
  return foreign_writes_->Deal(
      may_wait, Progress().done, cancelled,
      [&](uint64_t known, const std::vector<ForeignRange>& ranges) {
        return families_->BeginCheck(
            may_wait, [&](const std::vector<FamilyRecord>& records) {
              return RequestCheck(known, ranges, records, may_wait);
            });
      });
}

bool IndexBuild::IsBeingPurged(uint32_t family_id) const {
  if (families_->IsReplicated(family_id)) return false;
  return !Progress().done || families_->WasDropped(family_id);
}

Status IndexBuild::RequestPurge() {
  const std::lock_guard write(record_mutex_);
  std::string record;
  {
    const std::lock_guard lock(mutex_);
    work_.purge = true;
    work_.step = kStepPurge;
    work_.cursor.clear();
    pending_ = true;
    estimate_ = EstimatePairs();
    record = Encode(work_);
  }
  changed_.notify_all();
  return indexed_->db()->Put(rocksdb::WriteOptions(),
                             indexed_->reader().index(), MetaKey(kWorkRecord),
                             record);
}

Status IndexBuild::RequestCheck(uint64_t known_sequence,
                                const std::vector<ForeignRange>& ranges,
                                const std::vector<FamilyRecord>& records,
                                bool may_wait) {
  std::unique_lock write(record_mutex_, std::defer_lock);
  if (may_wait) {
    write.lock();
  } else if (!write.try_lock()) {
    return Status::Incomplete("rocksync: the index build is busy");
  }
  WorkRecord work;
  std::vector<ForeignRange> before;
  std::vector<ForeignRange> foreign;
  {
    const std::lock_guard lock(mutex_);
    work_.sealed_sequence =
        work_.index_pass ? std::min(work_.sealed_sequence, known_sequence)
                         : known_sequence;
    work_.index_pass = true;
    work_.step = kStepPurge;
    work_.family_id = 0;
    work_.cursor.clear();
    work_.pairs_read = 0;
    before = foreign_;
    foreign_.insert(foreign_.end(), ranges.begin(), ranges.end());
    Bound(indexed_->table(), &foreign_);
    ++generation_;
    pending_ = true;
    estimate_ = EstimatePairs();
    work = work_;
    foreign = foreign_;
  }
  changed_.notify_all();

  rocksdb::ColumnFamilyHandle* const index = indexed_->reader().index();
  rocksdb::WriteBatch batch;
  Status status = batch.Put(index, MetaKey(kFamiliesRecord), Encode(records));
  if (status.ok() && !foreign.empty()) {
    status = batch.Put(index, MetaKey(kForeignRecord), Encode(foreign));
  }
  if (status.ok()) {
    status = batch.Put(index, MetaKey(kWorkRecord), Encode(work));
  }
  // Synced: a foreign write is told from corruption by this alone
  // once a crash has taken from memory what was seen.
  rocksdb::WriteOptions options;
  options.sync = true;
  options.no_slowdown = !may_wait;
  if (status.ok()) status = indexed_->db()->Write(options, &batch);
  if (!status.ok()) {
    // It is asked for again, with the same ranges.
    const std::lock_guard lock(mutex_);
    foreign_ = std::move(before);
  }
  return status;
}

uint64_t IndexBuild::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

WorkRecord IndexBuild::Current() const {
  std::lock_guard lock(mutex_);
  return work_;
}

IndexBuildProgress IndexBuild::Progress() const {
  std::lock_guard lock(mutex_);
  IndexBuildProgress progress;
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

Status IndexBuild::Wait(uint64_t timeout_ms) const {
  std::unique_lock lock(mutex_);
  const bool done =
      changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                        [this] { return !pending_ || stop_; });
  if (done && !pending_) return Status::OK();
  return Status::Incomplete("rocksync: the database is still being read",
                            last_error_.ToString());
}

uint64_t IndexBuild::EstimatePairs() const {
  uint64_t total = 0;
  const auto add = [&](rocksdb::ColumnFamilyHandle* handle) {
    uint64_t keys = 0;
    if (indexed_->db()->GetIntProperty(
            handle, rocksdb::DB::Properties::kEstimateNumKeys, &keys)) {
      total += keys;
    }
  };
  const std::vector<FamilyRecord> records = families_->records();
  for (const FamilyRecord& record : records) {
    const Family* family = indexed_->table().Find(record.id);
    if (record.work != 0 && family != nullptr) add(family->handle());
  }
  if (work_.purge) add(indexed_->reader().index());
  if (work_.index_pass) add(indexed_->reader().index());
  return total;
}

void IndexBuild::Run() {
  const auto stopped = [this] { return stop_.load(); };
  auto renewed = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (!pending_) {
      // A spurious end of the wait costs one look.
      changed_.wait_for(lock, kLookForForeign);
      if (stop_ || pending_) continue;
      lock.unlock();
      DealWithForeignWrites(/*may_wait=*/true, stopped).PermitUncheckedError();
      if (std::chrono::steady_clock::now() - renewed > kUpkeep) {
        renewed = std::chrono::steady_clock::now();
        indexed_->digests()->RenewOldBase(stopped);
      }
      lock.lock();
      continue;
    }
    begun_generation_ = generation_;
    lock.unlock();
    const Status status = Work();
    lock.lock();
    if (Outdated()) continue;
    if (!status.ok() && status.ToString() != last_error_.ToString()) {
      rocksdb::Warn(indexed_->db()->GetDBOptions().info_log,
                    "rocksync: the index build failed and is retried; peers "
                    "cannot sync until it succeeds: %s",
                    status.ToString().c_str());
    }
    last_error_ = status;
    changed_.notify_all();
    if (!status.ok() && !stop_) {
      changed_.wait_for(lock, kRetry, [this] { return stop_.load(); });
    }
  }
}

// OK: done, or stopped.
Status IndexBuild::Work() {
  Status status;
  if (Current().purge) status = Purge();
  for (const FamilyRecord& record : families_->records()) {
    if (!status.ok() || stop_) return status;
    const Family* family = indexed_->table().Find(record.id);
    if (record.work == 0 || family == nullptr) continue;
    status = ReadFamily(*family, record.work);
  }
  if (status.ok() && !stop_ && Current().index_pass) status = CheckIndex();
  if (status.ok() && !stop_) status = Finish();
  return status;
}

Status IndexBuild::Commit(rocksdb::WriteBatch* batch) {
  // Or a record older than a check that was asked for could be written last.
  const std::lock_guard write(record_mutex_);
  Status status = batch->Put(indexed_->reader().index(), MetaKey(kWorkRecord),
                             Encode(Current()));
  if (status.ok())
    status = indexed_->db()->Write(rocksdb::WriteOptions(), batch);
  if (!status.ok()) return status;
  tries_ = 0;
  // What failed before does so no more.
  const std::lock_guard lock(mutex_);
  last_error_ = Status::OK();
  return status;
}

Status IndexBuild::Purge() {
  IndexCursor cursor(indexed_->reader(), nullptr,
                     indexed_->reader().stable_time(),
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
      if (cursor.family() == nullptr && !cursor.key_damaged()) {
        status = batch.Delete(indexed_->reader().index(), cursor.index_key());
      }
    }
    {
      std::lock_guard lock(mutex_);
      if (Outdated()) return CompareAnew();
      work_.step = kStepPurge;
      work_.cursor = cursor.Valid() ? std::string(cursor.index_key()) : "";
      work_.pairs_read += read;
    }
    if (status.ok()) status = Commit(&batch);
  }
  if (!status.ok() || stop_) return status;
  if (!cursor.status().ok()) return cursor.status();
  std::lock_guard lock(mutex_);
  if (Outdated()) return CompareAnew();
  work_.purge = false;
  work_.step = kStepFamilies;
  work_.family_id = 0;
  work_.cursor.clear();
  return status;
}

Status IndexBuild::ReadFamily(const Family& family, uint8_t work) {
  const WorkRecord progress = Current();
  std::string from = progress.cursor;
  const bool adopting = (work & kFamilyAdopting) != 0;
  bool resumed = progress.step == kStepFamilies &&
                 progress.family_id == family.id && !from.empty();
  while (!stop_) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> iterator(
        indexed_->db()->NewIterator(options, family.handle()));
    if (resumed) {
      // Not at a key that was judged although its value does not read.
      const bool bytewise =
          family.handle()->GetComparator() == rocksdb::BytewiseComparator();
      iterator->Seek(bytewise ? from + '\0' : from);
      if (iterator->Valid() && iterator->key() == Slice(from)) iterator->Next();
    } else {
      iterator->SeekToFirst();
    }
    uint64_t read = 0;
    while (iterator->Valid() && read < kPairsPerIterator && !stop_) {
      std::vector<Candidate> candidates;
      for (; iterator->Valid() && candidates.size() < kChunkPairs;
           iterator->Next()) {
        // It may have been replaced since the iterator was made: then the next
        // try, with a new one, goes on.
        if (!IsPlain(*iterator)) {
          return EntityError(family, iterator->key().ToStringView());
        }
        candidates.push_back({iterator->key().ToString(),
                              indexed_->reader().hasher().Position(
                                  family.name, iterator->key().ToStringView()),
                              adopting
                                  ? indexed_->reader().hasher().HashValue(
                                        {}, iterator->value().ToStringView())
                                  : ValueHash{}});
      }
      read += candidates.size();
      from = candidates.back().key;
      resumed = true;
      const Status status = JudgePairs(family, work, candidates);
      if (!status.ok()) return status;
    }
    if (!iterator->status().ok()) {
      const Status status =
          ReadOneByOne(family, work, iterator->status(), &from, &resumed);
      if (status.IsNotFound()) return FinishFamily(family.id);
      if (!status.ok()) return status;
      continue;
    }
    if (!iterator->Valid())
      return stop_ ? Status::OK() : FinishFamily(family.id);
  }
  return Status::OK();
}

Status IndexBuild::ReadOneByOne(const Family& family, uint8_t work,
                                const Status& error, std::string* from,
                                bool* resumed) {
  std::vector<std::string> keys;
  Status status = KeysBehind(indexed_->db(), family.handle(), *from, !*resumed,
                             kChunkPairs, &keys);
  if (status.ok() && keys.empty()) {
    // In an order of the application's own the iterator began at `*from`.
    if (*resumed && error.IsPathNotFound()) return Status::NotFound();
    status = error;
  }
  if (!status.ok()) {
    return KeysError(status, family, *resumed ? from : nullptr);
  }
  std::vector<Candidate> candidates;
  for (const std::string& key : keys) {
    Candidate candidate{
        key, indexed_->reader().hasher().Position(family.name, key), {}};
    status = ReadValue(family, work, &candidate);
    if (status.IsNotFound()) continue;  // deleted
    if (!status.ok()) return status;
    candidates.push_back(std::move(candidate));
  }
  if (!candidates.empty()) {
    status = JudgePairs(family, work, candidates);
    if (!status.ok()) return status;
  }
  *from = std::move(keys.back());
  *resumed = true;
  return Status::OK();
}

Status IndexBuild::ReadValue(const Family& family, uint8_t work,
                             Candidate* candidate) {
  std::string value;
  const Status status = GetPlain(indexed_->db(), rocksdb::ReadOptions(), family,
                                 candidate->key, &value);
  if (status.ok()) {
    candidate->unversioned = indexed_->reader().hasher().HashValue({}, value);
    return status;
  }
  if (status.IsNotFound() || status.IsNotSupported()) return status;
  candidate->unreadable = true;
  const bool checking = (work & kFamilyChecking) != 0;
  if (IsDamage(status) || (!checking && ++tries_ >= kMostTries)) {
    return Status::OK();
  }
  return ValueError(status, family, candidate->key);
}

Status IndexBuild::JudgePairs(const Family& family, uint8_t work,
                              const std::vector<Candidate>& candidates) {
  StripeSet stripes;
  for (const Candidate& candidate : candidates) {
    stripes.Add(StripeOf(candidate.position));
  }
  StripeSetGuard guard(indexed_->locks(), stripes);
  // Dropped meanwhile: what is left of it is read in vain.
  if (indexed_->table().Find(family.id) == nullptr) return Status::OK();
  rocksdb::WriteBatch batch;
  for (const Candidate& candidate : candidates) {
    const Status status = JudgePair(family, work, candidate, &batch);
    if (!status.ok()) return status;
  }
  {
    std::lock_guard lock(mutex_);
    if (Outdated()) return CompareAnew();
    work_.step = kStepFamilies;
    work_.family_id = family.id;
    work_.cursor = candidates.back().key;
    work_.pairs_read += candidates.size();
    pairs_read_ += candidates.size();
  }
  return Commit(&batch);
}

Status IndexBuild::JudgePair(const Family& family, uint8_t work,
                             const Candidate& candidate,
                             rocksdb::WriteBatch* batch) {
  const IndexKey key{candidate.position, family.id, candidate.key};
  StoredEntry entry;
  Status status = indexed_->reader().Get(key, &entry);
  if (!status.ok() && !status.IsNotFound()) return status;
  const bool known = status.ok();
  // Adoption alone need not compare: what wrote the entry wrote the pair.
  const bool checking = (work & kFamilyChecking) != 0;
  if (known && !checking) return Status::OK();
  if (candidate.unreadable && !checking) {
    return JudgeUnreadable(family, key, nullptr, batch);
  }
  Evidence evidence = Evidence::kNone;
  rocksdb::PinnableSlice current;
  if (checking) {
    // An entity that has come since the iterator was made is a foreign
    // write, which has everything compared anew.
    status = indexed_->db()->Get(rocksdb::ReadOptions(), family.handle(),
                                 candidate.key, &current);
    if (status.IsNotFound()) return Status::OK();  // the index pass judges it
    if (IsDamage(status)) {
      return JudgeUnreadable(family, key, known ? &entry : nullptr, batch);
    }
    if (!status.ok()) return ValueError(status, family, candidate.key);
    if (known && Matches(family, candidate.key, entry, current)) {
      return Status::OK();
    }
    status = Look(family, key, /*there=*/true, &evidence);
    if (!status.ok()) return status;
  }
  StoredEntry judged;
  if (evidence == Evidence::kFileGone && known && entry.tombstone) {
    // The deletion went with a file, and what it covered shows again.
    status = batch->Delete(family.handle(), candidate.key);
    if (!status.ok()) return status;
    judged = entry;
  } else if (evidence != Evidence::kNone) {
    const std::string_view view = current.ToStringView();
    judged = IssuedEntry({}, &view);
    status = indexed_->DrawVersion(&judged.version);
    if (!status.ok()) return status;
  } else if (known || (work & kFamilyAdopting) == 0) {
    if (known && entry.quarantined) return Status::OK();
    // The entry keeps what it says: if the pair matches it again one day, it is
    // released.
    judged = known ? entry : UnknownEntry();
    judged.quarantined = true;
    quarantine_->Add();
  } else {
    judged.pending = true;
    judged.hash_high = candidate.unversioned.high;
    judged.hash_low = candidate.unversioned.low;
  }
  indexed_->PutEntry(batch, key, judged);
  indexed_->digests()->Note(candidate.position);
  return Status::OK();
}

Status IndexBuild::JudgeUnreadable(const Family& family, const IndexKey& key,
                                   const StoredEntry* entry,
                                   rocksdb::WriteBatch* batch) {
  if (entry != nullptr && (entry->tombstone || entry->quarantined)) {
    return Status::OK();
  }
  const std::string name(key.key);
  StoredEntry judged = entry != nullptr ? *entry : UnknownEntry();
  judged.quarantined = true;
  quarantine_->unreadable()->Last(family.id, name, indexed_->WallMs());
  quarantine_->Add();
  indexed_->PutEntry(batch, key, judged);
  indexed_->digests()->Note(key.position);
  if (++unreadable_ <= kMostLines) {
    rocksdb::Warn(
        indexed_->db()->GetDBOptions().info_log,
        "rocksync: the value of key %s of family %s does not read; "
        "it is quarantined until a peer has the pair, or the key is "
        "written or deleted%s",
        Slice(name).ToString(/*hex=*/true).c_str(), family.name.c_str(),
        unreadable_ == kMostLines ? " (those that follow are not named)" : "");
  }
  return Status::OK();
}

bool IndexBuild::Matches(const Family& family, std::string_view key,
                         const StoredEntry& entry, const Slice& value) const {
  if (entry.tombstone || entry.quarantined) return false;
  const ElementHasher& hasher = indexed_->reader().hasher();
  const std::string_view view = value.ToStringView();
  return CompleteHash(hasher, family.name, key,
                      PendingEntry(hasher, entry.version, &view)) ==
         CompleteHash(hasher, family.name, key, entry);
}

Status IndexBuild::Look(const Family& family, const IndexKey& index_key,
                        bool there, Evidence* evidence) const {
  *evidence = Evidence::kNone;
  const std::string key(index_key.key);
  std::string entry_key;
  AppendIndexKey(&entry_key, index_key);
  uint64_t changed = 0;
  uint64_t indexed = 0;
  Status status =
      NewestSequence(indexed_->db(), family.handle(), key, &changed);
  if (status.ok()) {
    status = NewestSequence(indexed_->db(), indexed_->reader().index(),
                            entry_key, &indexed);
  }
  if (!status.ok()) return status;
  if (!there) {
    bool hidden = false;
    const Status read =
        HiddenByRange(indexed_->db(), family.handle(), key, &hidden);
    if (!read.ok() || hidden) {
      if (hidden) *evidence = Evidence::kWritten;
      return read;
    }
  }
  const rocksdb::Comparator* const order = family.handle()->GetComparator();
  const std::lock_guard lock(mutex_);
  // In a write of ours the entry stands behind the pair.
  if (changed > work_.sealed_sequence && changed > indexed) {
    *evidence = Evidence::kWritten;
    return status;
  }
  for (const ForeignRange& range : foreign_) {
    if (range.family_id == family.id && range.untold && changed == 0) {
      *evidence = Evidence::kWritten;
      return status;
    }
    if (range.family_id != family.id || range.untold ||
        (range.came && !there) || order->Compare(key, range.smallest) < 0 ||
        order->Compare(range.largest, key) < 0) {
      continue;
    }
    *evidence = range.came ? Evidence::kWritten : Evidence::kFileGone;
    if (range.came) break;
  }
  return status;
}

Status IndexBuild::CheckIndex() {
  const WorkRecord work = Current();
  const std::string from = work.step == kStepIndex ? work.cursor : "";
  IndexCursor cursor(indexed_->reader(), nullptr,
                     indexed_->reader().stable_time(),
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
    StripeSetGuard guard(indexed_->locks(), stripes);
    rocksdb::WriteBatch batch;
    for (const Live& entry : live) {
      status = JudgeEntry(
          *entry.family, {entry.position, entry.family->id, entry.key}, &batch);
      if (!status.ok()) return status;
    }
    {
      std::lock_guard lock(mutex_);
      if (Outdated()) return CompareAnew();
      work_.step = kStepIndex;
      work_.cursor = cursor.Valid() ? std::string(cursor.index_key()) : "";
      work_.pairs_read += read;
      pairs_read_ += read;
    }
    status = Commit(&batch);
  }
  return status.ok() ? cursor.status() : status;
}

Status IndexBuild::JudgeEntry(const Family& family, const IndexKey& key,
                              rocksdb::WriteBatch* batch) {
  rocksdb::PinnableSlice value;
  const Slice pair_key(key.key.data(), key.key.size());
  Status status = indexed_->db()->Get(rocksdb::ReadOptions(), family.handle(),
                                      pair_key, &value);
  if (status.ok()) return status;  // judged with its data
  const bool damaged = IsDamage(status);
  if (!status.IsNotFound() && !damaged) {
    return ValueError(status, family, key.key);
  }
  StoredEntry entry;
  status = indexed_->reader().Get(key, &entry);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (damaged) return JudgeUnreadable(family, key, &entry, batch);
  if (entry.tombstone || entry.quarantined) return Status::OK();
  Evidence evidence = Evidence::kNone;
  status = Look(family, key, /*there=*/false, &evidence);
  if (!status.ok()) return status;
  if (evidence != Evidence::kNone) {
    entry = IssuedEntry({}, nullptr);
    status = indexed_->DrawVersion(&entry.version);
    if (!status.ok()) return status;
  } else {
    entry.quarantined = true;
    quarantine_->Add();
  }
  indexed_->PutEntry(batch, key, entry);
  indexed_->digests()->Note(key.position);
  return Status::OK();
}

Status IndexBuild::FinishFamily(uint32_t family_id) {
  uint64_t generation = 0;
  {
    std::lock_guard lock(mutex_);
    if (Outdated()) return CompareAnew();
    generation = begun_generation_;
    work_.cursor.clear();
    work_.family_id = 0;
  }
  return families_->EndCheck(family_id,
                             [&] { return this->generation() == generation; });
}

Status IndexBuild::Finish() {
  // A foreign write meanwhile may lie where the work has been.
  Status status = DealWithForeignWrites(
      /*may_wait=*/true, [this] { return stop_.load(); });
  if (!status.ok()) return status;
  const std::lock_guard write(record_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (work_.purge || Outdated()) return status;  // asked for meanwhile
  }
  rocksdb::WriteBatch batch;
  status = batch.Delete(indexed_->reader().index(), MetaKey(kForeignRecord));
  if (status.ok()) {
    status = batch.Delete(indexed_->reader().index(), MetaKey(kWorkRecord));
  }
  if (status.ok()) {
    status = indexed_->db()->Write(rocksdb::WriteOptions(), &batch);
  }
  if (status.ok()) {
    const std::lock_guard lock(mutex_);
    work_ = {};
    foreign_.clear();
    pending_ = false;
  }
  return status;
}

}  // namespace rocksync
