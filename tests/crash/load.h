// The seeded load of one thread of a child.

#ifndef ROCKSYNC_TESTS_CRASH_LOAD_H_
#define ROCKSYNC_TESTS_CRASH_LOAD_H_

#include <cstdint>
#include <random>

#include "tests/crash/operation.h"

namespace rocksync::crash {

class Load {
 public:
  // `kill` counts the incarnations of children, so that no two operations of a
  // run have one id. `replicas_share`: also write to keys that other replicas
  // write. One write in `sync_one_in` is synced.
  Load(uint64_t seed, uint32_t kill, uint32_t replica, uint32_t thread,
       bool replicas_share, uint32_t sync_one_in);

  Operation Next();

 private:
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>(random_() % bound);
  }
  uint32_t AnyKey();
  Change AnyChange(uint32_t key);
  void AddRange(Operation* operation);

  std::mt19937_64 random_;
  const uint32_t replica_;
  const uint32_t thread_;
  const bool replicas_share_;
  const uint32_t sync_one_in_;
  uint64_t next_id_;
};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_LOAD_H_
