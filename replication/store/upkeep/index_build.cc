#include "replication/store/upkeep/index_build.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "replication/base/status.h"
#include "replication/store/upkeep/family_walk.h"
#include "replication/store/write/write_stall.h"
#include "replication/text/storage_errors.h"
#include "rocksdb/comparator.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr auto kRetry = std::chrono::seconds(1);
constexpr auto kUpkeep = std::chrono::seconds(15);
constexpr auto kLookForForeign = std::chrono::seconds(1);

constexpr uint8_t kStepPurge = 0;
constexpr uint8_t kStepFamilies = 1;
constexpr uint8_t kStepIndex = 2;

Status CompareAnew() {
  return Status::Aborted(
      "rocksync: a foreign write was found while the index was built",
      "the index build starts again by itself");
}

// Bounds the ranges: of too many, one of each family and kind covers all.
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
      judge_(indexed, quarantine,
             [this](const Family& family, const std::string& key,
                    bool pair_exists, uint64_t changed, uint64_t indexed_at) {
               return EvidenceOf(family, key, pair_exists, changed, indexed_at);
             }),
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

std::string InProgressText(const IndexBuildProgress& progress) {
  // If the build is done, what was noticed just now waits for its re-check.
  const std::string activity =
      progress.done ? "re-checking" : progress.activity;
  const int percent = progress.done ? 0 : static_cast<int>(progress.percent);
  std::string text = "index build in progress (" + activity + ", " +
                     std::to_string(percent) + " %)";
  if (!progress.status.ok()) text += ": " + ToldToPeer(progress.status);
  return text +
         "; wait until index.done in `rocksync status` of the replica that "
         "builds it (WaitForIndexBuild)";
}

absl::Status InProgress(const IndexBuildProgress& progress) {
  return IndexBuildError(InProgressText(progress));
}

bool IndexBuild::AllIsIndexed(const std::function<bool()>& cancelled) const {
  // The look comes first: what is dealt with is being compared from then on.
  return foreign_writes_->Look(cancelled) == ForeignWrites::Finding::kNone &&
         Progress().done;
}

