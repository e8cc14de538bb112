#include "tests/simulation/memory_storage.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/session/acceptance.h"
#include "replication/session/conflict.h"
#include "replication/text/storage_errors.h"
#include "tests/simulation/memory_account.h"
#include "tests/simulation/memory_snapshot.h"

namespace rocksync {
namespace {

// Like the store's: versions are issued under a lease persisted ahead, so that
// none is issued twice after a crash.
constexpr uint64_t kLeaseMs = 1000;

bool Replaces(const Pair& pair, const Record& record, const ElementHash& hash) {
  // Only of equal versions does the value count.
  if (pair.version == record.version && !pair.tombstone &&
      record.damage == Damage::kValue) {
    return true;
  }
  return Beats(
      {.version = pair.version, .tombstone = pair.tombstone, .hash = hash},
      AsContender(record));
}

}  // namespace

MemoryStorage::MemoryStorage(const ElementHasher* hasher, Options options)
    : hasher_(hasher), options_(std::move(options)) {}

// --- Local writes -----------------------------------------------------------

Version MemoryStorage::DrawVersion() {
  FollowClock(std::max(clock_ + 1, options_.wall_ms() << 16));
  return {.time = clock_, .replica = options_.replica_id};
}

void MemoryStorage::FollowClock(uint64_t reading) {
  clock_ = std::max(clock_, reading);
  if (clock_ >= lease_) lease_ = clock_ + (kLeaseMs << 16);
}

Version MemoryStorage::Write(Pair pair) {
  pair.version = DrawVersion();
  Store(pair);
  if (options_.sync_every_write && !Sync().ok()) return {};
  return pair.version;
}

Version MemoryStorage::Put(uint32_t family, std::string_view key,
                           std::string_view value) {
  return Write({.family = family,
                .key = std::string(key),
                .version = {},
                .tombstone = false,
                .value = std::string(value)});
}

Version MemoryStorage::Delete(uint32_t family, std::string_view key) {
  return Write(Tombstone(family, key));
}

Pair MemoryStorage::Tombstone(uint32_t family, std::string_view key) const {
  return {.family = family,
          .key = std::string(key),
          .version = {},
          .tombstone = true,
          .value = ""};
}

std::vector<MemoryStorage::Key> MemoryStorage::DeleteRange(
    uint32_t family, std::string_view begin, std::string_view end) {
  std::vector<Key> keys;
  if (end <= begin) return keys;
  const auto last = current_->lower_bound({family, std::string(end)});
  for (auto it = current_->lower_bound({family, std::string(begin)});
       it != last; ++it) {
    if (!it->second.tombstone) keys.push_back(it->first);
  }
  if (keys.empty()) return keys;
  const Version version = DrawVersion();
  for (const Key& key : keys) {
    Pair pair = Tombstone(family, key.second);
    pair.version = version;
    Store(pair);
  }
  if (options_.sync_every_write) Sync().IgnoreError();
  return keys;
}

void MemoryStorage::PutUnversioned(uint32_t family, std::string_view key,
                                   std::string_view value) {
  Store({.family = family,
         .key = std::string(key),
         .version = {},
         .tombstone = false,
         .value = std::string(value)});
}

void MemoryStorage::Forge(uint32_t family, std::string_view key,
                          std::string_view value) {
  Store({.family = family,
         .key = std::string(key),
         .version = current_->at({family, std::string(key)}).version,
         .tombstone = false,
         .value = std::string(value)});
}

Records& MemoryStorage::Changing() {
  if (current_.use_count() > 1) current_ = std::make_shared<Records>(*current_);
  return *current_;
}

Record& MemoryStorage::Changing(const Key& key) {
  unsynced_.insert(key);
  return Changing()[key];
}

void MemoryStorage::Erase(const Key& key) {
  unsynced_.insert(key);
  Changing().erase(key);
}

void MemoryStorage::Store(const Pair& pair) {
  Record& record = Changing({pair.family, pair.key});
  record = {};
  record.version = pair.version;
  record.tombstone = pair.tombstone;
  record.position = PositionOf(pair.family, pair.key);
  record.hash = HashOf(pair);
  if (pair.tombstone) return;
  record.value = std::make_shared<const std::string>(pair.value);
}

std::unique_ptr<MemoryStorage> MemoryStorage::Copy(Options options) const {
  auto copy = std::make_unique<MemoryStorage>(hasher_, std::move(options));
  *copy->current_ = *current_;
  copy->synced_ = *current_;
  copy->gc_ = copy->synced_gc_ = gc_;
  copy->clock_ = lease_;
  copy->lease_ = lease_;
  return copy;
}

std::optional<std::string> MemoryStorage::Get(uint32_t family,
                                              std::string_view key) const {
  const auto it = current_->find({family, std::string(key)});
  if (it == current_->end() || it->second.tombstone ||
      it->second.damage == Damage::kNoPair) {
    return std::nullopt;
  }
  return *it->second.value;
}

absl::Status MemoryStorage::ReadPair(uint32_t family, std::string_view key,
                                     Pair* pair) {
  const auto it = current_->find({family, std::string(key)});
  if (it == current_->end() || !it->second.Counts(stable_time()) ||
      it->second.damage == Damage::kNoPair) {
    return absl::NotFoundError("no pair that may be shown");
  }
  const Record& record = it->second;
  *pair = {family, std::string(key), record.version, record.tombstone, {}};
  if (record.tombstone) return absl::OkStatus();
  pair->value = record.damage == Damage::kValue ? Corrupted(*record.value)
                                                : *record.value;
  if (HashOf(*pair) == record.hash ||
      options_.fault == PlantedFault::kOfferCorrupt) {
    return absl::OkStatus();
  }
  MarkQuarantined({family, pair->key}, record.version);
  return absl::NotFoundError("the value is not what the index says");
}

// --- Tombstone garbage collection --------------------------------------------

void MemoryStorage::SetGcState(GcState gc, bool sync) {
  gc_ = std::move(gc);
  if (sync) Sync().IgnoreError();
}

void MemoryStorage::Sweep() {
  std::vector<Key> collected;
  for (const auto& [key, record] : *current_) {
    if (IsCollected(record.tombstone, record.version, stable_time())) {
      collected.push_back(key);
    }
  }
  for (const Key& key : collected) Erase(key);
}

// --- Faults -----------------------------------------------------------------

void MemoryStorage::Crash() {
  for (const Key& key : unsynced_) {
    const auto it = synced_.find(key);
    if (it == synced_.end()) {
      Changing().erase(key);
    } else {
      Changing()[key] = it->second;
    }
  }
  unsynced_.clear();
  gc_ = synced_gc_;
  clock_ = lease_;
}

void MemoryStorage::FailApply(absl::Status status, int count) {
  apply_failure_ = std::move(status);
  apply_failures_ = count;
}

void MemoryStorage::Corrupt(const Key& key, Damage damage) {
  Changing().at(key).damage = damage;
  if (IsSynced(key)) synced_.at(key).damage = damage;
}

void MemoryStorage::MarkQuarantined(const Key& key, const Version& version) {
  const Charging nobody(nullptr);
  const auto it = current_->find(key);
  if (it == current_->end() || it->second.quarantined ||
      it->second.version != version) {
    return;
  }
  Changing(key).quarantined = true;
  ++quarantined_found_;
}

uint64_t MemoryStorage::Scrub() {
  std::vector<Key> damaged;
  for (const auto& [key, record] : *current_) {
    if (record.damage != Damage::kNone && !record.quarantined) {
      damaged.push_back(key);
    }
  }
  for (const Key& key : damaged) {
    Record& record = Changing(key);
    if (record.damage == Damage::kShows) {
      record.damage = Damage::kNone;  // deleted once more
    } else {
      record.quarantined = true;
      ++quarantined_found_;
    }
  }
  return damaged.size();
}

std::vector<std::pair<MemoryStorage::Key, Version>>
MemoryStorage::ResolveQuarantined() {
  std::vector<std::pair<Key, Version>> unversioned;
  std::vector<Key> gone;
  for (const auto& [key, record] : *current_) {
    if (!record.quarantined) continue;
    if (record.damage == Damage::kNoPair) {
      gone.push_back(key);
    } else {
      unversioned.emplace_back(key, record.version);
    }
  }
  for (const Key& key : gone) Erase(key);
  for (const auto& [key, version] : unversioned) {
    const Record& record = current_->at(key);
    PutUnversioned(key.first, key.second,
                   record.damage == Damage::kValue
                       ? Corrupted(*record.value)
                       : std::string(*record.value));
  }
  return unversioned;
}

bool MemoryStorage::HasQuarantined() const {
  return std::any_of(current_->begin(), current_->end(), [](const auto& entry) {
    return entry.second.quarantined;
  });
}

// --- StorageView ------------------------------------------------------------

absl::StatusOr<std::unique_ptr<StorageSnapshot>> MemoryStorage::TakeSnapshot(
    const std::function<bool()>& cancelled) {
  const Charging nobody(nullptr);
  if (!index_build_.empty()) return IndexBuildError(index_build_);
  if (cancelled && cancelled()) return absl::CancelledError("stopped");
  std::shared_ptr<const Records> visible = current_;
  if (options_.fault == PlantedFault::kDropIndexEntry) {
    auto without = std::make_shared<Records>(*current_);
    for (auto it = without->begin(); it != without->end(); ++it) {
      if (it->second.version.replica != options_.replica_id) continue;
      without->erase(it);
      break;
    }
    visible = std::move(without);
  }
  MemorySnapshot::CorruptionFound corruption_found;
  if (options_.fault != PlantedFault::kOfferCorrupt) {
    corruption_found = [this](const Key& key, const Version& version) {
      MarkQuarantined(key, version);
    };
  }
  return std::make_unique<MemorySnapshot>(std::move(visible), stable_time(),
                                          options_.leaf_bits,
                                          std::move(corruption_found));
}

absl::Status MemoryStorage::Apply(std::span<const Pair> pairs,
                                  const std::function<bool()>& cancelled,
                                  std::vector<ApplyOutcome>* outcomes) {
  const Charging nobody(nullptr);
  outcomes->clear();
  if (before_apply_) before_apply_();
  if (apply_failures_ > 0) {
    --apply_failures_;
    return apply_failure_;
  }
  for (const Pair& pair : pairs) outcomes->push_back(ApplyOne(pair));
  return absl::OkStatus();
}

ApplyOutcome MemoryStorage::ApplyOne(const Pair& pair) {
  if (RejectIfTooFarAhead(pair.version)) return ApplyOutcome::kHeldBack;
  FollowClock(pair.version.time);
  const Key key = {pair.family, pair.key};
  const auto it = current_->find(key);
  const bool collected =
      IsCollected(pair.tombstone, pair.version, stable_time());
  bool wins = !collected;
  if (it != current_->end() &&
      (it->second.quarantined || it->second.Counts(stable_time()))) {
    wins = it->second.quarantined || Replaces(pair, it->second, HashOf(pair)) ||
           options_.fault == PlantedFault::kAcceptStaleVersion;
  }
  if (!wins) return ApplyOutcome::kSuperseded;
  if (pair.tombstone && options_.fault == PlantedFault::kSkipTombstone) {
    return ApplyOutcome::kApplied;
  }
  if (collected) {  // it kills something after all, and leaves no entry
    Erase(key);
    return ApplyOutcome::kApplied;
  }
  Pair stored = pair;
  if (options_.fault == PlantedFault::kReinventVersion) {
    stored.version = DrawVersion();
  }
  Store(stored);
  if (pair.tombstone && options_.fault == PlantedFault::kDropTombstone) {
    Changing().erase(key);
  }
  return ApplyOutcome::kApplied;
}

uint32_t MemoryStorage::FamilyCount() const {
  return static_cast<uint32_t>(options_.families.size());
}

bool MemoryStorage::RejectIfTooFarAhead(const Version& version) const {
  return options_.fault != PlantedFault::kForgetLimit &&
         TooFarAhead(version, options_.wall_ms(), options_.max_ahead_ms);
}

uint64_t MemoryStorage::PositionOf(uint32_t family,
                                   std::string_view key) const {
  return hasher_->Position(options_.families[family], key);
}

ElementHash MemoryStorage::HashOf(const Pair& pair) const {
  const std::string& family = options_.families[pair.family];
  if (pair.tombstone) {
    return hasher_->HashTombstone(family, pair.key, pair.version);
  }
  return hasher_->HashPair(family, pair.key, pair.version,
                           hasher_->HashValue(pair.version, pair.value));
}

absl::Status MemoryStorage::Sync() {
  const Charging nobody(nullptr);
  ++syncs_;
  if (options_.fault == PlantedFault::kSyncLies) return absl::OkStatus();
  for (const Key& key : unsynced_) {
    const auto it = current_->find(key);
    if (it == current_->end()) {
      synced_.erase(key);
    } else {
      synced_[key] = it->second;
    }
  }
  unsynced_.clear();
  synced_gc_ = gc_;
  return absl::OkStatus();
}

}  // namespace rocksync
