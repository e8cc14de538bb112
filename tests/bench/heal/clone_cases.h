// How fast a new replica is made as a copy of a running one, beside rsync.

#ifndef ROCKSYNC_TESTS_BENCH_HEAL_CLONE_CASES_H_
#define ROCKSYNC_TESTS_BENCH_HEAL_CLONE_CASES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/heal/delaying_relay.h"
#include "tests/bench/heal/measured.h"

namespace rocksync::bench {

struct CloneCase {
  std::string name;
  uint64_t pairs = 0;
  uint64_t value_bytes = 0;
  // The process that clones is killed at half, and another one goes on: the
  // bytes are those of both.
  bool killed = false;
  // Empty: loopback. The anchor is then `rsync -a` of a checkpoint of the same
  // database from a daemon; else the link at its rate.
  std::optional<LinkOptions> link{};
};

// `scale` multiplies the numbers of pairs.
std::vector<CloneCase> CloneCases(double scale);

// In `directory`, which is removed. Nullopt, with the reason on stderr, if
// anything failed, or the clone was not proven equal.
std::optional<Measured> RunClone(const CloneCase& clone,
                                 const std::string& directory);

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_HEAL_CLONE_CASES_H_
