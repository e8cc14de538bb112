// Values of the index column family: what the index holds for one key.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_ENTRY_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_ENTRY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "replication/session/acceptance.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// An entry as stored: tag (1) | version (0, 8 or 16) | hash (16, or 0).
struct StoredEntry {
  Version version;
  bool tombstone = false;
  // The pair's data and entry disagree, or its entry was missing. The pair is
  // in no digest, is not offered and loses against everything.
  bool quarantined = false;
  // The entry's bytes do not parse; then it is quarantined and tells nothing
  // else. Not stored.
  bool damaged = false;
  // `hash` is the value's hash (ElementHasher::HashValue; nothing for a
  // tombstone) and not yet the element's, which the first reader that needs it
  // computes.
  bool pending = false;
  uint64_t hash_high = 0;
  uint64_t hash_low = 0;
};

// Returns the entry of a pair whose own was missing, or tells nothing any more:
// quarantined, of version 0, and with a hash that no pair has.
inline StoredEntry UnknownEntry() {
  StoredEntry entry;
  entry.quarantined = true;
  return entry;
}
// Whether a quarantined entry says anything by which it could be released.
constexpr bool SaysAnything(const StoredEntry& entry) {
  return !entry.damaged && (entry.pending || entry.version != Version{} ||
                            entry.hash_high != 0 || entry.hash_low != 0);
}

// Whether the entry is a collected tombstone, which the sweep
// (tombstone_sweep.h) removes.
constexpr bool IsCollected(const StoredEntry& entry, uint64_t stable_time) {
  return IsCollected(entry.tombstone, entry.version, stable_time);
}

// Appends the stored form of `entry`. `home` is the replica that made this
// index; its versions are stored without its 8-byte id. It never changes as
// long as the index exists.
void AppendEntry(std::string* out, const StoredEntry& entry, uint64_t home);

// Returns false if the bytes are damaged or of a format that this code does not
// know.
[[nodiscard]] bool ParseEntry(std::string_view bytes, uint64_t home,
                              StoredEntry* entry);

// Returns `bytes` with bit `bit` flipped (0: the lowest of the first byte).
std::string WithBitFlipped(std::string_view bytes, size_t bit);

// Returns the element hash of an entry; computes it if the entry is pending.
ElementHash CompleteHash(const ElementHasher& hasher, std::string_view family,
                         std::string_view key, const StoredEntry& entry);

// Returns a pending entry for a pair that is being written at a version that
// the library issued (`value` null: deleted). Inline, because every write of
// the application calls it.
inline StoredEntry IssuedEntry(const Version& version,
                               const std::string_view* value) {
  StoredEntry entry;
  entry.version = version;
  entry.pending = true;
  entry.tombstone = value == nullptr;
  if (value != nullptr) {
    const ValueHash hash = ElementHasher::HashIssuedValue(*value);
    entry.hash_high = hash.high;
    entry.hash_low = hash.low;
  }
  return entry;
}

// Returns a pending entry at any version, also that of an unversioned pair.
StoredEntry PendingEntry(const ElementHasher& hasher, const Version& version,
                         const std::string_view* value);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_ENTRY_H_
