// A peer that sends arbitrary messages to either side of a session. The input
// is cut into messages; whatever they say, the session ends or goes on, within
// bounds, and what the replica had written itself stays.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "replication/session/messages.h"
#include "replication/session/session.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

constexpr int kKeys = 20;
// Hashing all leaves, as the initiator does, takes longer than everything else,
// so mostly there are few of them.
constexpr int kFewLeafBits = 6;

// One byte of length, then a message; the first byte of the input says which
// side we are, how large batches are and how many leaves there are.
void Fuzz(std::string_view input) {
  static const ElementHasher* const hasher =
      new ElementHasher(ClusterSecret{1});
  if (input.empty()) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);

  MemoryStorage::Options storage_options;
  storage_options.leaf_bits = (choice & 8) != 0 ? kLeafBits : kFewLeafBits;
  MemoryStorage storage(hasher, storage_options);
  for (int i = 0; i < kKeys; ++i) storage.Put(0, std::to_string(i), "mine");
  SessionOptions options;
  if ((choice & 2) != 0) options.max_batch_elements = 4;
  options.exchange.mode =
      (choice & 4) != 0 ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  options.max_value_bytes = 1000;
  SessionContext context;
  context.storage = &storage;
  context.now_ms = [] { return uint64_t{0}; };
  const std::unique_ptr<Session> session =
      NewSession((choice & 1) != 0 ? Role::kInitiator : Role::kResponder,
                 options, {}, context);
  std::string out;
  while (!session->done()) {
    while (session->NextMessage(&out)) {
      if (out.empty()) std::abort();
    }
    if (session->done() || input.empty()) break;
    const size_t size =
        std::min(input.size() - 1, size_t{static_cast<uint8_t>(input[0])});
    input.remove_prefix(1);
    const std::string message(input.substr(0, size));
    input.remove_prefix(size);
    if (session->Receive(message).ok()) continue;
    while (session->NextMessage(&out)) {  // the last words
    }
    if (!session->done()) std::abort();
  }
  // Pairs may have won, with later versions, but none is gone.
  if (storage.records().size() < kKeys) std::abort();
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksync::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
