// Meta records of the index column family: the replica's identity and its
// state. Their bytes are in docs/index_format.md. Pure coding; no RocksDB.

#ifndef ROCKSYNC_REPLICATION_STORE_FORMAT_META_RECORDS_H_
#define ROCKSYNC_REPLICATION_STORE_FORMAT_META_RECORDS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"
#include "replication/store/format/record_coding.h"
#include "sketch/element/element.h"

namespace rocksync {

// Names of the records (index_key.h: MetaKey).
inline constexpr std::string_view kFormatRecord = "format";
inline constexpr std::string_view kClusterRecord = "cluster";
inline constexpr std::string_view kIdentityRecord = "identity";
inline constexpr std::string_view kPastRecord = "past";
inline constexpr std::string_view kPlaceRecord = "place";
inline constexpr std::string_view kLeaseRecord = "lease";
inline constexpr std::string_view kFamiliesRecord = "families";
inline constexpr std::string_view kWorkRecord = "work";
inline constexpr std::string_view kSealRecord = "seal";
inline constexpr std::string_view kMarkRecord = "mark";
inline constexpr std::string_view kForeignRecord = "foreign";
inline constexpr std::string_view kScrubRecord = "scrub";
inline constexpr std::string_view kGcStateRecord = "tombstone_gc";
inline constexpr std::string_view kSweptRecord = "swept";
inline constexpr std::string_view kPeerRecordPrefix = "peer/";

// The cluster that the index was computed for.
struct ClusterRecord {
  std::string name;
  std::string secret_check;  // 16 bytes derived from the secret
};

struct IdentityRecord {
  uint64_t replica_id = 0;
  uint64_t home_id = 0;  // versions of this id are stored without it
  uint64_t incarnation = 0;
  uint64_t incarnation_random = 0;
  std::string db_identity;  // RocksDB's, to recognise copies
  std::string manifest;     // CURRENT's content after our last opening
};

// What tells that this is a copy of the whole directory, with its marker (`cp
// -a`). Any of the flags lets it become a new replica, if the application says
// so. None does anything by itself, as the original may have been moved, or met
// by its copy.
struct PlaceRecord {
  std::string directory;  // absolute path of the last opening
  // A peer has met a later incarnation, or another one.
  bool superseded = false;
  bool moved = false;  // opened elsewhere than the last time
  // This replica has met a peer with its identity, in another incarnation.
  bool met_itself = false;
  // The peer that has heard this replica acknowledge more than it now knows of,
  // and has not withdrawn that since; 0: there is none.
  uint64_t acknowledged_more_to = 0;

  bool MayBeCopy() const {
    return superseded || moved || met_itself || acknowledged_more_to != 0;
  }
};

// The bits of FamilyRecord::work: what is still to be read of the family.
inline constexpr uint8_t kFamilyAdopting = 0x01;  // pairs without entry: adopt
inline constexpr uint8_t kFamilyChecking = 0x02;  // pairs may disagree

struct FamilyRecord {
  uint32_t id = 0;
  std::string name;
  uint8_t work = 0;
  // The application began to create or drop the family through the library, and
  // the end of that is not recorded: the family may not exist.
  bool may_be_absent = false;
};

// The state of an unfinished index build: adopt, re-check, purge.
struct WorkRecord {
  bool purge = false;       // entries of families that are gone
  bool index_pass = false;  // entries whose pair may be gone
  // A part of the log was lost, but no index entry was in that part alone: what
  // an entry says was deleted has been deleted.
  bool log_lost = false;
  // A write with a larger sequence number is a foreign write.
  uint64_t sealed_sequence = 0;
  // The progress: the step (0 purge, 1 families, 2 index pass), its family and
  // key. All before that is done.
  uint8_t step = 0;
  uint32_t family_id = 0;
  std::string cursor;
  uint64_t pairs_read = 0;
};

// A range of keys, both ends included, that a foreign write changed without a
// sequence number that tells of it.
struct ForeignRange {
  uint32_t family_id = 0;
  bool came = false;  // with an ingested file; else a file was deleted
  std::string smallest;
  std::string largest;
  // The range is every key that has no sequence number any more, since a
  // compaction to the last level took it away. The two keys above are then
  // empty.
  bool untold = false;
};
inline constexpr size_t kMaxForeignRanges = 4096;

// The seal of a clean close. Nothing was written after this sequence number.
// Nobody has opened the database for writing since, if CURRENT still names this
// MANIFEST; nobody has changed data, if the same files are in use and none was
// ingested.
struct SealRecord {
  uint64_t sequence = 0;
  bool has_digests = false;
  std::string manifest;    // CURRENT's content
  uint64_t last_file = 0;  // the largest file number of the replicated families
  uint64_t files = 0;      // FilesOf these families, up to last_file
};

// The progress of the scrub, which compares values with their hashes (scrub.h).
struct ScrubRecord {
  bool running = false;
  uint8_t step = 0;
  uint32_t family_id = 0;
  uint64_t pairs = 0;        // compared in this pass
  uint64_t finished_ms = 0;  // wall clock, end of the last pass
  std::string cursor;
};

// What this replica remembers of a peer.
struct PeerRecord {
  uint64_t incarnation = 0;
  uint64_t incarnation_random = 0;
  uint64_t clock = 0;
};

std::string Encode(const ClusterRecord& record);
std::string Encode(const IdentityRecord& record);
std::string Encode(const IncarnationHistory& record);
std::string Encode(const PlaceRecord& record);
std::string Encode(const std::vector<FamilyRecord>& record);
std::string Encode(const WorkRecord& record);
std::string Encode(const SealRecord& record);
std::string Encode(const std::vector<ForeignRange>& record);
std::string Encode(const PeerRecord& record);
std::string Encode(const ScrubRecord& record);
std::string EncodeLease(uint64_t lease);
std::string EncodeMark(std::string_view mark);  // marker.h
std::string EncodeFormat();

// Returns false if the bytes are damaged or of a format that this code does not
// know.
[[nodiscard]] bool Decode(std::string_view bytes, ClusterRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes, IdentityRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes, IncarnationHistory* record);
[[nodiscard]] bool Decode(std::string_view bytes, PlaceRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes,
                          std::vector<FamilyRecord>* record);
[[nodiscard]] bool Decode(std::string_view bytes, WorkRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes, SealRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes,
                          std::vector<ForeignRange>* record);
[[nodiscard]] bool Decode(std::string_view bytes, PeerRecord* record);
[[nodiscard]] bool Decode(std::string_view bytes, ScrubRecord* record);
[[nodiscard]] bool DecodeLease(std::string_view bytes, uint64_t* lease);
[[nodiscard]] bool DecodeMark(std::string_view bytes, std::string* mark);
// Reads the format byte alone, whatever follows.
[[nodiscard]] bool DecodeFormat(std::string_view bytes, uint8_t* format);

// Member list, stable time and knowledge (membership/tombstone_gc.h).
std::string Encode(const GcState& record);
[[nodiscard]] bool Decode(std::string_view bytes, GcState* record);
// All entries that this stable time collects have been swept away.
std::string EncodeSwept(uint64_t stable_time);
[[nodiscard]] bool DecodeSwept(std::string_view bytes, uint64_t* stable_time);

std::string PeerKey(uint64_t replica_id);

// Returns 16 bytes that tell whether a secret is the one that the index was
// made with, and that do not help to guess it.
std::string SecretCheck(const ClusterSecret& secret);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_FORMAT_META_RECORDS_H_
