#include "replication/store/format/meta_records.h"

#include "replication/store/format/index_key.h"
#include "replication/store/format/marker.h"
#include "replication/store/format/record_coding.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

// Flags of a ForeignRange.
constexpr uint8_t kCame = 0x01;
constexpr uint8_t kUntold = 0x02;

constexpr size_t kMaxRecordedName = 1 << 20;
constexpr size_t kMaxRecordedFamilies = 1 << 20;
// A bit in the byte of a family's work.
constexpr uint8_t kFamilyMayBeAbsent = 0x04;
// The bits of the byte for the index pass of a WorkRecord.
constexpr uint8_t kIndexPass = 0x01;
constexpr uint8_t kLogLost = 0x02;
// Flags of a PlaceRecord.
constexpr uint8_t kPlaceSuperseded = 0x01;
constexpr uint8_t kPlaceMoved = 0x02;
constexpr uint8_t kPlaceMetItself = 0x04;
constexpr uint8_t kPlaceAcknowledgedMore = 0x08;  // a replica id follows

bool GetText(std::string_view* bytes, std::string* text) {
  std::string_view view;
  if (!GetLengthPrefixed(bytes, kMaxRecordedName, &view)) return false;
  text->assign(view);
  return true;
}

// Reads a key of the application, which may be longer than a name.
bool GetKey(std::string_view* bytes, std::string* key) {
  std::string_view view;
  if (!GetLengthPrefixed(bytes, bytes->size(), &view)) return false;
  key->assign(view);
  return true;
}

bool GetFlag(std::string_view* bytes, bool* flag) {
  uint8_t value = 0;
  if (!GetFixed8(bytes, &value) || value > 1) return false;
  *flag = value != 0;
  return true;
}

}  // namespace

std::string EncodeFormat() { return StartRecord(); }

bool DecodeFormat(std::string_view bytes, uint8_t* format) {
  return GetFixed8(&bytes, format);
}

std::string Encode(const ClusterRecord& record) {
  std::string out = StartRecord();
  PutLengthPrefixed(&out, record.name);
  out.append(record.secret_check);
  return out;
}

bool Decode(std::string_view bytes, ClusterRecord* record) {
  if (!BeginRecord(&bytes) || !GetText(&bytes, &record->name) ||
      bytes.size() != 16) {
    return false;
  }
  record->secret_check.assign(bytes);
  return true;
}

std::string Encode(const IdentityRecord& record) {
  std::string out = StartRecord();
  PutFixed64(&out, record.replica_id);
  PutFixed64(&out, record.home_id);
  PutFixed64(&out, record.incarnation);
  PutFixed64(&out, record.incarnation_random);
  PutLengthPrefixed(&out, record.db_identity);
  PutLengthPrefixed(&out, record.manifest);
  return out;
}

bool Decode(std::string_view bytes, IdentityRecord* record) {
  return BeginRecord(&bytes) && GetFixed64(&bytes, &record->replica_id) &&
         GetFixed64(&bytes, &record->home_id) &&
         GetFixed64(&bytes, &record->incarnation) &&
         GetFixed64(&bytes, &record->incarnation_random) &&
         GetText(&bytes, &record->db_identity) &&
         GetText(&bytes, &record->manifest) && bytes.empty();
}

std::string Encode(const IncarnationHistory& record) {
  std::string out = StartRecord();
  PutFixed64(&out, record.since);
  PutVarint64(&out, record.incarnations.size());
  for (const FormerIncarnation& incarnation : record.incarnations) {
    PutFixed64(&out, incarnation.incarnation.counter);
    PutFixed64(&out, incarnation.incarnation.random);
    PutFixed64(&out, incarnation.next_clock);
  }
  return out;
}

bool Decode(std::string_view bytes, IncarnationHistory* record) {
  uint64_t count = 0;
  if (!BeginRecord(&bytes) || !GetFixed64(&bytes, &record->since) ||
      !GetVarint64(&bytes, kMaxPastIncarnations, &count)) {
    return false;
  }
  record->incarnations.resize(count);
  for (FormerIncarnation& incarnation : record->incarnations) {
    if (!GetFixed64(&bytes, &incarnation.incarnation.counter) ||
        !GetFixed64(&bytes, &incarnation.incarnation.random) ||
        !GetFixed64(&bytes, &incarnation.next_clock)) {
      return false;
    }
  }
  return bytes.empty();
}

