#include "replication/session/entries_by_key.h"

#include <algorithm>

namespace rocksync {
namespace {

// Returns a number that is ordered as the first eight bytes of `key` are.
uint64_t BeginOf(std::string_view key) {
  uint64_t begin = 0;
  for (size_t i = 0; i < sizeof begin; ++i) {
    begin = begin << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return begin;
}

}  // namespace

void EntriesByKey::Clear(size_t entries, size_t key_bytes) {
  next_ = 0;
  entries_.clear();
  entries_.reserve(entries);
  keys_.clear();
  keys_.reserve(key_bytes);
}

void EntriesByKey::Add(uint32_t ordinal, const IndexEntry& entry) {
  entries_.push_back({.key_begins = BeginOf(entry.key),
                      .version = entry.version,
                      .key_at = keys_.size(),
                      .key_bytes = static_cast<uint32_t>(entry.key.size()),
                      .family = entry.family,
                      .ordinal = ordinal,
                      .tombstone = entry.tombstone});
  keys_ += entry.key;
}

void EntriesByKey::Sort() {
  std::sort(entries_.begin(), entries_.end(),
            [this](const Packed& a, const Packed& b) {
              if (a.family != b.family) return a.family < b.family;
              if (a.key_begins != b.key_begins) {
                return a.key_begins < b.key_begins;
              }
              return KeyOf(a) < KeyOf(b);
            });
}

IndexEntry EntriesByKey::Next(const LeafBatch& batch) const {
  const Packed& entry = entries_[next_];
  return {entry.family, std::string(KeyOf(entry)), entry.version,
          entry.tombstone, batch.HashAt(entry.ordinal)};
}

bool EntriesByKey::all_are_covered(const LeafBatch& batch) const {
  return std::all_of(
      entries_.begin() + static_cast<ptrdiff_t>(next_), entries_.end(),
      [&batch](const Packed& entry) { return batch.IsCovered(entry.ordinal); });
}

}  // namespace rocksync
