// Keys of benchmarks: any number of them, distinct, of a given size, scattered.

#ifndef ROCKSYNC_TESTS_BENCH_FILTER_KEYS_H_
#define ROCKSYNC_TESTS_BENCH_FILTER_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace rocksync::bench {

// SplitMix64: a bijection.
inline uint64_t Scatter(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

constexpr size_t kKeyBytes = 16;  // unless a case is about their size

// Key number `number` of at least 16 bytes: scattered bytes, then the number.
inline void WriteKey(uint64_t number, size_t bytes, char* out) {
  const uint64_t scattered = Scatter(number);
  for (size_t i = 0; i + 8 < bytes; i += 8) std::memcpy(out + i, &scattered, 8);
  std::memcpy(out + bytes - 8, &number, 8);
}

// Consecutive numbers' keys in one piece of memory.
class Keys {
 public:
  Keys(uint64_t first, size_t count, size_t bytes)
      : memory_(count * bytes, 0), slices_(count) {
    for (size_t i = 0; i < count; ++i) {
      WriteKey(first + i, bytes, memory_.data() + i * bytes);
      slices_[i] = rocksdb::Slice(memory_.data() + i * bytes, bytes);
    }
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;
  const std::vector<rocksdb::Slice>& slices() const { return slices_; }
  std::vector<rocksdb::Slice>& slices() { return slices_; }

 private:
  std::string memory_;
  std::vector<rocksdb::Slice> slices_;
};

// Absent keys have numbers from here on.
constexpr uint64_t kAbsent = uint64_t{1} << 40;

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_FILTER_KEYS_H_
