#include "replication/membership/announcement.h"

#include <algorithm>

#include "replication/session/messages.h"
#include "sketch/element/coding.h"

namespace rocksync {

GcState Announcement::AsTrusted(
    uint64_t peer_id,
    const std::function<uint64_t(uint64_t reading)>& trusted) const {
  GcState heard = gc;
  if (Member* const peer = heard.Find(peer_id)) {
    peer->incarnation.clock = reading;
  }
  for (Member& member : heard.members) {
    member.summary = trusted(member.summary);
    member.incarnation.clock = trusted(member.incarnation.clock);
  }
  return heard;
}

std::string Announcement::Encode() const {
  std::string out(1, static_cast<char>(MessageType::kAnnouncement));
  PutFixed64(&out, reading);
  gc.EncodeTo(&out);
  return out;
}

bool Announcement::DecodeFrom(std::string_view message) {
  uint8_t head = 0;
  return GetFixed8(&message, &head) &&
         head == static_cast<uint8_t>(MessageType::kAnnouncement) &&
         GetFixed64(&message, &reading) && gc.DecodeFrom(message);
}

void Sayings::Note(uint64_t replica_id, const IncarnationId& incarnation,
                   const Announcement& said) {
  if (said.gc.Find(replica_id) == nullptr) return;
  Last& last = last_[replica_id];
  const Reported before =
      last.incarnation == incarnation ? last.said : Reported{};
  last = {incarnation,
          {std::max(said.reading, before.reading),
           std::max(said.gc.max_acknowledged, before.max_acknowledged)}};
}

Reported Sayings::Of(uint64_t replica_id,
                     const IncarnationId& incarnation) const {
  const auto last = last_.find(replica_id);
  if (last == last_.end() || last->second.incarnation != incarnation) return {};
  return last->second.said;
}

}  // namespace rocksync
