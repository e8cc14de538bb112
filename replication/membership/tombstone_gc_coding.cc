#include <algorithm>
#include <utility>

#include "replication/membership/tombstone_gc.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kMayHoldDeletedPairs = 0x01;
constexpr uint8_t kWithIncarnations = 0x02;
constexpr uint8_t kBootstrapping = 0x04;

bool IsKnown(const Incarnation& incarnation) {
  return incarnation.incarnation.counter > 0;
}

bool AnyIncarnationKnown(const std::vector<Member>& members) {
  return std::any_of(members.begin(), members.end(), [](const Member& member) {
    return IsKnown(member.incarnation);
  });
}

bool StrictlyAscending(const std::vector<Member>& members) {
  return std::adjacent_find(members.begin(), members.end(),
                            [](const Member& a, const Member& b) {
                              return a.replica_id >= b.replica_id;
                            }) == members.end();
}

void EncodeIncarnation(const Incarnation& incarnation, std::string* out) {
  PutVarint64(out, incarnation.incarnation.counter);
  if (!IsKnown(incarnation)) return;
  PutFixed64(out, incarnation.incarnation.random);
  PutFixed64(out, incarnation.first_clock);
  PutFixed64(out, incarnation.clock);
  EncodePast(incarnation.past, out);
}

bool DecodeIncarnation(std::string_view* bytes, Incarnation* incarnation) {
  if (!GetVarint64(bytes, &incarnation->incarnation.counter)) return false;
  return !IsKnown(*incarnation) ||
         (GetFixed64(bytes, &incarnation->incarnation.random) &&
          GetFixed64(bytes, &incarnation->first_clock) &&
          GetFixed64(bytes, &incarnation->clock) &&
          DecodePast(bytes, &incarnation->past));
}

// Checks what holds for every state, however it came about.
bool IsConsistent(const GcState& gc) {
  return gc.members.empty() == (gc.epoch == 0) &&
         (gc.epoch == 0 ||
          std::max(gc.stable_epoch, gc.reached.epoch) <= gc.epoch) &&
         gc.purged >= gc.stable_time &&
         !(gc.may_hold_deleted_pairs && gc.bootstrapping) &&
         StrictlyAscending(gc.members);
}

}  // namespace

void GcState::EncodeTo(std::string* out) const {
  const bool with_incarnations = AnyIncarnationKnown(members);
  PutFixed8(out, static_cast<uint8_t>(
                     (may_hold_deleted_pairs ? kMayHoldDeletedPairs : 0) |
                     (with_incarnations ? kWithIncarnations : 0) |
                     (bootstrapping ? kBootstrapping : 0)));
  PutVarint64(out, epoch);
  PutFixed64(out, stable_time);
  PutVarint64(out, stable_epoch);
  PutFixed64(out, purged);
  PutFixed64(out, reached.time);
  PutVarint64(out, reached.epoch);
  PutFixed64(out, max_acknowledged);
  PutVarint64(out, members.size());
  for (const Member& member : members) {
    PutFixed64(out, member.replica_id);
    PutVarint64(out, member.since);
    PutFixed64(out, member.summary);
    PutFixed64(out, member.acknowledged);
  }
  if (!with_incarnations) return;
  for (const Member& member : members) {
    EncodeIncarnation(member.incarnation, out);
  }
}

bool GcState::DecodeFrom(std::string_view bytes) {
  *this = {};
  uint8_t flags = 0;
  uint64_t count = 0;
  if (!GetFixed8(&bytes, &flags) ||
      (flags & ~(kMayHoldDeletedPairs | kWithIncarnations | kBootstrapping)) !=
          0 ||
      !GetVarint64(&bytes, &epoch) || !GetFixed64(&bytes, &stable_time) ||
      !GetVarint64(&bytes, &stable_epoch) || !GetFixed64(&bytes, &purged) ||
      !GetFixed64(&bytes, &reached.time) ||
      !GetVarint64(&bytes, &reached.epoch) ||
      !GetFixed64(&bytes, &max_acknowledged) ||
      !GetVarint64(&bytes, kMaxMembers, &count)) {
    return false;
  }
  may_hold_deleted_pairs = (flags & kMayHoldDeletedPairs) != 0;
  bootstrapping = (flags & kBootstrapping) != 0;
  for (uint64_t i = 0; i < count; ++i) {
    Member member;
    if (!GetFixed64(&bytes, &member.replica_id) ||
        !GetVarint64(&bytes, epoch, &member.since) ||
        !GetFixed64(&bytes, &member.summary) ||
        !GetFixed64(&bytes, &member.acknowledged)) {
      return false;
    }
    members.push_back(std::move(member));
  }
  const bool with_incarnations = (flags & kWithIncarnations) != 0;
  for (Member& member : members) {
    if (with_incarnations && !DecodeIncarnation(&bytes, &member.incarnation)) {
      return false;
    }
  }
  return bytes.empty() && with_incarnations == AnyIncarnationKnown(members) &&
         IsConsistent(*this);
}

}  // namespace rocksync
