// One reconciliation as a session would run it, counted byte by byte: hello,
// exchanges, closing digests and retries. Pairs move for free.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_RECONCILIATION_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_RECONCILIATION_H_

#include <cstdint>
#include <string>

#include "replication/reconcile/exchange.h"
#include "tests/bench/reconcile/workload.h"

namespace rocksync::bench {

struct Outcome {
  uint64_t bytes_a_to_b = 0;
  uint64_t bytes_b_to_a = 0;
  double round_trips = 0;       // flights / 2
  uint64_t shipping_bytes = 0;  // of a whole session: beside keys, versions
                                // and values
  double all_round_trips = 0;   // of a whole session
  double cpu_ms_a = 0;
  double cpu_ms_b = 0;
  uint64_t missing_after = 0;
  uint64_t false_pairs = 0;
  uint64_t retries = 0;      // exchanges after the first
  uint64_t unconfirmed = 0;  // answers dropped
  std::string plan;          // of the first exchange
  bool failed = false;       // an exchange refused a payload
  uint64_t bytes() const { return bytes_a_to_b + bytes_b_to_a; }
};

struct Method {
  ExchangeOptions options;
  uint32_t max_exchanges = 64;
  // Every exchange has the mapping of the first, as if it came from the two
  // replicas' ids alone. What one hides, all hide.
  bool fixed_mapping = false;
};

// Replica a opens. Exchanges go on under fresh seeds until the digests agree or
// max_exchanges have run. `workload` becomes what the replicas then hold.
Outcome Reconcile(const Method& method, uint64_t seed, Workload* workload);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_RECONCILIATION_H_
