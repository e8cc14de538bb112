// Offers and pairs as bytes: the bodies of the messages Offers and Pairs.
//
//   body   = entry*
//   entry  = family | key length | key | time | replica
//            | 4 * value size + kind [| value hash (16)] [| value]
//   time    = 2 * zigzag(ms - ms of the entry before) + (counter > 0)
//             [| counter], ms 0 before the first entry
//   replica = its number in the order of first appearance in this body,
//             followed, at the first appearance, by the id (8)
// Integers are varints; those of a fixed size have it in parentheses. The value
// follows if the kind is kWithValue; the value hash if it is kOnRequest and the
// version is 0 (unversioned pairs are ordered by it).

#ifndef ROCKSYNC_REPLICATION_SESSION_PAIR_CODING_H_
#define ROCKSYNC_REPLICATION_SESSION_PAIR_CODING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/messages.h"
#include "replication/session/storage_view.h"
#include "rocksync/limits.h"
#include "sketch/element/element.h"
#include "sketch/element/version.h"

namespace rocksync {

// The fewest bytes of a chunk, which is the beginning of a value: with fewer in
// each turn, a peer could keep a session busy for days over one value.
inline constexpr size_t kLeastChunkBytes = size_t{64} << 10;

// A pair as it travels. The views do not own their bytes.
struct WirePair {
  enum class Kind : uint8_t { kTombstone = 0, kWithValue = 1, kOnRequest = 2 };
  uint32_t family = 0;
  std::string_view key;
  Version version;
  Kind kind = Kind::kTombstone;
  uint64_t value_size = 0;
  std::string_view value;  // kWithValue
  ElementHash hash;        // kOnRequest at version 0
};

// Returns the pair with `value`, which is the whole value.
Pair OwnedPair(const WirePair& pair, std::string value);

// Encodes versions, each by its distance from the one before in the same body.
class VersionEncoder {
 public:
  void Add(const Version& version, std::string* body);

 private:
  uint64_t previous_ms_ = 0;
  std::vector<uint64_t> replicas_;
};

class VersionDecoder {
 public:
  // Takes a version from the front of `*rest`; returns false if there is none.
  [[nodiscard]] bool Next(std::string_view* rest, Version* version);

 private:
  uint64_t previous_ms_ = 0;
  std::vector<uint64_t> replicas_;
};

// Appends entries to one body.
class PairEncoder {
 public:
  explicit PairEncoder(std::string* body) : body_(body) {}
  void Add(const WirePair& pair);

 private:
  std::string* body_;
  VersionEncoder versions_;
};

// Reads the entries of one body, which must outlive the decoder.
class PairDecoder {
 public:
  // Errors name `type`.
  PairDecoder(MessageType type, std::string_view body)
      : type_(type), rest_(body) {}
  bool done() const { return rest_.empty(); }
  // REQUIRES: !done().
  absl::Status Next(WirePair* pair);

 private:
  MessageType type_;
  std::string_view rest_;
  VersionDecoder versions_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_PAIR_CODING_H_
