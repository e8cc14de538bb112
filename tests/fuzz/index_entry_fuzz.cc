// Arbitrary bytes where the index keeps its own: keys, entries, meta records
// and the marker. Whatever a damaged disk holds is refused, or means the same
// when it is written again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/leaf_records.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

constexpr uint64_t kHome = 7;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Key(std::string_view bytes) {
  IndexKey key;
  if (!ParseIndexKey(bytes, &key)) return;
  std::string again;
  AppendIndexKey(&again, key);
  Require(again == bytes);
}

// A version of the home replica has two spellings; we write the short one.
void Entry(std::string_view bytes) {
  StoredEntry entry;
  if (!ParseEntry(bytes, kHome, &entry)) return;
  std::string once;
  AppendEntry(&once, entry, kHome);
  Require(once.size() <= bytes.size());
  StoredEntry same;
  Require(ParseEntry(once, kHome, &same));
  std::string twice;
  AppendEntry(&twice, same, kHome);
  Require(once == twice);
  Require(entry.version == same.version && entry.hash_low == same.hash_low &&
          entry.hash_high == same.hash_high);
}

template <typename Record>
void Meta(std::string_view bytes) {
  Record record;
  if (Decode(bytes, &record)) Require(Encode(record) == bytes);
}

void Digests(std::string_view bytes) {
  std::vector<Digest> digests(bytes.size() / 24);
  if (!DecodeDigests(bytes, digests.data(), digests.size())) return;
  Require(EncodeDigests(digests.data(), digests.size()) == bytes);
}

// Behind its checksum.
void MarkerBody(std::string_view bytes) {
  const Sha256Digest digest = Sha256({bytes});
  std::string whole(bytes);
  whole.append(AsPiece(digest).substr(0, 8));
  Meta<Marker>(whole);
}

void Fuzz(std::string_view bytes) {
  Key(bytes);
  Entry(bytes);
  Meta<ClusterRecord>(bytes);
  Meta<IdentityRecord>(bytes);
  Meta<IncarnationHistory>(bytes);
  Meta<PlaceRecord>(bytes);
  Meta<std::vector<FamilyRecord>>(bytes);
  Meta<WorkRecord>(bytes);
  Meta<SealRecord>(bytes);
  Meta<std::vector<ForeignRange>>(bytes);
  Meta<PeerRecord>(bytes);
  uint64_t lease = 0;
  if (DecodeLease(bytes, &lease)) Require(EncodeLease(lease) == bytes);
  std::string mark;
  if (DecodeMark(bytes, &mark)) Require(EncodeMark(mark) == bytes);
  Meta<Marker>(bytes);
  MarkerBody(bytes);
  Digests(bytes);
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksync::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
