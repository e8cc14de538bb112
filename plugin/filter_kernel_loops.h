// What the kernels share: the order in which a filter's memory is fetched. A
// kernel supplies how one line is tested and filled:
//
//   struct Line {
//     static bool TestFirst(const char* line, uint32_t fingerprint,
//                           uint32_t probes);
//     static bool TestSecond(the same);
//     static void SetFirst(char* line, uint32_t fingerprint, uint32_t probes);
//     static void SetSecond(the same);
//   };
//
// Everything here is inlined into functions compiled for the kernel's own
// instruction set.

#ifndef ROCKSYNC_PLUGIN_FILTER_KERNEL_LOOPS_H_
#define ROCKSYNC_PLUGIN_FILTER_KERNEL_LOOPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plugin/filter_format.h"
#include "plugin/filter_hash.h"
#include "plugin/filter_kernel.h"

#define ROCKSYNC_INLINE inline __attribute__((always_inline))

namespace rocksync {

// A line may straddle two cache lines, since filters have no alignment.
ROCKSYNC_INLINE void PrefetchLine(const char* line) {
  __builtin_prefetch(line);
  __builtin_prefetch(line + kFilterLineBytes - 1);
}

ROCKSYNC_INLINE const char* LineAt(const FilterView& filter, uint32_t index) {
  return filter.lines + size_t{index} * kFilterLineBytes;
}

template <class Line>
ROCKSYNC_INLINE bool TestHash(const FilterView& filter, uint64_t hash) {
  const FilterLines at = LocateLines(hash, filter.shape.line_count);
  const auto fingerprint = static_cast<uint32_t>(hash);
  return Line::TestFirst(LineAt(filter, at.first), fingerprint,
                         filter.shape.first_probes()) &&
         Line::TestSecond(LineAt(filter, at.second), fingerprint,
                          filter.shape.second_probes());
}

// Three passes over up to 32 keys: hash them and fetch their first lines; test
// these and fetch the second lines of the few that remain; test those.
template <class Line>
ROCKSYNC_INLINE void TestBatch(const FilterView& filter, size_t count,
                               rocksdb::Slice** keys, bool* may_match) {
  constexpr size_t kBatch = 32;
  uint32_t fingerprints[kBatch];
  const char* first_lines[kBatch];
  const char* second_lines[kBatch];
  uint32_t left[kBatch];
  const uint32_t line_count = filter.shape.line_count;
  for (; count > 0; keys += std::min(count, kBatch),
                    may_match += std::min(count, kBatch),
                    count -= std::min(count, kBatch)) {
    const size_t n = std::min(count, kBatch);
    for (size_t i = 0; i < n; ++i) {
      const uint64_t hash =
          HashFilterKey(keys[i]->data(), keys[i]->size(), filter.shape.seed);
      const FilterLines at = LocateLines(hash, line_count);
      fingerprints[i] = static_cast<uint32_t>(hash);
      first_lines[i] = LineAt(filter, at.first);
      second_lines[i] = LineAt(filter, at.second);
      PrefetchLine(first_lines[i]);
    }
    size_t left_count = 0;
    for (size_t i = 0; i < n; ++i) {
      may_match[i] = Line::TestFirst(first_lines[i], fingerprints[i],
                                     filter.shape.first_probes());
      left[left_count] = static_cast<uint32_t>(i);
      left_count += may_match[i];
    }
    for (size_t j = 0; j < left_count; ++j) PrefetchLine(second_lines[left[j]]);
    for (size_t j = 0; j < left_count; ++j) {
      const uint32_t i = left[j];
      may_match[i] = Line::TestSecond(second_lines[i], fingerprints[i],
                                      filter.shape.second_probes());
    }
  }
}

// Fetches lines some keys ahead of setting their bits.
template <class Line>
ROCKSYNC_INLINE void AddHashes(char* lines, const FilterShape& shape,
                               const uint64_t* hashes, size_t count) {
  constexpr size_t kAhead = 8;
  FilterLines places[kAhead];
  for (size_t i = 0; i < count + kAhead; ++i) {
    FilterLines& place = places[i % kAhead];
    if (i >= kAhead && i - kAhead < count) {
      const auto fingerprint = static_cast<uint32_t>(hashes[i - kAhead]);
      Line::SetFirst(lines + size_t{place.first} * kFilterLineBytes,
                     fingerprint, shape.first_probes());
      Line::SetSecond(lines + size_t{place.second} * kFilterLineBytes,
                      fingerprint, shape.second_probes());
    }
    if (i < count) {
      place = LocateLines(hashes[i], shape.line_count);
      PrefetchLine(lines + size_t{place.first} * kFilterLineBytes);
      PrefetchLine(lines + size_t{place.second} * kFilterLineBytes);
    }
  }
}

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_FILTER_KERNEL_LOOPS_H_
