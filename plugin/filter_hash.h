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
#include <cstring>

namespace rocksync {

__attribute__((noinline)) inline uint64_t HashLongFilterKey(const char* key,
                                                            size_t size,
                                                            uint64_t seed) {
  return XXH3_64bits_withSeed(key, size, seed);
}

// Keys up to 32 bytes are hashed inline. What XXH3 does for longer ones,
// inlined, would cost short ones the saving of registers.
inline uint64_t HashFilterKey(const char* key, size_t size, uint64_t seed) {
  if (size <= 16) return XXH3_64bits_withSeed(key, size, seed);
  if (size <= 32) return XXH3_64bits_withSeed(key, size, seed);
  return HashLongFilterKey(key, size, seed);
}

// The same function with what it derives from the seed kept, for many keys.
class FilterHasher {
 public:
  FilterHasher() : FilterHasher(0) {}
  explicit FilterHasher(uint64_t seed)
      : seed_(seed),
        low_(0x6782737bea4239b9 + seed),
        high_(0xaf56bc3b0996523a - seed) {}

  uint64_t operator()(const char* key, size_t size) const {
    if (IsUsual(size)) return HashUsual(key, size);
    return HashFilterKey(key, size, seed_);
  }

  // Keys of 9 to 16 bytes.
  static bool IsUsual(size_t size) { return size - 9 < 8; }

  // XXH3's branch for these (XXH3_len_9to16_64b in its reference); the
  // constants are words 3 xor 4 and 5 xor 6 of its default secret.
  uint64_t HashUsual(const char* key, size_t size) const {
    __extension__ using Uint128 = unsigned __int128;
    const uint64_t low = Read(key) ^ low_;
    const uint64_t high = Read(key + size - 8) ^ high_;
    const Uint128 product = Uint128{low} * high;
    uint64_t hash =
        size + __builtin_bswap64(low) + high +
        (static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64));
    hash = (hash ^ (hash >> 37)) * 0x165667919e3779f9;
    return hash ^ (hash >> 32);
  }

 private:
  static uint64_t Read(const char* bytes) {
    uint64_t value;
    std::memcpy(&value, bytes, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
  }

  uint64_t seed_;
  uint64_t low_;
  uint64_t high_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_HASH_H_
