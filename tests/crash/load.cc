#include "tests/crash/load.h"

#include <algorithm>

namespace rocksync::crash {

Load::Load(uint64_t seed, uint32_t kill, uint32_t replica, uint32_t thread,
           bool replicas_share, uint32_t sync_one_in)
    : replica_(replica),
      thread_(thread),
      replicas_share_(replicas_share),
      sync_one_in_(sync_one_in),
      next_id_((uint64_t{kill} << 36) | (uint64_t{replica} << 32) |
               (uint64_t{thread} << 28)) {
  std::seed_seq mix{static_cast<uint32_t>(seed),
                    static_cast<uint32_t>(seed >> 32), kill, replica, thread};
  random_.seed(mix);
}

uint32_t Load::AnyKey() {
  uint32_t key_class = replica_ * kClassesPerReplica + thread_;
  const uint32_t choice = Below(10);
  if (choice == 0) {
    key_class = replica_ * kClassesPerReplica + kThreadsShareClass;
  } else if (choice == 1 && replicas_share_) {
    key_class = kReplicasShareClass;
  }
  return KeyOf(key_class, Below(kClassKeys));
}

Change Load::AnyChange(uint32_t key) {
  if (Below(5) == 0) return {key, true, 0};
  const uint32_t size = Below(50) == 0 ? Below(20000) : 24 + Below(300);
  return {key, false, size};
}

// Up to eight neighbours of the thread's own keys in one family.
void Load::AddRange(Operation* operation) {
  operation->range = true;
  const uint32_t first = Below(kClassKeys - 16);
  const uint32_t count = 1 + Below(8);
  for (uint32_t i = 0; i < count; ++i) {
    operation->changes.push_back(
        {KeyOf(replica_ * kClassesPerReplica + thread_, first + 2 * i), true,
         0});
  }
}

Operation Load::Next() {
  Operation operation;
  operation.id = ++next_id_;
  operation.sync = Below(sync_one_in_) == 0;
  const uint32_t kind = Below(40);
  if (kind == 0) {
    AddRange(&operation);
    return operation;
  }
  const uint32_t changes = kind < 10 ? 2 + Below(10) : 1;
  for (uint32_t i = 0; i < changes; ++i) {
    const uint32_t key = AnyKey();
    const bool twice =
        std::any_of(operation.changes.begin(), operation.changes.end(),
                    [key](const Change& change) { return change.key == key; });
    if (!twice) operation.changes.push_back(AnyChange(key));
  }
  return operation;
}

}  // namespace rocksync::crash
