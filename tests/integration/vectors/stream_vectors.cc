// docs/protocol.md, "Streams": every message.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "replication/stream/stream_messages.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {

void AddStreamVectors(Vectors* vectors) {
  const auto add = [vectors](std::string_view name, std::string_view bytes) {
    vectors->push_back({std::string(name), std::string(bytes)});
  };
  add("stream.open", EncodeStreamOpen({uint64_t{1} << 20,
                                       /*idle_timeout_ms=*/10'000, "east"}));
  ChangesEncoder changes;
  changes.Add(/*family=*/0, "a", kVectorVersion, /*tombstone=*/false,
              kVectorValue);
  changes.Add(/*family=*/1, "b", kVectorVersion, /*tombstone=*/true, "");
  add("stream.changes", changes.message());
  add("stream.taken",
      EncodeStreamCount(StreamMessageType::kAck, changes.message().size()));
  add("stream.gap", EncodeStreamCount(StreamMessageType::kGap, 300));
  add("stream.alive", EncodeAlive());
  add("stream.neighbours", EncodeNeighbours({{2, "east"}, {3, ""}}));
  const std::array<uint64_t, 1> origin = {kVectorVersion.replica};
  add("stream.prune", EncodeStreamList(StreamMessageType::kPrune, origin));
  const std::array<uint64_t, 2> hashes = {0xa0a1a2a3a4a5a6a7,
                                          0xb0b1b2b3b4b5b6b7};
  add("stream.announce",
      EncodeStreamList(StreamMessageType::kAnnounce, hashes));
  add("stream.graft", EncodeStreamList(StreamMessageType::kGraft, hashes));
}

}  // namespace rocksync