Status IndexBuild::RecheckForeignWrites(
    bool may_wait, const std::function<bool()>& cancelled) {
  return foreign_writes_->Detect(
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

Status IndexBuild::RequestPurge(const std::vector<FamilyRecord>& records) {
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
  rocksdb::ColumnFamilyHandle* const index = indexed_->reader().index();
  rocksdb::WriteBatch batch;
  Status status = batch.Put(index, MetaKey(kFamiliesRecord), Encode(records));
  if (status.ok()) status = batch.Put(index, MetaKey(kWorkRecord), record);
  return status.ok() ? WriteUnlessBudgetStalls(indexed_->db(), {}, &batch)
                     : status;
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
    const FamiliesInUse now = indexed_->families();
    Bound(*now, &foreign_);
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
  // The write is synced: after a crash, which takes from memory what was seen,
  // this alone tells a foreign write from corruption.
  rocksdb::WriteOptions options;
  options.sync = true;
  options.no_slowdown = !may_wait;
  if (status.ok()) {
    status = may_wait ? WriteUnlessBudgetStalls(indexed_->db(), options, &batch)
                      : indexed_->db()->Write(options, &batch);
  }
  if (!status.ok()) {
    // The check is asked for again, with the same ranges.
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
  // Only a build that is done may say 100.
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
  lock.unlock();
  IndexBuildProgress progress = Progress();
  // The error is given in full, as the caller is told and not a peer.
  const Status error = std::exchange(progress.status, Status::OK());
  return Status::Incomplete("rocksync: " + InProgressText(progress),
                            error.ok() ? "" : error.ToString());
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
  const FamiliesInUse now = indexed_->families();
  for (const FamilyRecord& record : records) {
    const Family* family = now->Find(record.id);
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
      // A spurious wakeup costs one look.
      changed_.wait_for(lock, kLookForForeign);
      if (stop_ || pending_) continue;
      lock.unlock();
      if (!GoesOn()) return;
      RecheckForeignWrites(/*may_wait=*/true, stopped).PermitUncheckedError();
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

// Does all work that is left. OK: it is done, or was stopped.
Status IndexBuild::Work() {
  Status status;
  if (Current().purge) status = Purge();
  for (const FamilyRecord& record : families_->records()) {
    if (!status.ok() || stop_) return status;
    const std::optional<Family> family = CopyOf(record.id);
    if (record.work == 0 || !family.has_value()) continue;
    status = ReadFamily(*family, record.work);
  }
  if (status.ok() && !stop_ && Current().index_pass) status = CheckIndex();
  if (status.ok() && !stop_) status = Finish();
  return status;
}

std::optional<Family> IndexBuild::CopyOf(uint32_t family_id) const {
  const FamiliesInUse now = indexed_->families();
  const Family* const family = now->Find(family_id);
  return family == nullptr ? std::nullopt : std::optional<Family>(*family);
}

std::unique_ptr<IndexCursor> IndexBuild::CursorFrom(
    std::string_view index_key) const {
  auto cursor = std::make_unique<IndexCursor>(indexed_->reader(), nullptr,
                                              indexed_->reader().stable_time(),
                                              IndexCursor::Order::kTotal);
  cursor->SeekKeyOrFirst(index_key);
  return cursor;
}

void IndexBuild::LetGoOfDropped(std::unique_ptr<IndexCursor>* cursor) const {
  if (!(*cursor)->Valid() || !(*cursor)->outdated()) return;
  const std::string at((*cursor)->index_key());
  cursor->reset();
  *cursor = CursorFrom(at);
}

bool IndexBuild::GoesOn() {
  indexed_->shown_families()->FreeUnused();
  return !stop_;
}

Status IndexBuild::Commit(rocksdb::WriteBatch* batch) {
  // Otherwise a record older than a check that was asked for could be written
  // last.
  const std::lock_guard write(record_mutex_);
  Status status = batch->Put(indexed_->reader().index(), MetaKey(kWorkRecord),
                             Encode(Current()));
  if (status.ok()) status = WriteUnlessBudgetStalls(indexed_->db(), {}, batch);
  if (!status.ok()) return status;
  tries_ = 0;
  // What failed before fails no more.
  const std::lock_guard lock(mutex_);
  last_error_ = Status::OK();
  return status;
}

Status IndexBuild::Purge() {
  const WorkRecord work = Current();
  std::unique_ptr<IndexCursor> cursor =
      CursorFrom(work.step == kStepPurge ? work.cursor : "");
  Status status;
  while (cursor->Valid() && GoesOn() && status.ok()) {
    rocksdb::WriteBatch batch;
    uint64_t read = 0;
    for (; cursor->Valid() && read < 32 * kJudgedAtOnce;
         cursor->Next(), ++read) {
      if (cursor->family() == nullptr && !cursor->key_damaged()) {
        status = batch.Delete(indexed_->reader().index(), cursor->index_key());
      }
    }
    {
      std::lock_guard lock(mutex_);
      if (Outdated()) return CompareAnew();
      work_.step = kStepPurge;
      work_.cursor = cursor->Valid() ? std::string(cursor->index_key()) : "";
      work_.pairs_read += read;
    }
    if (status.ok()) status = Commit(&batch);
    LetGoOfDropped(&cursor);
  }
  if (!status.ok() || stop_) return status;
  if (!cursor->status().ok()) return cursor->status();
  std::lock_guard lock(mutex_);
  if (Outdated()) return CompareAnew();
  work_.purge = false;
  work_.step = kStepFamilies;
  work_.family_id = 0;
  work_.cursor.clear();
  return status;
}

Status IndexBuild::ReadFamily(const Family& family, uint8_t build_state) {
  const WorkRecord progress = Current();
  const bool resumed =
      progress.step == kStepFamilies && progress.family_id == family.id;
  FamilyWalk walk(indexed_, family, build_state, resumed ? progress.cursor : "",
                  &tries_);
  std::vector<Candidate> pairs;
  // The walk ends if the family is dropped meanwhile.
  while (GoesOn() && families_->IsReplicated(family.id)) {
    bool end = false;
    Status status = walk.Next(&pairs, &end);
    if (!status.ok()) return status;
    if (end) return stop_ ? status : FinishFamily(family.id);
    if (!pairs.empty()) status = JudgePairs(family, build_state, pairs);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

Status IndexBuild::JudgePairs(const Family& family, uint8_t build_state,
                              const std::vector<Candidate>& candidates) {
  StripeSet stripes;
  for (const Candidate& candidate : candidates) {
    stripes.Add(StripeOf(candidate.position));
  }
  StripeSetGuard guard(indexed_->locks(), stripes);
  // The family was dropped meanwhile.
  if (!families_->IsReplicated(family.id)) return Status::OK();
  rocksdb::WriteBatch batch;
  for (const Candidate& candidate : candidates) {
    const Status status =
        judge_.JudgePair(family, build_state, candidate, &batch);
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

Evidence IndexBuild::EvidenceOf(const Family& family, const std::string& key,
                                bool pair_exists, uint64_t changed,
                                uint64_t indexed) const {
  const rocksdb::Comparator* const order = family.handle()->GetComparator();
  const std::lock_guard lock(mutex_);
  // In a write of the library the entry comes after the pair.
  if (changed > work_.sealed_sequence && changed > indexed) {
    return Evidence::kWritten;
  }
  // An entry is written after its pair, so a pair with the smaller number that
  // disagrees was replaced, and what replaced it was lost. Where a foreign
  // write is possible, the numbers do not tell.
  const bool entry_is_later =
      work_.sealed_sequence == UINT64_MAX && pair_exists && changed < indexed;
  Evidence evidence =
      work_.log_lost || entry_is_later ? Evidence::kLogLost : Evidence::kNone;
  // An entry that is not from before the foreign write may be another program's
  // itself, and then says nothing of a pair that nothing else tells of.
  const bool entry_is_known = indexed <= work_.sealed_sequence;
  for (const ForeignRange& range : foreign_) {
    if (range.family_id == family.id && range.untold && changed == 0 &&
        entry_is_known) {
      return Evidence::kUndatable;
    }
    if (range.family_id != family.id || range.untold ||
        (range.came && !pair_exists) ||
        order->Compare(key, range.smallest) < 0 ||
        order->Compare(range.largest, key) < 0) {
      continue;
    }
    evidence = range.came ? Evidence::kWritten : Evidence::kFileGone;
    if (range.came) break;
  }
  return evidence;
}

Status IndexBuild::CheckIndex() {
  const WorkRecord work = Current();
  std::unique_ptr<IndexCursor> cursor =
      CursorFrom(work.step == kStepIndex ? work.cursor : "");
  Status status;
  while (cursor->Valid() && GoesOn() && status.ok()) {
    struct Live {
      const Family* family;  // of the cursor's table
      uint64_t position;
      std::string key;
    };
    std::vector<Live> live;
    StripeSet stripes;
    uint64_t read = 0;
    for (; cursor->Valid() && read < kJudgedAtOnce; cursor->Next(), ++read) {
      if (!cursor->Counts() || cursor->entry().tombstone) continue;
      live.push_back({cursor->family(), cursor->key().position,
                      std::string(cursor->key().key)});
      stripes.Add(StripeOf(cursor->key().position));
    }
    StripeSetGuard guard(indexed_->locks(), stripes);
    rocksdb::WriteBatch batch;
    for (const Live& entry : live) {
      status = judge_.JudgeEntry(
          *entry.family, {entry.position, entry.family->id, entry.key}, &batch);
      if (!status.ok()) return status;
    }
    {
      std::lock_guard lock(mutex_);
      if (Outdated()) return CompareAnew();
      work_.step = kStepIndex;
      work_.cursor = cursor->Valid() ? std::string(cursor->index_key()) : "";
      work_.pairs_read += read;
      pairs_read_ += read;
    }
    status = Commit(&batch);
    LetGoOfDropped(&cursor);
  }
  return status.ok() ? cursor->status() : status;
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
  // A foreign write meanwhile may lie where the work has been already.
  Status status = RecheckForeignWrites(
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
    status = WriteUnlessBudgetStalls(indexed_->db(), {}, &batch);
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
