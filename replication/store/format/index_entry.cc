#include "replication/store/format/index_entry.h"

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// The bits of the tag. Unknown bits mean a newer format.
constexpr uint8_t kTombstone = 0x01;
constexpr uint8_t kPending = 0x02;
constexpr uint8_t kQuarantined = 0x04;
constexpr uint8_t kVersionMask = 0x18;
constexpr uint8_t kUnversioned = 0x00;   // no version bytes
constexpr uint8_t kVersionHome = 0x08;   // time (8)
constexpr uint8_t kVersionOther = 0x10;  // time (8), replica (8)
constexpr uint8_t kKnownBits =
    kTombstone | kPending | kQuarantined | kVersionMask;

constexpr size_t kMaxEntryBytes = 1 + 16 + 16;

// False for a pending tombstone: its hash is made from key and version alone.
bool HasHash(const StoredEntry& entry) {
  return !(entry.pending && entry.tombstone);
}

char* Store64(char* to, uint64_t value) {
  for (int i = 0; i < 8; ++i) *to++ = static_cast<char>(value >> (56 - 8 * i));
  return to;
}

}  // namespace

void AppendEntry(std::string* out, const StoredEntry& entry, uint64_t home) {
  char bytes[kMaxEntryBytes];
  char* to = bytes;
  uint8_t tag = (entry.tombstone ? kTombstone : 0) |
                (entry.pending ? kPending : 0) |
                (entry.quarantined ? kQuarantined : 0);
  if (entry.version == Version{}) {
    *to++ = static_cast<char>(tag | kUnversioned);
  } else if (entry.version.replica == home) {
    *to++ = static_cast<char>(tag | kVersionHome);
    to = Store64(to, entry.version.time);
  } else {
    *to++ = static_cast<char>(tag | kVersionOther);
    to = Store64(to, entry.version.time);
    to = Store64(to, entry.version.replica);
  }
  if (HasHash(entry)) {
    to = Store64(to, entry.hash_high);
    to = Store64(to, entry.hash_low);
  }
  out->append(bytes, static_cast<size_t>(to - bytes));
}

bool ParseEntry(std::string_view bytes, uint64_t home, StoredEntry* entry) {
  uint8_t tag = 0;
  if (!GetFixed8(&bytes, &tag) || (tag & ~kKnownBits) != 0) return false;
  entry->tombstone = (tag & kTombstone) != 0;
  entry->pending = (tag & kPending) != 0;
  entry->quarantined = (tag & kQuarantined) != 0;
  entry->damaged = false;
  entry->version = {};
  switch (tag & kVersionMask) {
    case kUnversioned:
      break;
    case kVersionHome:
      entry->version.replica = home;
      if (!GetFixed64(&bytes, &entry->version.time)) return false;
      break;
    case kVersionOther:
      if (!GetFixed64(&bytes, &entry->version.time) ||
          !GetFixed64(&bytes, &entry->version.replica)) {
        return false;
      }
      break;
    default:
      return false;
  }
  entry->hash_high = 0;
  entry->hash_low = 0;
  if (!HasHash(*entry)) return bytes.empty();
  return GetFixed64(&bytes, &entry->hash_high) &&
         GetFixed64(&bytes, &entry->hash_low) && bytes.empty();
}

std::string WithBitFlipped(std::string_view bytes, size_t bit) {
  std::string flipped(bytes);
  flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
  return flipped;
}

StoredEntry PendingEntry(const ElementHasher& hasher, const Version& version,
                         const std::string_view* value) {
  if (value == nullptr) return IssuedEntry(version, nullptr);
  const ValueHash hash = hasher.HashValue(version, *value);
  StoredEntry entry;
  entry.version = version;
  entry.pending = true;
  entry.hash_high = hash.high;
  entry.hash_low = hash.low;
  return entry;
}

ElementHash CompleteHash(const ElementHasher& hasher, std::string_view family,
                         std::string_view key, const StoredEntry& entry) {
  if (!entry.pending) return {entry.hash_high, entry.hash_low};
  if (entry.tombstone) {
    return hasher.HashTombstone(family, key, entry.version);
  }
  return hasher.HashPair(family, key, entry.version,
                         {entry.hash_high, entry.hash_low});
}

}  // namespace rocksync
