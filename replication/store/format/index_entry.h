// Values of the index column family: what the index knows of one key.

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
  // The pair's data and entry disagree, or its entry was missing: it is in no
  // digest, is not offered and loses against everything.
  bool quarantined = false;
  // Its bytes do not parse; then it is quarantined and says nothing else. Not
  // stored.
  bool damaged = false;
  // `hash` holds the value's hash (ElementHasher::HashValue; nothing for a
  // tombstone) and not yet the element's: computing that is left to the first
  // that needs it.
  bool pending = false;
  uint64_t hash_high = 0;
  uint64_t hash_low = 0;
};

// The entry of a pair whose own was missing, or says nothing any more:
// quarantined, of version 0, and with a hash that no pair has.
inline StoredEntry UnknownEntry() {
  StoredEntry entry;
  entry.quarantined = true;
  return entry;
}
// Whether the entry, if quarantined, says anything by which it could be
// released.
constexpr bool SaysAnything(const StoredEntry& entry) {
  return !entry.damaged && (entry.pending || entry.version != Version{} ||
                            entry.hash_high != 0 || entry.hash_low != 0);
}

// The sweep (tombstone_sweep.h) takes such an entry away.
constexpr bool IsCollected(const StoredEntry& entry, uint64_t stable_time) {
  return IsCollected(entry.tombstone, entry.version, stable_time);
}

// `home` is the replica whose versions are stored without its 8-byte id: the
// one that made this index. It never changes as long as the index exists.
void AppendEntry(std::string* out, const StoredEntry& entry, uint64_t home);

// False if the bytes are damaged or of a format this code does not know.
[[nodiscard]] bool ParseEntry(std::string_view bytes, uint64_t home,
                              StoredEntry* entry);

// `bytes` with bit `bit` (counted from the first byte's lowest) flipped.
std::string WithBitFlipped(std::string_view bytes, size_t bit);

// The element hash of an entry, completed if it is pending.
ElementHash CompleteHash(const ElementHasher& hasher, std::string_view family,
                         std::string_view key, const StoredEntry& entry);

// A pending entry for a pair that is being written at a version that the
// library issued (`value` null: deleted). Defined here because every write of
// the application comes through.
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

// The same at any version, an unversioned pair's too.
StoredEntry PendingEntry(const ElementHasher& hasher, const Version& version,
                         const std::string_view* value);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_ENTRY_H_
