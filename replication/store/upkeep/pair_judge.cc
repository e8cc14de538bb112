#include "replication/store/upkeep/pair_judge.h"

#include "replication/base/hex.h"
#include "replication/base/rocksdb_version.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/upkeep/examination.h"
#include "replication/store/upkeep/unreadable.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr uint64_t kMaxLines = 100;  // lines in the log on unreadable pairs

// Sets `*hidden` to whether a deleted range of keys hides a pair. The library
// deletes no ranges.
Status HiddenByRange(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                     const std::string& key, bool* hidden) {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = true;
  rocksdb::PinnableSlice value;
  const Status status = db->Get(options, family, key, &value);
  *hidden = status.ok();
  return status.IsNotFound() ? Status::OK() : status;
}

}  // namespace

Status PairJudge::JudgePair(const Family& family, uint8_t build_state,
                            const Candidate& candidate,
                            rocksdb::WriteBatch* batch) {
  const IndexKey key{candidate.position, family.id, candidate.key};
  StoredEntry stored;
  Status status = indexed_->reader().Get(key, &stored);
  if (!status.ok() && !status.IsNotFound()) return status;
  const StoredEntry* const entry = status.ok() ? &stored : nullptr;
  // Adoption alone need not compare: the write that made the entry made the
  // pair.
  const bool checking = (build_state & kFamilyChecking) != 0;
  if (entry != nullptr && !checking) return Status::OK();
  if (candidate.unreadable && !checking) {
    return JudgeUnreadable(family, key, nullptr, batch);
  }
  Compared compared;
  if (checking) {
    status = Compare(family, key, entry, batch, &compared);
    if (!status.ok() || compared.resolved) return status;
  }
  return WriteOutcome(family, build_state, candidate, entry, compared, batch);
}

Status PairJudge::Compare(const Family& family, const IndexKey& key,
                          const StoredEntry* entry, rocksdb::WriteBatch* batch,
                          Compared* compared) {
  compared->resolved = true;
  // An entity that has come since the iterator was made is a foreign write,
  // which has everything compared anew.
  Status status = indexed_->db()->Get(
      rocksdb::ReadOptions(), family.handle(),
      rocksdb::Slice(key.key.data(), key.key.size()), &compared->value);
  if (status.IsNotFound()) return Status::OK();  // the index pass judges it
  if (IsDamage(status)) return JudgeUnreadable(family, key, entry, batch);
  if (!status.ok()) return ValueError(status, family, key.key);
  if (entry != nullptr && Matches(family, key.key, *entry, compared->value)) {
    return Status::OK();
  }
  status = FindEvidence(family, key, /*pair_exists=*/true, &compared->evidence);
  if (!status.ok()) return status;
  compared->resolved = false;
  if (entry != nullptr && compared->evidence == Evidence::kUndatable) {
    return FlipBack(family, key, batch, &compared->resolved);
  }
  return Status::OK();
}

Status PairJudge::WriteOutcome(const Family& family, uint8_t build_state,
                               const Candidate& candidate,
                               const StoredEntry* entry,
                               const Compared& compared,
                               rocksdb::WriteBatch* batch) {
  const IndexKey key{candidate.position, family.id, candidate.key};
  const bool quarantined = entry != nullptr && entry->quarantined;
  const bool log_lost = compared.evidence == Evidence::kLogLost;
  const bool lost =
      compared.evidence == Evidence::kFileGone || (log_lost && !quarantined);
  if (lost && entry != nullptr && entry->tombstone) {
    // The deletion is lost, and what it covered shows again.
    const Status status = batch->Delete(family.handle(), candidate.key);
    if (status.ok()) indexed_->PutEntry(batch, key, *entry);
    return status;
  }
  if (compared.evidence != Evidence::kNone && !log_lost) {
    return PutWritten(key, compared.value.ToStringView(), batch);
  }
  if (entry == nullptr && (build_state & kFamilyAdopting) != 0) {
    StoredEntry pending;
    pending.pending = true;
    pending.hash_high = candidate.unversioned.high;
    pending.hash_low = candidate.unversioned.low;
    indexed_->PutEntry(batch, key, pending);
    return Status::OK();
  }
  if (quarantined) return Status::OK();
  // The entry keeps what it says: if the pair matches it again one day, it is
  // released.
  StoredEntry marked = entry != nullptr ? *entry : UnknownEntry();
  marked.quarantined = true;
  quarantine_->RecordNew();
  indexed_->PutEntry(batch, key, marked);
  return Status::OK();
}

