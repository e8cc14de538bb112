// Disks that damage what they hold, and what replicas do about it.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/simulation/cluster_state.h"

namespace rocksync {

void Cluster::CorruptSomebody() {
  if (!faulty()) return;
  At(now_ms_ + random_.Between(1, 2 * shape_.corrupt_every_ms),
     [this] { CorruptSomebody(); });
  Replica& replica = Somebody();
  const MemoryStorage& storage = *replica.storage;
  if (replica.gone || storage.records().empty()) return;
  auto it = storage.records().begin();
  std::advance(it, random_.Below(storage.records().size()));
  const auto& [key, record] = *it;
  constexpr Damage kOfLive[] = {Damage::kValue, Damage::kNoEntry,
                                Damage::kNoPair};
  const Damage damage =
      record.tombstone ? Damage::kShows : kOfLive[random_.Below(3)];
  if (!storage.IsSynced(key) || record.damage != Damage::kNone ||
      !record.Counts(storage.stable_time())) {
    return;
  }
  ++result_.corruption;
  Trace(replica.name(), "'s disk damages ", key.first, "/", key.second);
  if (damage != Damage::kShows) {
    truth_.Corrupted(replica.id, key, record, Storages(&replica));
  }
  const RecordKey corrupted = key;
  replica.storage->Corrupt(corrupted, damage);
}

void Cluster::ScrubAll() {
  At(now_ms_ + random_.Between(1000, 10'000), [this] { ScrubAll(); });
  for (const auto& replica : replicas_) {
    if (!replica->up || replica->storage->Scrub() == 0) continue;
    Trace(replica->name(), " finds corruption");
    NoteQuarantined(replica.get());
  }
}

void Cluster::NoteQuarantined(Replica* replica) {
  if (replica->quarantined_seen == replica->storage->quarantined_found())
    return;
  replica->quarantined_seen = replica->storage->quarantined_found();
  replica->last_quarantined_ms = now_ms_;
}

// What no peer knew better of becomes unversioned, as the Scrubber has it.
void Cluster::ResolveQuarantined(Replica* replica) {
  if (replica->last_quarantined_ms == 0 || replica->equal_ms.empty() ||
      !std::all_of(
          replica->equal_ms.begin(), replica->equal_ms.end(),
          [&](uint64_t ms) { return ms > replica->last_quarantined_ms; })) {
    return;
  }
  replica->last_quarantined_ms = 0;
  const auto unversioned = replica->storage->ResolveQuarantined();
  for (const auto& [key, version] : unversioned) {
    Trace(replica->name(), " loses the version of ", key.first, "/",
          key.second);
    truth_.MadeUnversioned(key, version, replica->storage->records().at(key));
  }
  if (!unversioned.empty() && !faulty()) Settle();
}

}  // namespace rocksync
