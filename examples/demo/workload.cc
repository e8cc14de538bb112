#include "examples/demo/workload.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <numeric>

namespace rocksync {
namespace {

// Mixes all bits; a permutation, so that names stay different.
uint64_t Scatter(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

size_t RandomSize(std::mt19937_64* random) {
  const auto between = [&](size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(*random);
  };
  const size_t percent = between(0, 99);
  if (percent < 90) return between(1, 256);
  if (percent < 99) return between(257, 4096);
  return between(4097, 65536);
}

}  // namespace

std::string KeyName(uint64_t number) {
  char name[40];
  std::snprintf(name, sizeof name, "user:%016" PRIx64 ":%" PRIu64,
                Scatter(number), number);
  return name;
}

std::string RandomValue(std::mt19937_64* random) {
  std::string value(RandomSize(random), '\0');
  for (size_t at = 0; at < value.size(); at += sizeof(uint64_t)) {
    const uint64_t bits = (*random)();
    std::memcpy(&value[at], &bits, std::min(sizeof bits, value.size() - at));
  }
  return value;
}

std::vector<std::vector<DemoChange>> ChangesWhileApart(
    uint64_t keys, uint64_t changes, size_t sides, std::mt19937_64* random) {
  // Each side takes a stretch of its own from the shuffled keys; the stretches
  // of neighbours overlap where one overwrites.
  std::vector<uint64_t> shuffled(keys);
  std::iota(shuffled.begin(), shuffled.end(), uint64_t{0});
  std::shuffle(shuffled.begin(), shuffled.end(), *random);
  const uint64_t old_keys = std::min(changes * 3 / 5, keys / sides);
  const uint64_t deletes = old_keys / 3;
  const uint64_t races = (old_keys - deletes) / 20;
  std::vector<std::vector<DemoChange>> all(sides);
  for (size_t side = 0; side < sides; ++side) {
    std::vector<DemoChange>& mine = all[side];
    const uint64_t begin = side * old_keys;
    for (uint64_t i = 0; i < old_keys; ++i) {
      const bool race = i >= old_keys - races && side + 1 < sides;
      // A race is with the next side's deletes and overwrites alike: its keys
      // are the next side's from the border between the two on.
      const uint64_t at =
          race ? begin + old_keys + deletes - races / 2 + (old_keys - 1 - i)
               : begin + i;
      mine.push_back({i < deletes ? DemoChange::Kind::kDelete
                                  : DemoChange::Kind::kOverwrite,
                      shuffled[at % keys]});
    }
    for (uint64_t i = old_keys; i < changes; ++i) {
      mine.push_back({DemoChange::Kind::kPut, keys + side * changes + i});
    }
    std::shuffle(mine.begin(), mine.end(), *random);
  }
  return all;
}

}  // namespace rocksync
