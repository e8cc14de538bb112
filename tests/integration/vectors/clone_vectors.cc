// docs/protocol.md, "Clones": the messages behind Ask, which is with those of
// the authentication that it covers.

#include <string>
#include <string_view>

#include "replication/clone/clone_messages.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

constexpr ElementHash kChunkHash = {0xa0a1a2a3a4a5a6a7, 0xb0b1b2b3b4b5b6b7};

std::string DataMessage(std::string_view chunk) {
  std::string message(kDataHeadBytes, '\0');
  PutDataHead({kChunkHash.high, kChunkHash.low}, message.data());
  return message.append(chunk);
}

}  // namespace

void AddCloneVectors(Vectors* vectors) {
  const auto add = [vectors](std::string_view name, std::string_view bytes) {
    vectors->push_back({std::string(name), std::string(bytes)});
  };
  add("clone.files",
      FilesMessage(
          {0x71,
           1,
           {{"000007.sst", 300}, {"CURRENT", 16}, {"MANIFEST-5", 0}}}));
  add("clone.refusal",
      CloneRefusalMessage({CloneRefusal::Kind::kLater, "paused"}));
  add("clone.read", ReadMessage({/*file=*/0, kCloneChunkBytes}));
  add("clone.check",
      CheckMessage({/*file=*/0, 300, {{kChunkHash.high, kChunkHash.low}}}));
  add("clone.data", DataMessage("bytes"));
  add("clone.same", SameMessage(300));
  add("clone.done", DoneMessage());
}

}  // namespace rocksync
