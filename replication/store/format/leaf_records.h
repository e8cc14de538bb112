// Meta records that a clean close writes of the leaves of positions, so that
// the next opening need not read the index: their digests, tombstones and
// quarantined entries. Their bytes are in docs/index_format.md. Pure coding; no
// RocksDB.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_LEAF_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_LEAF_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sketch/element/digest.h"

namespace rocksync {

// Names of the records (index_key.h: MetaKey), without the numbers of chunks.
inline constexpr std::string_view kDigestRecordPrefix = "digests/";
inline constexpr std::string_view kTombstonesRecordPrefix = "tombstones/";
inline constexpr std::string_view kQuarantinedRecord = "quarantined";

// Leaf digests are written in kDigestChunks records, each of as many leaves.
// Empty leaves take next to nothing.
inline constexpr uint32_t kDigestChunks = 16;
std::string DigestKey(uint32_t chunk);
std::string EncodeDigests(const Digest* digests, size_t count);
[[nodiscard]] bool DecodeDigests(std::string_view bytes, Digest* digests,
                                 size_t count);

// The tombstones of one leaf; written in as many records as the digests.
struct LeafTombstones {
  uint32_t count = 0;
  // No tombstone of the leaf is older (Version.time). It may be lower than
  // necessary, since it is not recomputed when a tombstone goes.
  uint64_t oldest = UINT64_MAX;
  friend bool operator==(const LeafTombstones&,
                         const LeafTombstones&) = default;
};
std::string TombstonesKey(uint32_t chunk);
std::string EncodeTombstones(const LeafTombstones* leaves, size_t count);
[[nodiscard]] bool DecodeTombstones(std::string_view bytes,
                                    LeafTombstones* leaves, size_t count);

// The number of quarantined entries by leaf, where it is not 0; in one record.
using LeafQuarantined = std::map<uint32_t, uint64_t>;
std::string Encode(const LeafQuarantined& quarantined);
// Returns false also if a leaf is not below `leaf_count`.
[[nodiscard]] bool DecodeQuarantined(std::string_view bytes,
                                     uint32_t leaf_count,
                                     LeafQuarantined* quarantined);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_LEAF_RECORDS_H_
