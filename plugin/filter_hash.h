// XXH3, 64 bits, with a seed. From the header alone, so that nothing has to be
// linked and calls are inlined.

#ifndef ROCKSYNC_PLUGIN_FILTER_HASH_H_
#define ROCKSYNC_PLUGIN_FILTER_HASH_H_

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace rocksync {

// Out of line: inlined, what XXH3 does for long keys would cost short ones the
// saving of registers.
__attribute__((noinline)) inline uint64_t HashLongFilterKey(const char* key,
                                                            size_t size,
                                                            uint64_t seed) {
  return XXH3_64bits_withSeed(key, size, seed);
}

inline uint64_t HashFilterKey(const char* key, size_t size, uint64_t seed) {
  if (size > 128) return HashLongFilterKey(key, size, seed);
  return XXH3_64bits_withSeed(key, size, seed);
}

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_HASH_H_
