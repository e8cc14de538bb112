#include "replication/stream/stream_messages.h"

#include "replication/session/messages.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

std::string Headed(StreamMessageType type) {
  return std::string(1, static_cast<char>(type));
}

}  // namespace

std::string EncodeStreamOpen(const StreamOpen& open) {
  std::string message(1, static_cast<char>(MessageType::kStreamOpen));
  PutVarint64(&message, open.window_bytes);
  PutVarint64(&message, open.idle_timeout_ms);
  PutLengthPrefixed(&message, open.zone);
  return message;
}

absl::Status DecodeStreamOpen(std::string_view message, StreamOpen* open) {
  uint8_t head = 0;
  std::string_view zone;
  if (!GetFixed8(&message, &head) ||
      head != static_cast<uint8_t>(MessageType::kStreamOpen) ||
      !GetVarint64(&message, &open->window_bytes) ||
      !GetVarint64(&message, &open->idle_timeout_ms) ||
      !GetLengthPrefixed(&message, kMaxZoneBytes, &zone) ||
      open->window_bytes == 0 || open->idle_timeout_ms == 0) {
    return Malformed(MessageType::kStreamOpen,
                     "not a window, a patience and a zone");
  }
  open->zone = std::string(zone);
  return absl::OkStatus();
}

void ChangesEncoder::Clear() {
  message_ = Headed(StreamMessageType::kChanges);
  pairs_.emplace(&message_);
  count_ = 0;
}

void ChangesEncoder::Add(uint32_t family, std::string_view key,
                         const Version& version, bool tombstone,
                         std::string_view value) {
  pairs_->Add({.family = family,
               .key = key,
               .version = version,
               .kind = tombstone ? WirePair::Kind::kTombstone
                                 : WirePair::Kind::kWithValue,
               .value_size = tombstone ? 0 : value.size(),
               .value = tombstone ? std::string_view() : value,
               .hash = {}});
  ++count_;
}

absl::Status DecodeChanges(std::string_view body, uint32_t families,
                           std::vector<Pair>* pairs) {
  pairs->clear();
  PairDecoder decoder(MessageType::kPairs, body);
  while (!decoder.done()) {
    WirePair pair;
    absl::Status status = decoder.Next(&pair);
    if (!status.ok()) return status;
    if (pair.kind == WirePair::Kind::kOnRequest || pair.family >= families ||
        pairs->size() == kMaxChangesInMessage) {
      return Malformed(MessageType::kPairs,
                       "of a stream: a pair without a value, of an unknown "
                       "family, or too many");
    }
    pairs->push_back(OwnedPair(pair, std::string(pair.value)));
  }
  return pairs->empty() ? Malformed(MessageType::kPairs, "none in a stream")
                        : absl::OkStatus();
}

std::string EncodeStreamCount(StreamMessageType type, uint64_t count) {
  std::string message = Headed(type);
  PutVarint64(&message, count);
  return message;
}

absl::Status DecodeStreamCount(std::string_view body, uint64_t* count) {
  if (!GetVarint64(&body, count) || !body.empty()) {
    return absl::InvalidArgumentError("stream: not a count");
  }
  return absl::OkStatus();
}

bool IsAnswer(std::string_view message) {
  return message.starts_with(Headed(StreamMessageType::kAck)) ||
         message.starts_with(Headed(StreamMessageType::kAlive));
}

std::string EncodeAlive() { return Headed(StreamMessageType::kAlive); }

std::string EncodeNeighbours(const std::vector<Neighbour>& neighbours) {
  std::string message = Headed(StreamMessageType::kNeighbours);
  for (const Neighbour& neighbour : neighbours) {
    PutFixed64(&message, neighbour.id);
    PutLengthPrefixed(&message, neighbour.zone);
  }
  return message;
}

absl::Status DecodeNeighbours(std::string_view body,
                              std::vector<Neighbour>* neighbours) {
  neighbours->clear();
  while (!body.empty()) {
    uint64_t id = 0;
    std::string_view zone;
    if (neighbours->size() == kMaxListed || !GetFixed64(&body, &id) ||
        !GetLengthPrefixed(&body, kMaxZoneBytes, &zone)) {
      return absl::InvalidArgumentError("stream: not a list of neighbours");
    }
    neighbours->push_back({id, std::string(zone)});
  }
  return absl::OkStatus();
}

std::string EncodeStreamList(StreamMessageType type,
                             std::span<const uint64_t> list) {
  std::string message = Headed(type);
  for (const uint64_t number : list) PutFixed64(&message, number);
  return message;
}

absl::Status DecodeStreamList(std::string_view body,
                              std::vector<uint64_t>* list) {
  list->clear();
  if (body.size() > kMaxListed * sizeof(uint64_t)) {
    return absl::InvalidArgumentError("stream: a list that is too long");
  }
  while (!body.empty()) {
    uint64_t number = 0;
    if (!GetFixed64(&body, &number)) {
      return absl::InvalidArgumentError("stream: not a list");
    }
    list->push_back(number);
  }
  return absl::OkStatus();
}

}  // namespace rocksync