Status PairJudge::PutWritten(const IndexKey& key, std::string_view value,
                             rocksdb::WriteBatch* batch) {
  StoredEntry entry = IssuedEntry({}, &value);
  const Status status =
      indexed_->DrawVersion(indexed_->WallMs(), &entry.version);
  if (status.ok()) indexed_->PutEntry(batch, key, entry);
  return status;
}

Status PairJudge::FlipBack(const Family& family, const IndexKey& key,
                           rocksdb::WriteBatch* batch, bool* flipped) {
  Examination found;
  const Status status = Examine(indexed_->reader(), family, key, &found);
  *flipped = status.ok() && found.repaired &&
             found.verdict == Examination::Verdict::kMatches;
  if (!*flipped) return status;
  found.entry.quarantined = false;
  indexed_->PutEntry(batch, key, found.entry);
  quarantine_->CountRepairedEntry();
  return status;
}

Status PairJudge::JudgeEntry(const Family& family, const IndexKey& key,
                             rocksdb::WriteBatch* batch) {
  // An entry that stands where no key has its own is corruption, and says
  // nothing of a pair: the scrub puts it right, or removes it.
  if (indexed_->hasher().Position(family.name, key.key) != key.position) {
    return Status::OK();
  }
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
  status = FindEvidence(family, key, /*pair_exists=*/false, &evidence);
  if (!status.ok()) return status;
  if (evidence != Evidence::kNone && evidence != Evidence::kLogLost) {
    entry = IssuedEntry({}, nullptr);
    status = indexed_->DrawVersion(indexed_->WallMs(), &entry.version);
    if (!status.ok()) return status;
  } else {
    entry.quarantined = true;
    quarantine_->RecordNew();
  }
  indexed_->PutEntry(batch, key, entry);
  return Status::OK();
}

Status PairJudge::JudgeUnreadable(const Family& family, const IndexKey& key,
                                  const StoredEntry* entry,
                                  rocksdb::WriteBatch* batch) {
  if (entry != nullptr && (entry->tombstone || entry->quarantined)) {
    return Status::OK();
  }
  const std::string name(key.key);
  StoredEntry judged = entry != nullptr ? *entry : UnknownEntry();
  judged.quarantined = true;
  quarantine_->unreadable()->NoteAndCheckPersisted(family.id, name,
                                                   indexed_->WallMs());
  quarantine_->RecordNew();
  indexed_->PutEntry(batch, key, judged);
  if (++unreadable_ <= kMaxLines) {
    rocksdb::Warn(
        indexed_->db()->GetDBOptions().info_log,
        "rocksync: the value of key %s of family %s does not read; "
        "it is quarantined until a peer has the pair, or the key is "
        "written or deleted%s",
        HexOf(name).c_str(), family.name.c_str(),
        unreadable_ == kMaxLines ? " (those that follow are not named)" : "");
  }
  return Status::OK();
}

bool PairJudge::Matches(const Family& family, std::string_view key,
                        const StoredEntry& entry, const Slice& value) const {
  if (entry.tombstone || entry.quarantined) return false;
  const ElementHasher& hasher = indexed_->reader().hasher();
  const std::string_view view = value.ToStringView();
  return CompleteHash(hasher, family.name, key,
                      PendingEntry(hasher, entry.version, &view)) ==
         CompleteHash(hasher, family.name, key, entry);
}

Status PairJudge::FindEvidence(const Family& family, const IndexKey& index_key,
                               bool pair_exists, Evidence* evidence) const {
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
  if (!pair_exists) {
    bool hidden = false;
    const Status read =
        HiddenByRange(indexed_->db(), family.handle(), key, &hidden);
    if (!read.ok() || hidden) {
      if (hidden) *evidence = Evidence::kWritten;
      return read;
    }
  }
  *evidence = evidence_of_(family, key, pair_exists, changed, indexed);
  return status;
}

}  // namespace rocksync
