#include "replication/store/format/leaf_records.h"

#include "replication/store/format/index_key.h"
#include "replication/store/format/record_coding.h"
#include "sketch/element/coding.h"

namespace rocksync {

std::string DigestKey(uint32_t chunk) {
  std::string name(kDigestRecordPrefix);
  PutFixed8(&name, static_cast<uint8_t>(chunk));
  return MetaKey(name);
}

std::string EncodeDigests(const Digest* digests, size_t count) {
  std::string out = StartRecord();
  const size_t start = out.size();
  out.resize(start + 24 * count);
  char* place = out.data() + start;
  for (size_t i = 0; i < count; ++i) {
    place = EncodeFixed<uint64_t>(place, digests[i].count);
    place = EncodeFixed<uint64_t>(place, digests[i].high);
    place = EncodeFixed<uint64_t>(place, digests[i].low);
  }
  return out;
}

bool DecodeDigests(std::string_view bytes, Digest* digests, size_t count) {
  if (!BeginRecord(&bytes) || bytes.size() != 24 * count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!GetFixed64(&bytes, &digests[i].count) ||
        !GetFixed64(&bytes, &digests[i].high) ||
        !GetFixed64(&bytes, &digests[i].low)) {
      return false;
    }
  }
  return true;
}

std::string TombstonesKey(uint32_t chunk) {
  std::string name(kTombstonesRecordPrefix);
  PutFixed8(&name, static_cast<uint8_t>(chunk));
  return MetaKey(name);
}

std::string EncodeTombstones(const LeafTombstones* leaves, size_t count) {
  std::string out = StartRecord();
  for (size_t i = 0; i < count; ++i) {
    PutVarint64(&out, leaves[i].count);
    if (leaves[i].count > 0) PutFixed64(&out, leaves[i].oldest);
  }
  return out;
}

bool DecodeTombstones(std::string_view bytes, LeafTombstones* leaves,
                      size_t count) {
  if (!BeginRecord(&bytes)) return false;
  for (size_t i = 0; i < count; ++i) {
    leaves[i] = {};
    if (!GetUint32(&bytes, &leaves[i].count) ||
        (leaves[i].count > 0 && !GetFixed64(&bytes, &leaves[i].oldest))) {
      return false;
    }
  }
  return bytes.empty();
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
