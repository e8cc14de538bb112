#include "replication/store/replica_view.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/base/status.h"
#include "replication/store/index/index_snapshot.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/store.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/membership.h"
#include "rocksdb/snapshot.h"

namespace rocksync {
namespace {

std::shared_ptr<const FamilyTable> NamesOf(Store* store) {
  const FamiliesInUse now = store->indexed()->families();
  return now->CopyNames();
}

bool ReplicatesAs(Store* store, const FamilyTable& families) {
  const FamiliesInUse now = store->indexed()->families();
  return now->ReplicatesAs(families);
}

absl::Status FamiliesChanged() {
  return absl::UnavailableError(
      "a replicated column family was created or dropped; reconnecting");
}

class RocksDBView final : public ReplicaView {
 public:
  RocksDBView(Store* store, ReadsDone read)
      : store_(store),
        read_(std::move(read)),
        families_(NamesOf(store)),
        terms_(store->applier()->terms()) {}

  void AgreeOn(const Terms& terms, uint64_t peer_id,
               const IncarnationId& peer_incarnation) override {
    const std::lock_guard lock(mutex_);
    terms_ = terms;
    sender_ = {peer_id, peer_incarnation};
  }
  bool stale() const override {
    return !terms().StillHold(store_->applier()->terms()) ||
           !FamiliesAreTheSame();
  }

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    if (!FamiliesAreTheSame()) return FamiliesChanged();
    LeafDigests::DigestSnapshot readied;
    const absl::Status status = store_->TakeSnapshot(cancelled, &readied);
    if (!status.ok()) return status;
    // Checked again: the digests are of the families at the time they were
    // readied.
    const std::shared_ptr<const FamilyTable> read = FamiliesToRead();
    if (read == nullptr) return FamiliesChanged();
    // Both sides must leave out the same tombstones.
    Terms now = store_->applier()->terms();
    now.stable_time = readied.snapshot->stable_time();
    if (!terms().StillHold(now)) {
      return absl::UnavailableError(
          "the member list, or what is collected, has changed; reconnecting");
    }
    return NewIndexSnapshot(
        store_->indexed()->reader(), read, std::move(readied),
        [store = store_, names = families_] {
          return ReplicatesAs(store, *names) ? absl::OkStatus()
                                             : FamiliesChanged();
        },
        [store = store_](const std::string& index_key) {
          store->Reexamine(index_key);
        },
        [store = store_] { store->DistrustDigests(); }, read_);
  }

  absl::Status Apply(std::span<const Pair> pairs,
                     const std::function<bool()>& cancelled,
                     std::vector<ApplyOutcome>* outcomes) override {
    return FamiliesAreTheSame()
               ? store_->applier()->Apply(pairs, *families_, sender_, terms(),
                                          cancelled, outcomes)
               : FamiliesChanged();
  }

  uint32_t FamilyCount() const override {
    return static_cast<uint32_t>(families_->families().size());
  }
  std::vector<std::string> family_names() const override {
    std::vector<std::string> names;
    for (const Family& family : families_->families()) {
      names.push_back(family.name);
    }
    return names;
  }
  bool RejectIfTooFarAhead(const Version& version) const override {
    return store_->held_back()->RejectIfTooFarAhead(version);
  }
  void NoteOversized(uint32_t family, std::string_view key) const override {
    store_->held_back()->NoteOversized(families_->families()[family].name, key);
  }
  std::optional<uint32_t> OrdinalOf(uint32_t family_id) const override {
    const Family* const family = families_->Find(family_id);
    return family == nullptr ? std::nullopt
                             : std::optional<uint32_t>(family->ordinal);
  }
  absl::Status ReadPair(uint32_t family, std::string_view key,
                        Pair* pair) const override {
    const IndexReader& reader = store_->indexed()->reader();
    const FamiliesInUse now = store_->indexed()->families();
    if (!now->ReplicatesAs(*families_)) return FamiliesChanged();
    const Family& of = now->families()[family];
    // The snapshot makes entry and value those of one moment.
    rocksdb::DB* const db = store_->indexed()->db();
    rocksdb::ManagedSnapshot snapshot(db);
    StoredEntry entry;
    rocksdb::Status status =
        reader.Get(snapshot.snapshot(), reader.stable_time(),
                   {PositionOf(family, key), of.id, key}, &entry);
    if (status.ok() && entry.quarantined) status = rocksdb::Status::NotFound();
    *pair = {family, std::string(key), entry.version, entry.tombstone, {}};
    if (!status.ok() || entry.tombstone) return ToAbsl(status);
    rocksdb::ReadOptions options;
    options.snapshot = snapshot.snapshot();
    bool entity = false;
    status = GetPlain(db, options, of, key, &pair->value, &entity);
    if (entity) return absl::NotFoundError("the key holds an entity");
    if (!status.ok() ||
        HashOf(*pair) == CompleteHash(reader.hasher(), of.name, key, entry)) {
      return ToAbsl(status);
    }
    std::string index_key;
    AppendIndexKey(&index_key, {PositionOf(family, key), of.id, key});
    store_->Reexamine(index_key);
    return absl::NotFoundError("the value is not what the index says");
  }
  uint64_t PositionOf(uint32_t family, std::string_view key) const override {
    return store_->indexed()->reader().hasher().Position(
        families_->families()[family].name, key);
  }
  ElementHash HashOf(const Pair& pair) const override {
    const std::string& family = families_->families()[pair.family].name;
    const ElementHasher& hasher = store_->indexed()->reader().hasher();
    return pair.tombstone
               ? hasher.HashTombstone(family, pair.key, pair.version)
               : hasher.HashPair(family, pair.key, pair.version,
                                 hasher.HashValue(pair.version, pair.value));
  }

  absl::Status Sync() override {
    return ToAbsl(store_->indexed()->db()->FlushWAL(/*sync=*/true));
  }

 private:
  Terms terms() const {
    const std::lock_guard lock(mutex_);
    return terms_;
  }
  bool FamiliesAreTheSame() const { return ReplicatesAs(store_, *families_); }
  // Returns the families with handles; null if they have changed.
  std::shared_ptr<const FamilyTable> FamiliesToRead() const {
    const FamiliesInUse now = store_->indexed()->families();
    return now->ReplicatesAs(*families_) ? now->CopyReplicated() : nullptr;
  }

  Store* const store_;
  const ReadsDone read_;
  // The families at the construction of this object. It has names alone, so
  // that between sessions, and beside a stream, it keeps nothing of a dropped
  // family.
  const std::shared_ptr<const FamilyTable> families_;
  mutable std::mutex mutex_;
  Terms terms_;
  Sender sender_;
};

}  // namespace

std::unique_ptr<ReplicaView> StoreAccess::NewView(ReplicatedDB* db,
                                                  ReadsDone read) {
  return std::make_unique<RocksDBView>(StoreOf(db), std::move(read));
}

}  // namespace rocksync
