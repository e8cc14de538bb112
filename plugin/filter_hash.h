// The hash of keys: XXH3, 64 bits, with a seed.

#ifndef ROCKSYNC_PLUGIN_FILTER_HASH_H_
#define ROCKSYNC_PLUGIN_FILTER_HASH_H_

// RocksDB's own build has a copy of xxHash, which is linked there anyway.
// Elsewhere the installed header alone is inlined: nothing has to be linked.
#if __has_include(<util/xxhash.h>)
#include <util/xxhash.h>
#else
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

static_assert(XXH_VERSION_NUMBER >= 800, "XXH3 is final since xxHash 0.8");

#define ROCKSYNC_INLINE inline __attribute__((always_inline))

namespace rocksync {

__attribute__((noinline)) inline uint64_t HashLongFilterKey(const char* key,
                                                            size_t size,
                                                            uint64_t seed) {
  return XXH3_64bits_withSeed(key, size, seed);
}

// Hashes a key; keys up to 16 bytes inline. What XXH3 does for longer ones,
// inlined, would make short ones save registers as well.
inline uint64_t HashFilterKey(const char* key, size_t size, uint64_t seed) {
  if (size <= 16) return XXH3_64bits_withSeed(key, size, seed);
  return HashLongFilterKey(key, size, seed);
}

// Computes HashFilterKey for many keys: keeps what XXH3 derives from the seed.
class FilterHasher {
 public:
  FilterHasher() : FilterHasher(0) {}
  explicit FilterHasher(uint64_t seed)
      : seed_(seed),
        low_(0x6782737bea4239b9 + seed),
        high_(0xaf56bc3b0996523a - seed),
        longer_{0xbe4ba423396cfeb8 + seed, 0x1cad21f72c81017c - seed,
                0xdb979083e96dd4de + seed, 0x1f67b3b7a4a44072 - seed} {}

  ROCKSYNC_INLINE uint64_t operator()(const char* key, size_t size) const {
    if (IsUsual(size)) return HashUsual(key, size);
    if (IsLonger(size)) return HashLonger(key, size);
    return HashFilterKey(key, size, seed_);
  }

  // Returns true for keys of 9 to 16 bytes.
  static bool IsUsual(size_t size) { return size - 9 < 8; }
  // Returns true for keys of 17 to 32 bytes.
  static bool IsLonger(size_t size) { return size - 17 < 16; }

  // Hashes a usual key: XXH3's branch for these (XXH3_len_9to16_64b in its
  // reference); the constants are words 3 xor 4 and 5 xor 6 of its default
  // secret.
  uint64_t HashUsual(const char* key, size_t size) const {
    const uint64_t low = Read(key) ^ low_;
    const uint64_t high = Read(key + size - 8) ^ high_;
    return Avalanche(size + __builtin_bswap64(low) + high +
                     FoldedProduct(low, high));
  }

  // Hashes a longer key: the last part of XXH3_len_17to128_64b, with words 0 to
  // 3.
  uint64_t HashLonger(const char* key, size_t size) const {
    const char* end = key + size;
    return Avalanche(
        size * 0x9e3779b185ebca87 +
        FoldedProduct(Read(key) ^ longer_[0], Read(key + 8) ^ longer_[1]) +
        FoldedProduct(Read(end - 16) ^ longer_[2], Read(end - 8) ^ longer_[3]));
  }

 private:
  static uint64_t FoldedProduct(uint64_t a, uint64_t b) {
    __extension__ using Uint128 = unsigned __int128;
    const Uint128 product = Uint128{a} * b;
    return static_cast<uint64_t>(product) ^
           static_cast<uint64_t>(product >> 64);
  }
  static uint64_t Avalanche(uint64_t hash) {
    hash = (hash ^ (hash >> 37)) * 0x165667919e3779f9;
    return hash ^ (hash >> 32);
  }
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
  uint64_t longer_[4];
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_HASH_H_
