// What the demo writes: keys and values made from a seed.

#ifndef EXAMPLES_DEMO_WORKLOAD_H_
#define EXAMPLES_DEMO_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rocksync {

struct DemoChange {
  enum class Kind { kPut, kOverwrite, kDelete };
  Kind kind;
  uint64_t key;
};

// The key with this number; their order as bytes is not that of the numbers.
std::string KeyName(uint64_t number);

// Values of 1 B to 64 KiB: nine of ten up to 256 B, one of a hundred more than
// 4 KiB; 650 B on average. Bytes that do not compress.
std::string RandomValue(std::mt19937_64* random);

// What happens while the replicas are apart, on `sides` sides with `changes`
// each: two of five are new keys, two overwrite one of the `keys` there are,
// one deletes one. No key is changed twice on one side. One overwrite in twenty
// hits a key that another side overwrites or deletes too, so that there are
// races to settle.
std::vector<std::vector<DemoChange>> ChangesWhileApart(uint64_t keys,
                                                       uint64_t changes,
                                                       size_t sides,
                                                       std::mt19937_64* random);

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_WORKLOAD_H_
