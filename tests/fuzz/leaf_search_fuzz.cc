// A peer that sends arbitrary payloads, in either role: the search refuses them
// or ends, and what it finds are leaves that are not closed, in order.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "replication/reconcile/leaf_search.h"

// data: role, preference and how the search goes (1), log2 of the leaves (1),
// then payloads, each after its length (2).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto role = (data[0] & 1) != 0 ? rocksync::Role::kInitiator
                                       : rocksync::Role::kResponder;
  const auto prefer = (data[0] & 2) != 0 ? rocksync::Prefer::kRoundTrips
                                         : rocksync::Prefer::kBytes;
  std::vector<rocksync::Digest> leaves(size_t{1} << data[1] % 11);
  std::vector<bool> closed(leaves.size(), false);
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves[i] = {i, i * 0x9e3779b97f4a7c15, i};
    closed[i] = i % 8 == 7;
  }
  rocksync::LeafSearch search(role,
                              {.prefer = prefer,
                               .per_leaf = 3,
                               .expected = 40,
                               .parities = (data[0] & 4) == 0,
                               .at_once = (data[0] & 8) != 0,
                               .eager = (data[0] & 16) != 0},
                              {}, leaves, closed);
  std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string out;
  while (true) {
    if (search.NextPayload(&out) && search.NextPayload(&out)) std::abort();
    out.clear();
    if (search.done() || input.size() < 2) break;
    const size_t length = static_cast<uint8_t>(input[0]) * size_t{256} +
                          static_cast<uint8_t>(input[1]);
    input.remove_prefix(2);
    const std::string_view payload = input.substr(0, length);
    input.remove_prefix(payload.size());
    if (!search.Receive(payload).ok()) return 0;
  }
  if (!search.done()) return 0;
  size_t next = 0;
  for (const uint32_t leaf : search.missing_there()) {
    if (leaf < next || leaf >= leaves.size() || closed[leaf]) std::abort();
    next = size_t{leaf} + 1;
  }
  return 0;
}
