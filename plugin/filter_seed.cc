#include "plugin/filter_seed.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "plugin/filter_hash.h"

namespace rocksync {

uint64_t RandomFilterSeed() {
  uint64_t seed;
  if (getentropy(&seed, sizeof(seed)) == 0) return seed;
  // This sandbox has no entropy call: seeds are still distinct, though
  // guessable.
  static std::atomic<uint64_t> count{0};
  const uint64_t parts[3] = {
      count.fetch_add(1, std::memory_order_relaxed),
      static_cast<uint64_t>(
          std::chrono::steady_clock::now().time_since_epoch().count()),
      reinterpret_cast<uintptr_t>(&seed)};
  return HashFilterKey(reinterpret_cast<const char*>(parts), sizeof(parts),
                       static_cast<uint64_t>(getpid()));
}

}  // namespace rocksync