std::string Encode(const PlaceRecord& record) {
  std::string out = StartRecord();
  PutLengthPrefixed(&out, record.directory);
  PutFixed8(&out, (record.superseded ? kPlaceSuperseded : 0) |
                      (record.moved ? kPlaceMoved : 0) |
                      (record.met_itself ? kPlaceMetItself : 0) |
                      (record.acknowledged_more_to != 0 ? kPlaceAcknowledgedMore
                                                        : 0));
  if (record.acknowledged_more_to != 0)
    PutFixed64(&out, record.acknowledged_more_to);
  return out;
}

bool Decode(std::string_view bytes, PlaceRecord* record) {
  uint8_t flags = 0;
  if (!BeginRecord(&bytes) || !GetText(&bytes, &record->directory) ||
      !GetFixed8(&bytes, &flags) ||
      flags > (kPlaceSuperseded | kPlaceMoved | kPlaceMetItself |
               kPlaceAcknowledgedMore)) {
    return false;
  }
  record->acknowledged_more_to = 0;
  if ((flags & kPlaceAcknowledgedMore) != 0 &&
      (!GetFixed64(&bytes, &record->acknowledged_more_to) ||
       record->acknowledged_more_to == 0)) {
    return false;
  }
  if (!bytes.empty()) return false;
  record->superseded = (flags & kPlaceSuperseded) != 0;
  record->moved = (flags & kPlaceMoved) != 0;
  record->met_itself = (flags & kPlaceMetItself) != 0;
  return true;
}

std::string Encode(const std::vector<FamilyRecord>& record) {
  std::string out = StartRecord();
  PutVarint64(&out, record.size());
  for (const FamilyRecord& family : record) {
    PutVarint64(&out, family.id);
    PutLengthPrefixed(&out, family.name);
    PutFixed8(&out,
              family.work | (family.may_be_absent ? kFamilyMayBeAbsent : 0));
  }
  return out;
}

bool Decode(std::string_view bytes, std::vector<FamilyRecord>* record) {
  uint64_t count = 0;
  if (!BeginRecord(&bytes) ||
      !GetVarint64(&bytes, kMaxRecordedFamilies, &count)) {
    return false;
  }
  record->clear();
  for (uint64_t i = 0; i < count; ++i) {
    FamilyRecord family;
    if (!GetUint32(&bytes, &family.id) || !GetText(&bytes, &family.name) ||
        !GetFixed8(&bytes, &family.work)) {
      return false;
    }
    family.may_be_absent = (family.work & kFamilyMayBeAbsent) != 0;
    family.work &= static_cast<uint8_t>(~kFamilyMayBeAbsent);
    record->push_back(std::move(family));
  }
  return bytes.empty();
}

std::string Encode(const WorkRecord& record) {
  std::string out = StartRecord();
  PutFixed8(&out, record.purge ? 1 : 0);
  PutFixed8(&out, (record.index_pass ? kIndexPass : 0) |
                      (record.log_lost ? kLogLost : 0));
  PutFixed64(&out, record.sealed_sequence);
  PutFixed8(&out, record.step);
  PutVarint64(&out, record.family_id);
  PutVarint64(&out, record.pairs_read);
  PutVarint64(&out, record.cursor.size());
  out.append(record.cursor);
  return out;
}

bool Decode(std::string_view bytes, WorkRecord* record) {
  uint64_t size = 0;
  uint8_t pass = 0;
  if (!BeginRecord(&bytes) || !GetFlag(&bytes, &record->purge) ||
      !GetFixed8(&bytes, &pass) || pass > (kIndexPass | kLogLost) ||
      !GetFixed64(&bytes, &record->sealed_sequence) ||
      !GetFixed8(&bytes, &record->step) ||
      !GetUint32(&bytes, &record->family_id) ||
      !GetVarint64(&bytes, &record->pairs_read) ||
      !GetVarint64(&bytes, &size) || size != bytes.size()) {
    return false;
  }
  record->index_pass = (pass & kIndexPass) != 0;
  record->log_lost = (pass & kLogLost) != 0;
  record->cursor.assign(bytes);
  return true;
}

std::string Encode(const SealRecord& record) {
  std::string out = StartRecord();
  PutFixed64(&out, record.sequence);
  PutFixed8(&out, record.has_digests ? 1 : 0);
  PutLengthPrefixed(&out, record.manifest);
  PutFixed64(&out, record.last_file);
  PutFixed64(&out, record.files);
  return out;
}

bool Decode(std::string_view bytes, SealRecord* record) {
  return BeginRecord(&bytes) && GetFixed64(&bytes, &record->sequence) &&
         GetFlag(&bytes, &record->has_digests) &&
         GetText(&bytes, &record->manifest) &&
         GetFixed64(&bytes, &record->last_file) &&
         GetFixed64(&bytes, &record->files) && bytes.empty();
}

