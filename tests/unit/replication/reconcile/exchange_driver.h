// Runs two exchanges against each other in memory.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_EXCHANGE_DRIVER_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_EXCHANGE_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "replication/reconcile/exchange.h"

namespace rocksync {

struct Conversation {
  absl::Status status;
  bool done = false;
  uint64_t bytes[2] = {0, 0};  // from the initiator, from the responder
  uint32_t turns = 0;          // changes of the speaker
  std::vector<std::string> payloads;
  std::vector<uint32_t> missing_there[2];
  ExchangeReport reports[2];
};

// Lets the two talk until both are done, one fails, or neither speaks. Both
// take b for `count_b` elements.
inline Conversation DriveSession(const ExchangeOptions& initiator_options,
                                 const ExchangeOptions& responder_options,
                                 const MappingSeed& seed,
                                 std::span<const ElementHash> a,
                                 std::span<const ElementHash> b,
                                 std::span<const uint64_t> positions_a = {},
                                 std::span<const uint64_t> positions_b = {},
                                 std::optional<uint64_t> count_b = {}) {
  std::unique_ptr<Exchange> sides[2] = {
      NewExchange(Role::kInitiator, initiator_options, seed, a,
                  count_b.value_or(b.size()), positions_a),
      NewExchange(Role::kResponder, responder_options, seed, b, a.size(),
                  positions_b, count_b)};
  Conversation result;
  int idle = 0;
  for (int speaker = 0; idle < 2; speaker ^= 1) {
    bool spoke = false;
    std::string payload;
    while (sides[speaker]->NextPayload(&payload)) {
      spoke = true;
      result.bytes[speaker] += payload.size();
      result.payloads.push_back(payload);
      result.status = sides[speaker ^ 1]->Receive(payload);
      if (!result.status.ok()) return result;
      payload.clear();
    }
    result.turns += spoke;
    idle = spoke ? 0 : idle + 1;
    if (result.turns > 1000) break;
  }
  result.done = sides[0]->done() && sides[1]->done();
  for (int side = 0; result.done && side < 2; ++side) {
    result.missing_there[side] = sides[side]->missing_there();
    result.reports[side] = sides[side]->report();
  }
  return result;
}

// The truth that missing_there() approximates.
inline std::vector<uint32_t> TrulyMissing(std::span<const ElementHash> mine,
                                          std::span<const ElementHash> peers) {
  const std::set<ElementHash> there(peers.begin(), peers.end());
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < mine.size(); ++i) {
    if (!there.contains(mine[i])) missing.push_back(i);
  }
  return missing;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_EXCHANGE_DRIVER_H_
