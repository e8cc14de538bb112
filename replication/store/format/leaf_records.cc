#include "replication/store/format/leaf_records.h"

#include <algorithm>
#include <utility>

#include "replication/store/format/index_key.h"
#include "replication/store/format/record_coding.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

bool IsEmpty(const Digest& digest) { return digest == Digest{}; }
bool IsEmpty(const LeafTombstones& tombstones) { return tombstones.count == 0; }

void Put(std::string* out, const Digest& digest) {
  PutVarint64(out, digest.count);
  PutFixed64(out, digest.high);
  PutFixed64(out, digest.low);
}

bool Get(std::string_view* bytes, Digest* digest) {
  return GetVarint64(bytes, &digest->count) &&
         GetFixed64(bytes, &digest->high) && GetFixed64(bytes, &digest->low);
}

void Put(std::string* out, const LeafTombstones& tombstones) {
  PutVarint64(out, tombstones.count);
  PutFixed64(out, tombstones.oldest);
}

bool Get(std::string_view* bytes, LeafTombstones* tombstones) {
  return GetUint32(bytes, &tombstones->count) &&
         GetFixed64(bytes, &tombstones->oldest);
}

// How many leaves are not empty, and each of these after the number of empty
// ones between it and the one before: small databases have few.
template <typename Leaf>
std::string EncodeLeaves(const Leaf* leaves, size_t count) {
  std::string out = StartRecord();
  PutVarint64(&out, count - std::count_if(leaves, leaves + count,
                                          [](auto& l) { return IsEmpty(l); }));
  size_t skipped = 0;
  for (size_t i = 0; i < count; ++i) {
    if (IsEmpty(leaves[i])) {
      ++skipped;
      continue;
    }
    PutVarint64(&out, std::exchange(skipped, 0));
    Put(&out, leaves[i]);
  }
  return out;
}

template <typename Leaf>
bool DecodeLeaves(std::string_view bytes, Leaf* leaves, size_t count) {
  std::fill(leaves, leaves + count, Leaf{});
  uint64_t values = 0;
  if (!BeginRecord(&bytes) || !GetVarint64(&bytes, count, &values)) {
    return false;
  }
  for (size_t next = 0; values > 0; --values) {
    uint64_t skipped = 0;
    if (!GetVarint64(&bytes, count - next - values, &skipped)) return false;
    Leaf& leaf = leaves[next + skipped];
    if (!Get(&bytes, &leaf) || IsEmpty(leaf)) return false;
    next += skipped + 1;
  }
  return bytes.empty();
}

}  // namespace

std::string DigestKey(uint32_t chunk) {
  std::string name(kDigestRecordPrefix);
  PutFixed8(&name, static_cast<uint8_t>(chunk));
  return MetaKey(name);
}

std::string EncodeDigests(const Digest* digests, size_t count) {
  return EncodeLeaves(digests, count);
}

bool DecodeDigests(std::string_view bytes, Digest* digests, size_t count) {
  return DecodeLeaves(bytes, digests, count);
}

std::string TombstonesKey(uint32_t chunk) {
  std::string name(kTombstonesRecordPrefix);
  PutFixed8(&name, static_cast<uint8_t>(chunk));
  return MetaKey(name);
}

std::string EncodeTombstones(const LeafTombstones* leaves, size_t count) {
  return EncodeLeaves(leaves, count);
}

bool DecodeTombstones(std::string_view bytes, LeafTombstones* leaves,
                      size_t count) {
  return DecodeLeaves(bytes, leaves, count);
}

std::string Encode(const LeafQuarantined& quarantined) {
  std::string out = StartRecord();
  PutVarint64(&out, quarantined.size());
  for (const auto& [leaf, count] : quarantined) {
    PutVarint64(&out, leaf);
    PutVarint64(&out, count);
  }
  return out;
}

bool DecodeQuarantined(std::string_view bytes, uint32_t leaf_count,
                       LeafQuarantined* quarantined) {
  quarantined->clear();
  uint64_t leaves = 0;
  if (!BeginRecord(&bytes) || !GetVarint64(&bytes, leaf_count, &leaves))
    return false;
  for (uint64_t i = 0; i < leaves; ++i) {
    uint64_t leaf = 0;
    uint64_t count = 0;
    if (!GetVarint64(&bytes, leaf_count - 1, &leaf) ||
        !GetVarint64(&bytes, &count) || count == 0 ||
        (!quarantined->empty() && leaf <= quarantined->rbegin()->first)) {
      return false;
    }
    quarantined->emplace_hint(quarantined->end(), static_cast<uint32_t>(leaf),
                              count);
  }
  return bytes.empty();
}

}  // namespace rocksync