std::string Encode(const std::vector<ForeignRange>& record) {
  std::string out = StartRecord();
  PutVarint64(&out, record.size());
  for (const ForeignRange& range : record) {
    PutVarint64(&out, range.family_id);
    PutFixed8(&out, static_cast<uint8_t>((range.came ? kCame : 0) |
                                         (range.untold ? kUntold : 0)));
    PutLengthPrefixed(&out, range.smallest);
    PutLengthPrefixed(&out, range.largest);
  }
  return out;
}

bool Decode(std::string_view bytes, std::vector<ForeignRange>* record) {
  uint64_t count = 0;
  if (!BeginRecord(&bytes) || !GetVarint64(&bytes, kMaxForeignRanges, &count)) {
    return false;
  }
  record->clear();
  for (uint64_t i = 0; i < count; ++i) {
    ForeignRange range;
    uint8_t flags = 0;
    if (!GetUint32(&bytes, &range.family_id) || !GetFixed8(&bytes, &flags) ||
        flags > (kCame | kUntold) || !GetKey(&bytes, &range.smallest) ||
        !GetKey(&bytes, &range.largest)) {
      return false;
    }
    range.came = (flags & kCame) != 0;
    range.untold = (flags & kUntold) != 0;
    record->push_back(std::move(range));
  }
  return bytes.empty();
}

std::string Encode(const PeerRecord& record) {
  std::string out = StartRecord();
  PutFixed64(&out, record.incarnation);
  PutFixed64(&out, record.incarnation_random);
  PutFixed64(&out, record.clock);
  return out;
}

bool Decode(std::string_view bytes, PeerRecord* record) {
  return BeginRecord(&bytes) && GetFixed64(&bytes, &record->incarnation) &&
         GetFixed64(&bytes, &record->incarnation_random) &&
         GetFixed64(&bytes, &record->clock) && bytes.empty();
}

std::string Encode(const ScrubRecord& record) {
  std::string out = StartRecord();
  PutFixed8(&out, record.running ? 1 : 0);
  PutFixed8(&out, record.step);
  PutVarint64(&out, record.family_id);
  PutVarint64(&out, record.pairs);
  PutFixed64(&out, record.finished_ms);
  PutVarint64(&out, record.cursor.size());
  out.append(record.cursor);
  return out;
}

bool Decode(std::string_view bytes, ScrubRecord* record) {
  uint64_t size = 0;
  if (!BeginRecord(&bytes) || !GetFlag(&bytes, &record->running) ||
      !GetFixed8(&bytes, &record->step) || record->step > 1 ||
      !GetUint32(&bytes, &record->family_id) ||
      !GetVarint64(&bytes, &record->pairs) ||
      !GetFixed64(&bytes, &record->finished_ms) ||
      !GetVarint64(&bytes, &size) || size != bytes.size()) {
    return false;
  }
  record->cursor.assign(bytes);
  return true;
}

std::string EncodeLease(uint64_t lease) {
  std::string out = StartRecord();
  PutFixed64(&out, lease);
  return out;
}

bool DecodeLease(std::string_view bytes, uint64_t* lease) {
  return BeginRecord(&bytes) && GetFixed64(&bytes, lease) && bytes.empty();
}

std::string EncodeMark(std::string_view mark) {
  return StartRecord().append(mark);
}

bool DecodeMark(std::string_view bytes, std::string* mark) {
  if (!BeginRecord(&bytes) || bytes.size() != kMarkBytes) return false;
  mark->assign(bytes);
  return true;
}

std::string Encode(const GcState& record) {
  std::string out = StartRecord();
  record.EncodeTo(&out);
  return out;
}

bool Decode(std::string_view bytes, GcState* record) {
  return BeginRecord(&bytes) && record->DecodeFrom(bytes);
}

std::string EncodeSwept(uint64_t stable_time) {
  return EncodeLease(stable_time);
}

bool DecodeSwept(std::string_view bytes, uint64_t* stable_time) {
  return DecodeLease(bytes, stable_time);
}

std::string PeerKey(uint64_t replica_id) {
  std::string name(kPeerRecordPrefix);
  PutFixed64(&name, replica_id);
  return MetaKey(name);
}

std::string SecretCheck(const ClusterSecret& secret) {
  const Sha256Digest digest =
      Sha256({"rocksync secret check", AsPiece(secret)});
  return std::string(AsPiece(digest).substr(0, 16));
}

}  // namespace rocksync
