#include "tests/simulation/memory_storage.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/apply.h"

namespace rocksync {
namespace {

// Like the store's: versions are issued under a lease persisted ahead, so that
// none is issued twice after a crash.
constexpr uint64_t kLeaseMs = 1000;

Contender AsContender(const Pair& pair) {
  return {.version = pair.version,
          .tombstone = pair.tombstone,
          .value = HashValue(pair.value)};
}

Contender AsContender(const MemoryStorage::Record& record) {
  return {.version = record.version,
          .tombstone = record.tombstone,
          .value = HashValue(record.value)};
}

// The digests of all leaves take 1.5 MiB. A simulation takes many snapshots of
// few elements, so the vector is lent out, and returned with all digests 0.
class DigestPool {
 public:
  std::vector<Digest> Take() {
    if (free_.empty()) return std::vector<Digest>(kLeafCount);
    std::vector<Digest> digests = std::move(free_.back());
    free_.pop_back();
    return digests;
  }
  void Return(std::vector<Digest> digests) {
    free_.push_back(std::move(digests));
  }

 private:
  std::vector<std::vector<Digest>> free_;
};
DigestPool& Digests() {
  thread_local DigestPool pool;
  return pool;
}

}  // namespace

class MemoryStorage::Snapshot final : public StorageSnapshot {
 public:
  Snapshot(Records records, std::set<Key> rotten)
      : records_(std::move(records)),
        rotten_(std::move(rotten)),
        digests_(Digests().Take()) {
    for (const auto& [key, record] : records_) {
      order_.push_back({record.position, &key, &record});
      digests_[LeafOf(record.position)].Add(record.hash);
    }
    std::sort(order_.begin(), order_.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.position, *a.key) < std::tie(b.position, *b.key);
    });
  }

  ~Snapshot() override {
    for (const Entry& entry : order_) digests_[LeafOf(entry.position)] = {};
    Digests().Return(std::move(digests_));
  }

  std::span<const Digest> LeafDigests() const override { return digests_; }

  absl::Status ScanLeaf(uint32_t leaf,
                        const std::function<void(uint64_t, const ElementHash&)>&
                            visit) const override {
    for (auto it = From(uint64_t{leaf} << (64 - kLeafBits));
         it != order_.end() && LeafOf(it->position) == leaf; ++it) {
      visit(it->position, it->record->hash);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    for (auto it = From(position);
         it != order_.end() && it->position == position; ++it) {
      if (it->record->hash == hash) return AsEntry(*it->key, *it->record);
    }
    return absl::NotFoundError("no such element");
  }

  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    const auto it = records_.find({family, std::string(key)});
    if (it == records_.end()) return std::nullopt;
    return AsEntry(it->first, it->second);
  }

  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    const Key key = {entry.family, entry.key};
    const auto it = records_.find(key);
    if (it == records_.end()) return absl::NotFoundError("no such key");
    if (rotten_.count(key) > 0) return absl::DataLossError("rot");
    return it->second.value;
  }

 private:
  struct Entry {
    uint64_t position;
    const Key* key;
    const Record* record;
  };

  std::vector<Entry>::const_iterator From(uint64_t position) const {
    return std::lower_bound(
        order_.begin(), order_.end(), position,
        [](const Entry& entry, uint64_t at) { return entry.position < at; });
  }

  static IndexEntry AsEntry(const Key& key, const Record& record) {
    return {.family = key.first,
            .key = key.second,
            .version = record.version,
            .tombstone = record.tombstone,
            .hash = record.hash};
  }

  const Records records_;
  const std::set<Key> rotten_;
  std::vector<Digest> digests_;
  std::vector<Entry> order_;
};

MemoryStorage::MemoryStorage(const ElementHasher* hasher, Options options)
    : hasher_(hasher), options_(std::move(options)) {}

// --- Local writes -----------------------------------------------------------

Version MemoryStorage::DrawVersion() {
  clock_ = std::max(clock_ + 1, options_.wall_ms() << 16);
  if (clock_ >= lease_) lease_ = clock_ + (kLeaseMs << 16);
  return {.time = clock_, .replica = options_.replica_id};
}

