#include "replication/store/index/index_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "replication/store/index/seek_behind.h"

namespace rocksync {
namespace {

// Returns the entry that readers see in place of a damaged one.
StoredEntry DamagedEntry() {
  StoredEntry entry = UnknownEntry();
  entry.damaged = true;
  return entry;
}

}  // namespace

rocksdb::Status IndexError(const rocksdb::Status& status) {
  if (!status.IsCorruption()) return status;
  return rocksdb::Status::Corruption(
      "rocksync: a block of the index does not read; if it still does not "
      "after a restart, replace this replica by an empty one, which its peers "
      "fill",
      status.ToString());
}

rocksdb::Status IndexReader::Get(const rocksdb::Snapshot* at,
                                 uint64_t stable_time, const IndexKey& key,
                                 StoredEntry* entry) const {
  thread_local std::string index_key;
  index_key.clear();
  AppendIndexKey(&index_key, key);
  rocksdb::ReadOptions options;
  options.snapshot = at;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = db_->Get(options, index_, index_key, &value);
  if (!status.ok()) return IndexError(status);
  if (!ParseEntry({value.data(), value.size()}, home_, entry)) {
    *entry = DamagedEntry();
  }
  return IsCollected(*entry, stable_time) ? rocksdb::Status::NotFound()
                                          : status;
}

rocksdb::Status IndexReader::GetAll(
    std::span<const IndexKey> keys,
    std::vector<std::optional<StoredEntry>>* entries) const {
  constexpr size_t kAtOnce = 128;  // their state fits into the nearest caches
  const uint64_t stable = stable_time();
  entries->assign(keys.size(), std::nullopt);
  std::array<std::string, kAtOnce> index_keys;
  std::array<rocksdb::Slice, kAtOnce> slices;
  std::array<rocksdb::PinnableSlice, kAtOnce> values;
  std::array<rocksdb::Status, kAtOnce> statuses;
  for (size_t first = 0; first < keys.size(); first += kAtOnce) {
    const size_t count = std::min(kAtOnce, keys.size() - first);
    for (size_t i = 0; i < count; ++i) {
      index_keys[i].clear();
      AppendIndexKey(&index_keys[i], keys[first + i]);
      slices[i] = index_keys[i];
      values[i].Reset();
    }
    db_->MultiGet(rocksdb::ReadOptions(), index_, count, slices.data(),
                  values.data(), statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < count; ++i) {
      if (statuses[i].IsNotFound()) continue;
      if (!statuses[i].ok()) return IndexError(statuses[i]);
      StoredEntry entry;
      if (!ParseEntry({values[i].data(), values[i].size()}, home_, &entry)) {
        entry = DamagedEntry();
      }
      if (!IsCollected(entry, stable)) (*entries)[first + i] = entry;
    }
  }
  return rocksdb::Status::OK();
}

IndexCursor::IndexCursor(const IndexReader& reader, const rocksdb::Snapshot* at,
                         uint64_t stable_time, Order order)
    : reader_(reader), given_families_(nullptr), stable_time_(stable_time) {
  Start(at, order);
}

IndexCursor::IndexCursor(const IndexReader& reader, const FamilyTable& families,
                         const rocksdb::Snapshot* at, uint64_t stable_time,
                         Order order)
    : reader_(reader), given_families_(&families), stable_time_(stable_time) {
  Start(at, order);
}

bool IndexCursor::outdated() const {
  if (given_families_ != nullptr) return false;
  const FamiliesInUse now = reader_.families();
  return &*now != &*families_of_now_;
}

void IndexCursor::Start(const rocksdb::Snapshot* at, Order order) {
  options_.snapshot = at;
  options_.total_order_seek = order == Order::kTotal;
  options_.prefix_same_as_start = order == Order::kWithinPosition;
  // A scan would push everything else out of the block cache.
  options_.fill_cache = order == Order::kWithinPosition;
  iterator_ = NewIterator();
}

std::unique_ptr<rocksdb::Iterator> IndexCursor::NewIterator() {
  auto iterator = std::unique_ptr<rocksdb::Iterator>(
      reader_.db()->NewIterator(options_, reader_.index()));
  // The families are taken after the iterator is made. A family is shown before
  // anything is written to it, so these are all that the iterator has entries
  // of, except for dropped ones. In the other order a purge would remove
  // entries of a family that was just created.
  if (given_families_ == nullptr) families_of_now_ = reader_.families();
  return iterator;
}

void IndexCursor::Seek(uint64_t position) {
  target_.clear();
  AppendPosition(&target_, position);
  iterator_->Seek(target_);
  Load();
}

void IndexCursor::SeekKey(std::string_view index_key) {
  iterator_->Seek(rocksdb::Slice(index_key.data(), index_key.size()));
  Load();
}

void IndexCursor::Next() {
  iterator_->Next();
  Load();
}

bool IndexCursor::SeekBehind(std::string_view index_key) {
  std::unique_ptr<rocksdb::Iterator> found =
      rocksync::SeekBehind([this] { return NewIterator(); }, index_key);
  if (found == nullptr) return false;
  iterator_ = std::move(found);
  Load();
  return valid_;
}

void IndexCursor::Load() {
  valid_ = iterator_->Valid();
  if (!valid_) {
    status_ = IndexError(iterator_->status());
    return;
  }
  key_damaged_ = !ParseIndexKey(index_key(), &key_);
  if (key_damaged_) {
    // The position is kept, so that readers of a position or a leaf go on past
    // it.
    key_ = {};
    for (size_t i = 0; i < kPositionBytes; ++i) {
      key_.position =
          key_.position << 8 |
          (i < index_key().size() ? static_cast<uint8_t>(index_key()[i])
                                  : uint8_t{0});
    }
  }
  if (key_damaged_ || !ParseEntry(bytes(), reader_.home(), &entry_)) {
    entry_ = DamagedEntry();
  }
  const FamilyTable& families =
      given_families_ != nullptr ? *given_families_ : *families_of_now_;
  family_ = key_damaged_ ? nullptr : families.Find(key_.family_id);
}

}  // namespace rocksync
