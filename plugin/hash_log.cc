#include "plugin/hash_log.h"

namespace rocksync {

void HashLog::SortByAddress() {
  const std::unique_ptr<uint64_t[]> scratch(new uint64_t[kWindowHashes]);
  runs_.reserve((size() + kWindowHashes - 1) / kWindowHashes);
  for (size_t first = 0; first < size(); first += kWindowHashes) {
    const size_t count = std::min(kWindowHashes, size() - first);
    // Counts the hashes of each part, then sums up: where each part begins.
    Runs runs = {};
    for (size_t i = 0; i < count; ++i) {
      ++runs.begin[(Read(At(first + i)) >> 56) + 1];
    }
    for (size_t part = 1; part <= kParts; ++part) {
      runs.begin[part] += runs.begin[part - 1];
    }
    uint32_t next[kParts];
    std::copy_n(runs.begin, kParts, next);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t hash = Read(At(first + i));
      scratch[next[hash >> 56]++] = hash;
    }
    for (size_t i = 0; i < count; ++i) Write(scratch[i], At(first + i));
    runs_.push_back(runs);
  }
}

}  // namespace rocksync