void MemoryStorage::Follow(const Version& version) {
  clock_ = std::max(clock_, version.time);
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
  const auto last = current_.lower_bound({family, std::string(end)});
  for (auto it = current_.lower_bound({family, std::string(begin)}); it != last;
       ++it) {
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

void MemoryStorage::Adopt(uint32_t family, std::string_view key,
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
         .version = current_.at({family, std::string(key)}).version,
         .tombstone = false,
         .value = std::string(value)});
}

void MemoryStorage::Store(const Pair& pair) {
  Key key = {pair.family, pair.key};
  Record record{.version = pair.version,
                .tombstone = pair.tombstone,
                .value = pair.value,
                .hash = HashOf(pair),
                .position = PositionOf(pair.family, pair.key)};
  unsynced_.insert(key);
  current_[std::move(key)] = std::move(record);
}

std::unique_ptr<MemoryStorage> MemoryStorage::Copy(Options options) const {
  auto copy = std::make_unique<MemoryStorage>(hasher_, std::move(options));
  copy->current_ = current_;
  copy->synced_ = current_;
  copy->rotten_ = rotten_;
  copy->clock_ = lease_;
  copy->lease_ = lease_;
  return copy;
}

std::optional<std::string> MemoryStorage::Get(uint32_t family,
                                              std::string_view key) const {
  const auto it = current_.find({family, std::string(key)});
  if (it == current_.end() || it->second.tombstone) return std::nullopt;
  return it->second.value;
}

// --- Faults -----------------------------------------------------------------

void MemoryStorage::Crash() {
  for (const Key& key : unsynced_) {
    const auto it = synced_.find(key);
    if (it == synced_.end()) {
      current_.erase(key);
    } else {
      current_[key] = it->second;
    }
  }
  unsynced_.clear();
  clock_ = lease_;
}

void MemoryStorage::FailApply(absl::Status status, int count) {
  apply_failure_ = std::move(status);
  apply_failures_ = count;
}

void MemoryStorage::Rot(uint32_t family, std::string_view key) {
  rotten_.insert({family, std::string(key)});
}

// --- StorageView ------------------------------------------------------------

absl::StatusOr<std::unique_ptr<StorageSnapshot>> MemoryStorage::TakeSnapshot(
    const std::function<bool()>& cancelled) {
  if (!unavailable_.empty()) return absl::UnavailableError(unavailable_);
  if (cancelled && cancelled()) return absl::CancelledError("stopped");
  Records visible = current_;
  if (options_.fault == PlantedFault::kDropIndexEntry) {
    for (auto it = visible.begin(); it != visible.end(); ++it) {
      if (it->second.version.replica != options_.replica_id) continue;
      visible.erase(it);
      break;
    }
  }
  return std::make_unique<Snapshot>(std::move(visible), rotten_);
}

absl::Status MemoryStorage::Apply(std::span<const Pair> pairs,
                                  const std::function<bool()>& cancelled,
                                  std::vector<ApplyOutcome>* outcomes) {
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
  if (HoldsBack(pair.version)) return ApplyOutcome::kHeldBack;
  Follow(pair.version);
  const auto it = current_.find({pair.family, pair.key});
  const bool wins = it == current_.end() ||
                    options_.fault == PlantedFault::kAcceptStaleVersion ||
                    Beats(AsContender(pair), AsContender(it->second));
  if (!wins) return ApplyOutcome::kSuperseded;
  if (pair.tombstone && options_.fault == PlantedFault::kSkipTombstone) {
    return ApplyOutcome::kApplied;
  }
  Pair stored = pair;
  if (options_.fault == PlantedFault::kReinventVersion) {
    stored.version = DrawVersion();
  }
  Store(stored);
  if (pair.tombstone && options_.fault == PlantedFault::kDropTombstone) {
    current_.erase({pair.family, pair.key});
  }
  return ApplyOutcome::kApplied;
}

uint32_t MemoryStorage::FamilyCount() const {
  return static_cast<uint32_t>(options_.families.size());
}

bool MemoryStorage::HoldsBack(const Version& version) const {
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
                           HashValue(pair.value));
}

absl::Status MemoryStorage::Sync() {
  ++syncs_;
  if (options_.fault == PlantedFault::kSyncLies) return absl::OkStatus();
  for (const Key& key : unsynced_) {
    const auto it = current_.find(key);
    if (it == current_.end()) {
      synced_.erase(key);
    } else {
      synced_[key] = it->second;
    }
  }
  unsynced_.clear();
  return absl::OkStatus();
}

}  // namespace rocksync
