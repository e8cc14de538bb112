// Two replicas' leaves, some of which differ, for tests of what tells which.

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_LEAF_REPLICAS_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_LEAF_REPLICAS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "sketch/element/digest.h"

namespace rocksync {

inline constexpr uint32_t kLeaves = 1 << 16;

// Leaves of about 15 pairs, and the same with some changed.
struct Replicas {
  std::vector<Digest> a;
  std::vector<Digest> b;
  std::set<uint32_t> differing;
};

inline Replicas Differing(uint32_t leaves, size_t differing, uint64_t seed) {
  std::mt19937_64 random(seed);
  Replicas replicas;
  for (uint32_t i = 0; i < leaves; ++i) {
    replicas.a.push_back({8 + random() % 16, random(), random()});
  }
  replicas.b = replicas.a;
  while (replicas.differing.size() < differing) {
    const auto leaf = static_cast<uint32_t>(random() % leaves);
    if (!replicas.differing.insert(leaf).second) continue;
    auto& side = random() % 2 == 0 ? replicas.a : replicas.b;
    side[leaf].Add({.high = random(), .low = random()});
  }
  return replicas;
}

// A key of each leaf that differs has another element.
inline Replicas Overwritten(uint32_t leaves, size_t differing, uint64_t seed) {
  Replicas replicas = Differing(leaves, 0, seed);
  std::mt19937_64 random(seed + 1);
  while (replicas.differing.size() < differing) {
    const auto leaf = static_cast<uint32_t>(random() % leaves);
    if (!replicas.differing.insert(leaf).second) continue;
    replicas.b[leaf].high = random();
    replicas.b[leaf].low = random();
  }
  return replicas;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_RECONCILE_LEAF_REPLICAS_H_
