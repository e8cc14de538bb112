// Announcements: what a replica says of itself to a peer, at set-up and, on a
// connection that lasts, between sessions; and a record of what peers said
// last.

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

  // Returns the announced state as the receiver may believe it: the peer's own
  // incarnation is extended to its reading, and `trusted` caps all readings.
  GcState AsTrusted(
      uint64_t peer_id,
      const std::function<uint64_t(uint64_t reading)>& trusted) const;

  // Encodes a whole message: head | reading (8) | GcState.
  std::string Encode() const;
  [[nodiscard]] bool DecodeFrom(std::string_view message);
};

// Remembers what each member said last in its present incarnation. Not durable:
// it only recognises announcements that overtook one another a moment ago.
class Sayings {
 public:
  // Records what a replica said, unless its own announced list does not name
  // it.
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
