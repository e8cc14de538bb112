#include "replication/store/upkeep/scrub.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "replication/base/hex.h"
#include "replication/store/index/leaf_digests.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/index/seek_behind.h"
#include "replication/store/upkeep/pair_check.h"
#include "rocksdb/comparator.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr size_t kChunkPairs = 128;
constexpr uint64_t kChunkBytes = uint64_t{1} << 20;

// Limits of a pass. What is beyond them is only counted.
constexpr uint64_t kMaxLines = 100;
constexpr size_t kMaxMissed = 64;

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

std::string WithNoun(uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

Scrub::Scrub(IndexedDB* indexed, Quarantine* quarantine,
             IndexBuild* index_build)
    : indexed_(indexed),
      quarantine_(quarantine),
      index_build_(index_build),
      check_(indexed, quarantine, index_build) {}

Status Scrub::Load() {
  std::string bytes;
  const Status status =
      indexed_->db()->Get(rocksdb::ReadOptions(), indexed_->reader().index(),
                          MetaKey(kScrubRecord), &bytes);
  if (!status.ok() && !status.IsNotFound()) return status;
  if (status.IsNotFound() || !Decode(bytes, &record_)) {
    // A fresh index counts as just scrubbed.
    record_ = {};
    record_.finished_ms = indexed_->WallMs();
    finished_ms_ = record_.finished_ms;
    return Record();
  }
  running_ = record_.running;
  pairs_ = record_.pairs;
  finished_ms_ = record_.finished_ms;
  return status;
}

Scrub::Progress Scrub::progress() const {
  return {running_, pairs_, finished_ms_, corruption_found_, unreadable_};
}

Status Scrub::Record() {
  chunks_ = 0;
  const Status status = indexed_->patient()->PutRecord(
      rocksdb::WriteOptions(), MetaKey(kScrubRecord), Encode(record_));
  cannot_write_ = !status.ok();
  return status;
}

Status Scrub::Begin() {
  record_.running = true;
  record_.step = kStepFamilies;
  record_.family_id = 0;
  record_.cursor.clear();
  record_.pairs = 0;
  pairs_ = 0;
  pass_status_ = Status::OK();
  keys_passed_over_ = 0;
  ranges_passed_over_ = 0;
  retries_ = 0;
  missed_.clear();
  running_ = true;
  return Record();
}

Status Scrub::Step(uint64_t* bytes, bool* finished) {
  *bytes = 0;
  *finished = false;
  cannot_write_ = false;
  Status status;
  if (!record_.running) status = Begin();
  if (!status.ok()) return status;
  status =
      record_.step == kStepFamilies ? StepFamilies(bytes) : StepIndex(bytes);
  if (status.IsTryAgain()) {
    index_build_->NoticeForeignWrites();
  }
  if (!status.ok()) return status;
  if (!in_vain_) retries_ -= tries_;
  in_vain_ = false;
  tries_ = 0;
  pairs_ = record_.pairs;
  if (record_.step > kStepIndex) {
    record_.running = false;
    record_.step = kStepFamilies;
    record_.cursor.clear();
    record_.finished_ms = indexed_->WallMs();
    finished_ms_ = record_.finished_ms;
    running_ = false;
    *finished = true;
    return Record();
  }
  return ++chunks_ >= kRecordEvery ? Record() : status;
}

const Family* Scrub::FamilyFrom(const FamilyTable& families, uint32_t id) {
  const Family* next = nullptr;
  for (const Family& family : families.families()) {
    if (family.id >= id && (next == nullptr || family.id < next->id)) {
      next = &family;
    }
  }
  return next;
}

Status Scrub::StepFamilies(uint64_t* bytes) {
  const FamiliesInUse now = indexed_->families();
  const Family* const family = FamilyFrom(*now, record_.family_id);
  if (family == nullptr) {
    record_.step = kStepIndex;
    record_.cursor.clear();
    return Status::OK();
  }
  if (family->id != record_.family_id) record_.cursor.clear();
  std::unique_ptr<rocksdb::Iterator> pair(
      indexed_->db()->NewIterator(Sequential(), family->handle()));
  if (record_.cursor.empty()) {
    pair->SeekToFirst();
  } else {
    pair->Seek(record_.cursor);
    if (pair->Valid() && pair->key() == Slice(record_.cursor)) pair->Next();
  }
  for (size_t read = 0; read < kChunkPairs && *bytes < kChunkBytes; ++read) {
    if (!pair->Valid() && !pair->status().ok()) {
      const Status status = SkipPairs(*family, &pair);
      if (!status.ok()) return status;
    }
    if (!pair->Valid()) {
      record_.family_id = family->id + 1;
      record_.cursor.clear();
      return Status::OK();
    }
    std::string key = pair->key().ToString();
    *bytes += pair->key().size() + pair->value().size();
    Status status;
    if (!IsPlain(*pair) || !Agrees(*family, key, pair->value())) {
      status = Check(*family, key);
      if (!status.ok() && TryAgain(status)) return status;
    }
    if (status.ok()) {
      ++record_.pairs;
    } else {
      PassOver(status, "key " + HexOf(key) + " of family " + family->name,
               &keys_passed_over_);
    }
    record_.cursor = std::move(key);
    record_.family_id = family->id;
    pair->Next();
  }
  return Status::OK();
}

// Skips pairs that do not read. They are compared by way of the index.
Status Scrub::SkipPairs(const Family& family,
                        std::unique_ptr<rocksdb::Iterator>* pair) {
  const Status status = (*pair)->status();
  // A table of the application's own kind has no order to go on in.
  const bool never = status.IsNotSupported() || status.IsInvalidArgument();
  if (!never && TryAgain(status)) return status;
  Missed missed;
  missed.family_id = family.id;
  if (record_.family_id == family.id) missed.from = record_.cursor;
  std::string where = "family " + family.name;
  where += missed.from.empty() ? " from its beginning"
                               : " behind " + HexOf(missed.from);
  std::unique_ptr<rocksdb::Iterator> found;
  if (!never &&
      family.handle()->GetComparator() == rocksdb::BytewiseComparator()) {
    const auto new_iterator = [&] {
      return std::unique_ptr<rocksdb::Iterator>(
          indexed_->db()->NewIterator(Sequential(), family.handle()));
    };
    found = SeekBehind(new_iterator, missed.from);
  }
  if (found != nullptr) {
    missed.to = found->key().ToString();
    *pair = std::move(found);
  }
  where += " up to " + (missed.to.has_value() ? HexOf(*missed.to) : "its end");
  if (missed_.size() < kMaxMissed) missed_.push_back(std::move(missed));
  PassOver(status, where, &ranges_passed_over_);
  return Status::OK();
}

bool Scrub::TryAgain(const Status& status) {
  // Wait until everything is in the index again, and RocksDB writes.
  if (status.IsTryAgain() || status.IsBusy()) return true;
  if (tries_ < kTries && retries_ < kMaxRetries) {
    ++tries_;
    ++retries_;
    return true;
  }
  in_vain_ = true;
  return false;
}

void Scrub::PassOver(const Status& status, const std::string& where,
                     uint64_t* count) {
  ++unreadable_;
  ++*count;
  const uint64_t lines = keys_passed_over_ + ranges_passed_over_;
  if (lines <= kMaxLines) {
    rocksdb::Warn(
        indexed_->db()->GetDBOptions().info_log,
        "rocksync: scrub: %s does not read and is passed over until "
        "the next pass%s: %s",
        where.c_str(),
        lines == kMaxLines ? " (what follows in this one is only counted)" : "",
        status.ToString().c_str());
  }
  std::string passed_over;
  if (keys_passed_over_ > 0) {
    passed_over = WithNoun(keys_passed_over_, "key");
  }
  if (ranges_passed_over_ > 0) {
    if (!passed_over.empty()) passed_over += " and ";
    passed_over += WithNoun(ranges_passed_over_, "range") + " of keys";
  }
  pass_status_ = Status::Incomplete(
      "rocksync: the scrub passed over what does not read, and did not compare "
      "it: " +
          passed_over + "; the database's LOG names them; the latest: " + where,
      status.ToString() +
          "; peers send again the pairs of it that the index knows "
          "(scrub.repaired counts them), but the damaged file stays: open the "
          "database again and scrub it, and if that ends so too, replace this "
          "replica");
}

Status Scrub::StepIndex(uint64_t* bytes) {
  IndexCursor cursor(indexed_->reader(), nullptr,
                     indexed_->reader().stable_time(),
                     IndexCursor::Order::kTotal);
  if (record_.cursor.empty()) {
    const Status status = ReadMetaRecords(bytes);
    if (!status.ok()) {
      if (TryAgain(status)) return status;
      PassOver(status, "the index before its first entry",
               &ranges_passed_over_);
    }
    AppendPosition(&record_.cursor, 1);
  }
  cursor.SeekKey(record_.cursor);
  for (size_t read = 0;; cursor.Next(), ++read) {
    if (!cursor.Valid() && !cursor.status().ok()) {
      const Status status = cursor.status();
      if (TryAgain(status)) return status;
      SkipEntries(status, &cursor);
    }
    if (!cursor.Valid()) {
      record_.cursor.clear();
      ++record_.step;
      return Status::OK();
    }
    record_.cursor = cursor.index_key();
    if (read >= kChunkPairs || *bytes >= kChunkBytes) return Status::OK();
    const Status status = LookAt(cursor, bytes);
    if (!status.ok()) {
      if (TryAgain(status)) return status;
      PassOver(status, "index key " + HexOf(record_.cursor),
               &keys_passed_over_);
    }
    record_.cursor.push_back('\0');  // the next key
  }
}

// Reads the meta records. Among them are blocks that nobody reads but a
// compaction, which stops all writes if they are damaged.
Status Scrub::ReadMetaRecords(uint64_t* bytes) {
  std::string first_entry;
  AppendPosition(&first_entry, 1);
  const std::unique_ptr<rocksdb::Iterator> record(
      indexed_->db()->NewIterator(Sequential(), indexed_->reader().index()));
  for (record->SeekToFirst();
       record->Valid() && record->key().compare(first_entry) < 0;
       record->Next()) {
    *bytes += record->key().size() + record->value().size();
  }
  return record->status();
}

void Scrub::SkipEntries(const Status& status, IndexCursor* cursor) {
  // Few keys share a position, so all of it is skipped.
  cursor->SeekBehind(record_.cursor.substr(0, kPositionBytes));
  PassOver(status,
           "the index behind " + HexOf(record_.cursor) + " up to " +
               (cursor->Valid() ? HexOf(cursor->index_key()) : "its end"),
           &ranges_passed_over_);
}

bool Scrub::WasMissed(const Family& family, const std::string& key) const {
  const rocksdb::Comparator* const order = family.handle()->GetComparator();
  return std::any_of(missed_.begin(), missed_.end(), [&](const Missed& missed) {
    return missed.family_id == family.id &&
           (missed.from.empty() || order->Compare(missed.from, key) < 0) &&
           (!missed.to.has_value() || order->Compare(key, *missed.to) < 0);
  });
}

Status Scrub::LookAt(const IndexCursor& cursor, uint64_t* bytes) {
  *bytes += cursor.index_key().size();
  const Family* const family = cursor.family();
  const ElementHasher& hasher = indexed_->reader().hasher();
  const std::string key(cursor.key().key);
  const StoredEntry& entry = cursor.entry();
  if (family == nullptr ||
      hasher.Position(family->name, key) != cursor.key().position) {
    PairCheck::Finding finding = PairCheck::Finding::kFine;
    const Status status =
        check_.CheckStray(std::string(cursor.index_key()), &finding);
    if (finding != PairCheck::Finding::kFine) ++corruption_found_;
    return status;
  }
  if (!entry.damaged && !entry.quarantined && !cursor.Counts())
    return Status::OK();
  if (entry.damaged) return Check(*family, key);
  if (entry.quarantined) {
    PairCheck::Finding finding = PairCheck::Finding::kFine;
    const Status status = check_.Check(*family, key, &finding);
    if (finding == PairCheck::Finding::kFine) quarantine_->RecordSeen();
    return status;
  }
  if (entry.tombstone) {
    return cursor.Hash() ==
                   hasher.HashTombstone(family->name, key, entry.version)
               ? Status::OK()
               : Check(*family, key);
  }
  // Entities were met among the families' data.
  rocksdb::PinnableSlice value;
  const Status status =
      indexed_->db()->Get(Uncached(), family->handle(), key, &value);
  *bytes += value.size();
  if (status.ok() && WasMissed(*family, key)) ++record_.pairs;
  if (status.ok() && Agrees(*family, key, value)) return status;
  return Check(*family, key);
}

Status Scrub::Check(const Family& family, const std::string& key) {
  PairCheck::Finding finding = PairCheck::Finding::kFine;
  const Status status = check_.Check(family, key, &finding);
  if (!status.ok()) return status;
  if (finding != PairCheck::Finding::kFine &&
      finding != PairCheck::Finding::kReleased) {
    ++corruption_found_;
  }
  return status;
}

bool Scrub::Agrees(const Family& family, std::string_view key,
                   const Slice& value) {
  const ElementHasher& hasher = indexed_->reader().hasher();
  StoredEntry entry;
  if (!indexed_->reader()
           .Get({hasher.Position(family.name, key), family.id, key}, &entry)
           .ok()) {
    return false;
  }
  if (entry.quarantined) return !entry.damaged;  // known
  if (entry.tombstone) return false;
  const ValueHash hash = hasher.HashValue(entry.version, value.ToStringView());
  if (entry.pending) {
    return hash.high == entry.hash_high && hash.low == entry.hash_low;
  }
  return hasher.HashPair(family.name, key, entry.version, hash) ==
         ElementHash{entry.hash_high, entry.hash_low};
}

Status Scrub::ResolveQuarantined(const std::function<bool()>& cancelled,
                                 uint64_t* resolved) {
  *resolved = 0;
  IndexCursor cursor(indexed_->reader(), nullptr,
                     indexed_->reader().stable_time(),
                     IndexCursor::Order::kTotal);
  for (cursor.SeekToFirstEntry(); cursor.Valid(); cursor.Next()) {
    if (cancelled && cancelled()) return Status::Aborted("stopped");
    if (cursor.family() == nullptr || !cursor.entry().quarantined) continue;
    bool done = false;
    const Status status =
        check_.Resolve(*cursor.family(), std::string(cursor.key().key), &done);
    if (!status.ok()) return status;
    if (done) ++*resolved;
  }
  return cursor.status();
}

}  // namespace rocksync
