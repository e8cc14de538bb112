// What a replica says of itself to a peer, at set-up and, on a connection that
// lasts, between sessions; and what is remembered of what others said.

#ifndef ROCKSYNC_REPLICATION_MEMBERSHIP_ANNOUNCEMENT_H_
#define ROCKSYNC_REPLICATION_MEMBERSHIP_ANNOUNCEMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "replication/membership/incarnation.h"
#include "replication/membership/tombstone_gc.h"

namespace rocksync {

struct Announcement {
  uint64_t reading = 0;
  GcState gc;

  // The announced state as the receiver may believe it: the peer's own
  // incarnation extended to its reading, and all readings capped by `trusted`.
  GcState AsTrusted(
      uint64_t peer_id,
      const std::function<uint64_t(uint64_t reading)>& trusted) const;

  // A message of its own: head | reading (8) | GcState.
  std::string Encode() const;
  [[nodiscard]] bool DecodeFrom(std::string_view message);
};

// What members said last, each in its present incarnation. Not durable: it only
// recognises announcements that overtook one another a moment ago.
class Sayings {
 public:
  // A member of the list that it says it has.
  void Note(uint64_t replica_id, const IncarnationId& incarnation,
            const Announcement& said);
  Reported Of(uint64_t replica_id, const IncarnationId& incarnation) const;

 private:
  struct Last {
    IncarnationId incarnation;
    Reported said;
  };
  std::map<uint64_t, Last> last_;  // by replica id
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_MEMBERSHIP_ANNOUNCEMENT_H_
