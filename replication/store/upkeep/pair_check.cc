#include "replication/store/upkeep/pair_check.h"

#include <optional>
#include <string>
#include <string_view>

#include "replication/base/hex.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/upkeep/unreadable.h"
#include "replication/store/write/write_stall.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using Verdict = Examination::Verdict;

// Returns where an entry belongs whose index key may have a flipped bit.
std::optional<std::string> PlaceOf(const IndexReader& reader,
                                   std::string_view index_key) {
  const FamiliesInUse families = reader.families();
  for (size_t bit = 0; bit < 8 * index_key.size(); ++bit) {
    std::string candidate = WithBitFlipped(index_key, bit);
    IndexKey key;
    if (!ParseIndexKey(candidate, &key)) continue;
    const Family* const family = families->Find(key.family_id);
    if (family != nullptr &&
        reader.hasher().Position(family->name, key.key) == key.position) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace

Status PairCheck::Check(const Family& family, const std::string& key,
                        Finding* finding) {
  *finding = Finding::kFine;
  const IndexReader& reader = indexed_->reader();
  const IndexKey index_key{reader.hasher().Position(family.name, key),
                           family.id, key};
  const PatientGuard guard(indexed_->locks(), StripeOf(index_key.position),
                           LockDeadline());
  if (!guard.held()) return Stalled();
  // The family was dropped meanwhile.
  if (!reader.IsReplicated(family.id)) return Status::OK();
  Examination found;
  Status status = Examine(reader, family, index_key, &found);
  if (!status.ok()) return status;
  Decision decision;
  decision.entry = found.entry;
  decision.entry.quarantined = false;
  if (found.repaired) decision.finding = Finding::kRepaired;
  status = Decide(family, index_key, found, &decision);
  *finding = decision.finding;
  if (!status.ok() || decision.finding == Finding::kFine) return status;
  switch (decision.action) {
    case Decision::Action::kKeep:
      return status;
    case Decision::Action::kRemove:
      indexed_->RemoveEntry(&decision.batch, index_key);
      return Write(&decision.batch, *finding);
    case Decision::Action::kStore:
      break;
  }
  return Store(family, index_key, found, &decision, finding);
}

Status PairCheck::Decide(const Family& family, const IndexKey& key,
                         const Examination& found, Decision* decision) {
  const bool quarantined = found.entry.quarantined && !found.entry.damaged;
  switch (found.verdict) {
    case Verdict::kUnknown:
      if (found.has_value || found.corrupt) {
        decision->finding = Finding::kMarked;
        decision->entry = UnknownEntry();
      } else {
        // If an entry is there, it is a collected tombstone that the sweep did
        // not recognise.
        decision->action = Decision::Action::kRemove;
      }
      return Status::OK();
    case Verdict::kMatches:
      if (quarantined && !found.repaired) {
        decision->finding = Finding::kReleased;
      }
      return Status::OK();
    case Verdict::kDiffers:
    case Verdict::kEntity:
      MarkUnless(quarantined, found, decision);
      return Status::OK();
    case Verdict::kShows:
      if (quarantined && !found.repaired) return Status::OK();
      return JudgeShowing(family, key, decision->entry, &decision->entry,
                          &decision->batch, &decision->finding);
    case Verdict::kUnreadable:
      // A tombstone does not say that there is anything to be read.
      if (found.entry.tombstone) return Status::OK();
      quarantine_->unreadable()->NoteAndCheckPersisted(
          family.id, std::string(key.key), indexed_->WallMs());
      MarkUnless(quarantined, found, decision);
      return Status::OK();
  }
  return Status::OK();
}

// Quarantines the pair unless it is already. The entry keeps what it says, if
// anything.
void PairCheck::MarkUnless(bool quarantined, const Examination& found,
                           Decision* decision) {
  if (quarantined) {
    decision->action = Decision::Action::kKeep;
    return;
  }
  decision->finding = Finding::kMarked;
  if (found.entry.damaged) decision->entry = UnknownEntry();
  decision->entry.quarantined = true;
}

Status PairCheck::Store(const Family& family, const IndexKey& key,
                        const Examination& found, Decision* decision,
                        Finding* finding) {
  if ((*finding == Finding::kMarked || *finding == Finding::kDeletedAgain) &&
      !index_build_->AllIsIndexed()) {
    *finding = Finding::kFine;
    return Status::TryAgain("rocksync",
                            InProgressText(index_build_->Progress()));
  }
  const std::string pair_key(key.key);
  if (found.verdict != Verdict::kUnreadable) {
    quarantine_->unreadable()->Forget(family.id, pair_key);
  }
  indexed_->PutEntry(&decision->batch, key, decision->entry);
  const Status status = Write(&decision->batch, *finding);
  if (status.ok()) Log(family, pair_key, found, *finding);
  return status;
}

// Judges a tombstone with a pair. If the pair was written later, the tombstone
// is not the truth any more: that write's entry is lost. Else it is applied
// once more.
Status PairCheck::JudgeShowing(const Family& family, const IndexKey& key,
                               const StoredEntry& entry, StoredEntry* judged,
                               rocksdb::WriteBatch* batch, Finding* finding) {
  std::string bytes;
  AppendIndexKey(&bytes, key);
  const Slice pair_key(key.key.data(), key.key.size());
  uint64_t written = 0;
  uint64_t deleted = 0;
  Status status =
      NewestSequence(indexed_->db(), family.handle(), pair_key, &written);
  if (status.ok()) {
    status = NewestSequence(indexed_->db(), indexed_->reader().index(), bytes,
                            &deleted);
  }
  if (!status.ok()) return status;
  if (written > deleted) {
    *finding = Finding::kMarked;
    *judged = UnknownEntry();
    return status;
  }
  *finding = Finding::kDeletedAgain;
  *judged = entry;
  return batch->Delete(family.handle(), pair_key);
}

Status PairCheck::Write(rocksdb::WriteBatch* batch, Finding finding) {
  // Digests may have counted a damaged entry as what it was before.
  if (finding != Finding::kReleased) indexed_->digests()->Distrust();
  const Status status =
      indexed_->patient()->Write(rocksdb::WriteOptions(), batch);
  if (status.ok()) Count(finding);
  return status;
}

void PairCheck::Count(Finding finding) {
  switch (finding) {
    case Finding::kMarked:
      quarantine_->RecordNew();
      break;
    case Finding::kReleased:
      quarantine_->CountReleased(1);
      break;
    case Finding::kRepaired:
      quarantine_->CountRepairedEntry();
      break;
    case Finding::kRemoved:
      quarantine_->CountRemovedEntry();
      break;
    case Finding::kFine:
    case Finding::kDeletedAgain:
      break;
  }
}

void PairCheck::Log(const Family& family, const std::string& key,
                    const Examination& found, Finding finding) const {
  const char* what = "";
  switch (found.verdict) {
    case Verdict::kUnknown:
      what = "has no index entry";
      break;
    case Verdict::kMatches:
      what = finding == Finding::kRepaired
                 ? "has an index entry with one bit flipped"
                 : "reads and matches its index entry again";
      break;
    case Verdict::kDiffers:
      what = found.entry.damaged ? "has an index entry that does not parse"
             : found.entry.tombstone
                 ? "has a tombstone in the index whose hash does not match"
             : found.has_value ? "does not match its index entry"
             : found.lost      ? "is in a file that is not there"
                               : "is not there, its index entry is";
      break;
    case Verdict::kShows:
      what = "is deleted, but there";
      break;
    case Verdict::kUnreadable:
      what = "does not read";
      break;
    case Verdict::kEntity:
      what =
          "is a wide-column entity, which is not replicated (write it with "
          "Put)";
      break;
  }
  const char* then = "";
  switch (finding) {
    case Finding::kFine:
    case Finding::kRemoved:
      break;
    case Finding::kReleased:
      then = "not quarantined any more";
      break;
    case Finding::kRepaired:
      then = "repaired";
      break;
    case Finding::kDeletedAgain:
      then = "deleted again";
      break;
    case Finding::kMarked:
      then =
          "quarantined until it matches, or a peer's pair or a write replaces "
          "it";
      break;
  }
  rocksdb::Warn(indexed_->db()->GetDBOptions().info_log,
                "rocksync: corruption: key %s of family %s %s: %s",
                HexOf(key).c_str(), family.name.c_str(), what, then);
}

Status PairCheck::Resolve(const Family& family, const std::string& key,
                          bool* resolved) {
  *resolved = false;
  const IndexReader& reader = indexed_->reader();
  const IndexKey index_key{reader.hasher().Position(family.name, key),
                           family.id, key};
  const PatientGuard guard(indexed_->locks(), StripeOf(index_key.position),
                           LockDeadline());
  if (!guard.held()) return Stalled();
  Examination found;
  // A pair that cannot be read, or replicated, stays quarantined.
  if (!Examine(reader, family, index_key, &found).ok()) return Status::OK();
  if (found.verdict == Verdict::kUnknown || !found.entry.quarantined ||
      found.corrupt || found.lost || found.entity) {
    return Status::OK();
  }
  if (!index_build_->AllIsIndexed()) {
    return Status::TryAgain("rocksync",
                            InProgressText(index_build_->Progress()));
  }
  rocksdb::WriteBatch batch;
  Finding finding = Finding::kMarked;
  if (found.verdict == Verdict::kMatches) {
    finding = found.repaired ? Finding::kRepaired : Finding::kReleased;
    found.entry.quarantined = false;
    indexed_->PutEntry(&batch, index_key, found.entry);
    const Status status = Write(&batch, finding);
    if (status.ok()) Log(family, key, found, finding);
    return status;
  }
  if (found.has_value) {
    const std::string_view view = found.value;
    indexed_->PutEntry(&batch, index_key,
                       PendingEntry(reader.hasher(), {}, &view));
  } else {
    indexed_->RemoveEntry(&batch, index_key);
  }
  const Status status =
      indexed_->patient()->Write(rocksdb::WriteOptions(), &batch);
  *resolved = status.ok();
  return status;
}

Status PairCheck::CheckStray(const std::string& index_key, Finding* finding) {
  *finding = Finding::kFine;
  const IndexReader& reader = indexed_->reader();
  const std::optional<std::string> place = PlaceOf(reader, index_key);
  IndexKey here;
  const bool parses = ParseIndexKey(index_key, &here);
  IndexKey key = here;
  if (place.has_value() && !ParseIndexKey(*place, &key)) return Status::OK();
  // The purge takes the entry. A flipped bit could also make it an entry of a
  // family that was created by the name of the one that went.
  if (parses && index_build_->IsBeingPurged(here.family_id))
    return Status::OK();
  FamiliesInUse families;
  const Family* family = nullptr;  // the one of the place
  {
    const PatientGuard guard(indexed_->locks(), StripeOf(key.position),
                             LockDeadline());
    if (!guard.held()) return Stalled();
    // Families may have come and gone since the caller looked. From here on
    // none does: an entry of one that came is no stray, and the purge takes
    // those of one that went.
    families = reader.families();
    const Family* const of_key =
        parses ? families->Find(here.family_id) : nullptr;
    if (of_key != nullptr &&
        reader.hasher().Position(of_key->name, here.key) == here.position) {
      return Status::OK();
    }
    if (!place.has_value() && parses && of_key == nullptr) return Status::OK();
    if (place.has_value()) {
      family = families->Find(key.family_id);
      if (family == nullptr) return Status::OK();
    }
    const Status status =
        MoveStray(index_key, place.has_value() ? &key : nullptr, finding);
    if (!status.ok() || *finding == Finding::kFine) return status;
  }
  if (!place.has_value()) return Status::OK();
  Finding then = Finding::kFine;
  return Check(*family, std::string(key.key), &then);
}

Status PairCheck::WouldDelete(const std::string& bytes, const IndexKey& key,
                              bool* deletes) const {
  StoredEntry entry;
  *deletes = false;
  if (!ParseEntry(bytes, indexed_->home_id(), &entry) || !entry.tombstone) {
    return Status::OK();
  }
  const FamiliesInUse now = indexed_->families();
  const Family* const family = now->Find(key.family_id);
  if (family == nullptr) return Status::OK();
  std::string value;
  const Status status =
      indexed_->db()->Get(rocksdb::ReadOptions(), family->handle(),
                          Slice(key.key.data(), key.key.size()), &value);
  *deletes = !status.IsNotFound();
  return status.ok() || status.IsNotFound() || IsDamage(status) ? Status::OK()
                                                                : status;
}

Status PairCheck::MoveStray(const std::string& index_key, const IndexKey* to,
                            Finding* finding) {
  const IndexReader& reader = indexed_->reader();
  rocksdb::DB* const db = indexed_->db();
  std::string bytes;
  Status status =
      db->Get(rocksdb::ReadOptions(), reader.index(), index_key, &bytes);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return IndexError(status);
  rocksdb::WriteBatch batch;
  Finding found = Finding::kRemoved;
  if (to != nullptr) {
    StoredEntry there;
    status = reader.Get(*to, &there);
    if (!status.ok() && !status.IsNotFound()) return status;
    const bool vacant = !status.ok() || !SaysAnything(there);
    bool deletes = false;
    if (vacant) status = WouldDelete(bytes, *to, &deletes);
    if (vacant && !status.ok()) return status;
    if (vacant && !deletes) {
      std::string place;
      AppendIndexKey(&place, *to);
      status = batch.Put(reader.index(), place, bytes);
      if (!status.ok()) return status;
      found = Finding::kRepaired;
    }
  }
  status = batch.Delete(reader.index(), index_key);
  if (status.ok()) status = Write(&batch, found);
  if (!status.ok()) return status;
  *finding = found;
  rocksdb::Warn(
      db->GetDBOptions().info_log,
      "rocksync: corruption: an index entry under %s, which is no key's: %s",
      HexOf(index_key).c_str(),
      found == Finding::kRepaired ? "one bit flipped back" : "removed");
  return status;
}

}  // namespace rocksync
