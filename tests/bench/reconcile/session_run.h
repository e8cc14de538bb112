// A real session between two storages, message by message, and what its
// messages cost.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_SESSION_RUN_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_SESSION_RUN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "replication/session/session.h"
#include "replication/session/storage_view.h"

namespace rocksync::bench {

// Whole messages with the length of their frames. Shipping is offers, wants
// and pairs; the rest finds out what is missing and proves that nothing is.
struct SessionCost {
  uint64_t finding_bytes[2] = {};   // sent by a, by b
  uint64_t shipping_bytes[2] = {};  // the same, without the content
  uint64_t content_bytes = 0;       // keys, versions and values of pairs
  uint64_t offered = 0;             // pairs, by key and version or as a whole
  // Flights / 2. `finding`: of those that carry more than shipping.
  double round_trips = 0;
  double finding_round_trips = 0;
  double cpu_ms[2] = {};
  SessionReport report[2];
  // Turn by turn, what each carries: "a: Hello 21; b: Locate 5, Payload 13".
  std::string turns;
  bool proven = false;
};

// `a` opens. `between_turns` is called after each turn and may be empty.
SessionCost RunSession(StorageView* a, StorageView* b,
                       const SessionOptions& options, uint64_t seed,
                       const std::function<void()>& between_turns = {});

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_SESSION_RUN_H_
