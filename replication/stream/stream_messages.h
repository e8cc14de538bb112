// The messages of a stream as bytes. docs/protocol.md describes them.
//
//   message = type (1) | body
//
// Encoders return whole messages. Decoders take the whole body (of StreamOpen
// the whole message), bound every count before anything is allocated, refuse
// what is left over unless a later version may add it, and name what is wrong.

#ifndef ROCKSYNC_REPLICATION_STREAM_STREAM_MESSAGES_H_
#define ROCKSYNC_REPLICATION_STREAM_STREAM_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/pair_coding.h"
#include "replication/session/storage_view.h"
#include "replication/stream/spread.h"

namespace rocksync {

// The message types on a connection that a StreamOpen
// (MessageType::kStreamOpen) has made a stream.
enum class StreamMessageType : uint8_t {
  kChanges = 1,  // pairs, each with its value
  kAck = 2,      // how much of the peer's changes was dealt with
  kGap = 3,      // changes that were not sent: an exact session finds them
  kAlive = 4,    // nothing else to say
  // See spread.h:
  kNeighbours = 5,  // the replicas that the sender has streams with
  kPrune = 6,       // changes of these origins come by another way
  kAnnounce = 7,    // changes that the sender has, by short hashes
  kGraft = 8,       // announced changes that the sender wants
};
// Returns true for kAck and kAlive, with which no changes come.
bool IsAnswer(std::string_view message);

// What a side says of itself when the stream begins.
struct StreamOpen {
  // How many bytes of kChanges the peer may have under way.
  uint64_t window_bytes = 0;
  // The silence after which the connection is closed, in milliseconds.
  uint64_t idle_timeout_ms = 0;
  std::string zone;
};
inline constexpr size_t kMaxZoneBytes = 64;
// Format: MessageType::kStreamOpen (1) | window | idle timeout | zone | what
// later versions add, ignored here
std::string EncodeStreamOpen(const StreamOpen& open);
absl::Status DecodeStreamOpen(std::string_view message, StreamOpen* open);

// The most changes in one message of kChanges.
inline constexpr size_t kMaxChangesInMessage = 4096;
// The most bytes of a key and its value together; a larger change is left to a
// session.
inline constexpr size_t kMaxStreamedBytes = size_t{64} << 10;

// Builds messages of kChanges, one after the other.
class ChangesEncoder {
 public:
  ChangesEncoder() { Clear(); }
  ChangesEncoder(const ChangesEncoder&) = delete;
  ChangesEncoder& operator=(const ChangesEncoder&) = delete;
  // Adds a change. The `value` of a tombstone is ignored.
  void Add(uint32_t family, std::string_view key, const Version& version,
           bool tombstone, std::string_view value);
  size_t count() const { return count_; }
  bool full() const { return count_ >= kMaxChangesInMessage; }
  const std::string& message() const { return message_; }
  void Clear();

 private:
  std::string message_;
  std::optional<PairEncoder> pairs_;
  size_t count_ = 0;
};

// Decodes the body of kChanges. Refuses pairs of families from `families` on.
absl::Status DecodeChanges(std::string_view body, uint32_t families,
                           std::vector<Pair>* pairs);

// The count of kAck is bytes of messages of kChanges, that of kGap changes.
std::string EncodeStreamCount(StreamMessageType type, uint64_t count);
absl::Status DecodeStreamCount(std::string_view body, uint64_t* count);

std::string EncodeAlive();

// The most entries in one message, of any of the lists.
inline constexpr size_t kMaxListed = 4096;

// Body: for each neighbour, id (8) | zone
std::string EncodeNeighbours(const std::vector<Neighbour>& neighbours);
absl::Status DecodeNeighbours(std::string_view body,
                              std::vector<Neighbour>* neighbours);
// Body of kPrune: replica ids; of kAnnounce and kGraft: short hashes; 8 bytes
// each.
std::string EncodeStreamList(StreamMessageType type,
                             std::span<const uint64_t> list);
absl::Status DecodeStreamList(std::string_view body,
                              std::vector<uint64_t>* list);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_STREAM_MESSAGES_H_
