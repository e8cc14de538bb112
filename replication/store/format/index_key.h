// Keys of the index column family; docs/index_format.md has the grammar.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_KEY_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_KEY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "sketch/element/coding.h"

namespace rocksync {

// Every index key begins with 8 bytes: a position, or 0 for a meta record.
inline constexpr size_t kPositionBytes = 8;

// The key of an entry: position (8, big-endian) | column family id (varint) |
// key.
struct IndexKey {
  uint64_t position = 0;
  uint32_t family_id = 0;
  std::string_view key;
};

// Whether `a` stands before `b` in the index.
inline bool InIndexOrder(const IndexKey& a, const IndexKey& b) {
  if (a.position != b.position) return a.position < b.position;
  std::string a_family;
  std::string b_family;
  PutVarint64(&a_family, a.family_id);
  PutVarint64(&b_family, b.family_id);
  return std::tie(a_family, a.key) < std::tie(b_family, b.key);
}

inline void AppendPosition(std::string* out, uint64_t position) {
  char bytes[kPositionBytes];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(position >> (56 - 8 * i));
  }
  out->append(bytes, sizeof(bytes));
}

inline void AppendIndexKey(std::string* out, const IndexKey& key) {
  AppendPosition(out, key.position);
  PutVarint64(out, key.family_id);
  out->append(key.key);
}

// Returns false for a meta record and for damaged bytes. `key->key` is a view
// into `bytes`.
[[nodiscard]] inline bool ParseIndexKey(std::string_view bytes, IndexKey* key) {
  uint64_t family = 0;
  if (!GetFixed64(&bytes, &key->position) || key->position == 0 ||
      !GetVarint64(&bytes, UINT32_MAX, &family)) {
    return false;
  }
  key->family_id = static_cast<uint32_t>(family);
  key->key = bytes;
  return true;
}

// Returns the key of the meta record `name`: eight 0 bytes, then the name. Meta
// records stand before all entries, since no position is 0.
inline std::string MetaKey(std::string_view name) {
  std::string key(kPositionBytes, '\0');
  key.append(name);
  return key;
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_INDEX_KEY_H_
