// docs/index_format.md: keys, entries, records and the marker.

#include <string>
#include <string_view>

#include "replication/membership/tombstone_gc.h"
#include "replication/store/format/index_entry.h"
#include "replication/store/format/index_key.h"
#include "replication/store/format/leaf_records.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/meta_records.h"
#include "sketch/element/element.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

// The replica that made the index, and whose versions are stored without it.
constexpr uint64_t kHome = kVectorVersion.replica;
constexpr uint64_t kOther = 0x3132333435363738;

std::string Entry(const StoredEntry& entry) {
  std::string bytes;
  AppendEntry(&bytes, entry, kHome);
  return bytes;
}

// A pending entry, and the same once it is completed.
class EntryVectors {
 public:
  EntryVectors(const ElementHasher& hasher, Vectors* vectors)
      : hasher_(hasher), vectors_(vectors) {}

  void Add(const std::string& name, const Version& version,
           const std::string_view* value) {
    StoredEntry entry = PendingEntry(hasher_, version, value);
    vectors_->push_back({"index.entry.pending." + name, Entry(entry)});
    const ElementHash hash =
        CompleteHash(hasher_, kVectorFamily, kVectorKey, entry);
    entry.pending = false;
    entry.hash_high = hash.high;
    entry.hash_low = hash.low;
    vectors_->push_back({"index.entry." + name, Entry(entry)});
  }

 private:
  const ElementHasher& hasher_;
  Vectors* const vectors_;
};

void AddRecords(Vectors* vectors) {
  const auto add = [vectors](std::string_view name, std::string_view value) {
    vectors->push_back(
        {"index.record." + std::string(name), std::string(value)});
  };
  add("format", EncodeFormat());
  add("cluster", Encode(ClusterRecord{std::string(kVectorCluster),
                                      SecretCheck(kVectorSecret)}));
  add("identity",
      Encode(IdentityRecord{kOther, kHome, 2, 0x22, "db", "MANIFEST-000005"}));
  add("past", Encode(IncarnationHistory{0, {{{1, 0x11}, 0x0201}}}));
  PlaceRecord place;
  place.directory = "/data/orders";
  place.moved = true;
  place.acknowledged_more_to = 6;
  add("place", Encode(place));
  add("mark", EncodeMark(std::string(16, 'm')));
  add("lease", EncodeLease(kVectorVersion.time));
  add("families", Encode(std::vector<FamilyRecord>{
                      {0, "default", 0}, {300, "users", kFamilyAdopting}}));
  WorkRecord work;
  work.index_pass = true;
  work.sealed_sequence = 9;
  work.step = 1;
  work.family_id = 300;
  work.pairs_read = 4;
  work.cursor = "key";
  add("work", Encode(work));
  add("foreign", Encode(std::vector<ForeignRange>{{300, true, "a", "z"},
                                                  {300, true, "", "", true}}));
  add("seal", Encode(SealRecord{7, true, "MANIFEST-000005\n", 12, 0x0123}));
  GcState gc;
  gc.stable_time = 0x0102;
  gc.purged = 0x0103;
  add("tombstone_gc", Encode(gc));
  add("swept", EncodeSwept(0x0102));
  const LeafTombstones tombstones[] = {{}, {300, 0x0102}};
  add("tombstones", EncodeTombstones(tombstones, 2));
  add("quarantined", Encode(LeafQuarantined{{2, 300}, {300, 1}}));
  const Digest digests[] = {{}, {1, 2, 3}};
  add("digests", EncodeDigests(digests, 2));
  ScrubRecord scrub;
  scrub.running = true;
  scrub.step = 1;
  scrub.family_id = 2;
  scrub.pairs = 3;
  scrub.finished_ms = 4;
  scrub.cursor = "key";
  add("scrub", Encode(scrub));
  add("peer", Encode(PeerRecord{1, 2, 3}));
}

}  // namespace

void AddIndexVectors(Vectors* vectors) {
  const ElementHasher hasher(kVectorSecret);
  std::string key;
  AppendIndexKey(&key,
                 {hasher.Position(kVectorFamily, kVectorKey), 300, kVectorKey});
  vectors->push_back({"index.key", key});
  vectors->push_back({"index.key.record", MetaKey("seal")});
  vectors->push_back({"index.key.digests", DigestKey(5)});
  vectors->push_back({"index.key.tombstones", TombstonesKey(5)});
  vectors->push_back({"index.key.peer", PeerKey(6)});
  EntryVectors entries(hasher, vectors);
  entries.Add("home", kVectorVersion, &kVectorValue);
  entries.Add("home_tombstone", kVectorVersion, nullptr);
  entries.Add("other", {kVectorVersion.time, kOther}, &kVectorValue);
  entries.Add("unversioned", {}, &kVectorValue);
  vectors->push_back({"index.entry.quarantined", Entry(UnknownEntry())});
  AddRecords(vectors);
  Marker marker;
  marker.directory = "/data/orders";
  marker.wal_dir = "/log/orders";
  marker.marks = {std::string(16, 'm'), std::string(16, 'n')};
  marker.files = {{"MANIFEST-000005", 300}, {"000007.log", 70'000, 5}};
  marker.index_in_tables = true;
  vectors->push_back({"marker", Encode(marker)});
}

}  // namespace rocksync
