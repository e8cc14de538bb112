// How fast a replica that lacks much is healed by one session, pair by pair.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_HEAL_CASES_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_HEAL_CASES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/heal/delaying_relay.h"
#include "tests/bench/heal/measured.h"

namespace rocksync::bench {

struct HealCase {
  std::string name;
  uint64_t pairs = 0;  // of the replica that is whole
  uint64_t value_bytes = 0;
  double missing = 0;      // share of them that the other lacks
  double own = 0;          // as a share of them, what the other alone has
  double overwritten = 0;  // share of them that it has older versions of
  // Empty: loopback. The anchor is then plain RocksDB that writes the pairs
  // that differ, in batches, on one thread; else the link at its rate.
  std::optional<LinkOptions> link{};
  // Measured is a resync, which copies; the anchor is a session.
  bool resync = false;
};

// `scale` multiplies the numbers of pairs.
std::vector<HealCase> HealCases(double scale);

// In `directory`, which is removed. Nullopt, with the reason on stderr, if
// anything failed, or the session did not prove the replicas equal.
std::optional<Measured> RunHeal(const HealCase& heal,
                                const std::string& directory);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_HEAL_CASES_H_
