// What the kernels share: where a key's lines are and in which order memory is
// fetched. A kernel supplies how lines are tested and filled:
//
//   struct Lines {
//     static constexpr uint32_t kNearLines;  // where batches need no fetching
//
//     // Whether both lines have all the key's bits, without a branch.
//     static bool TestBoth(const FilterView&, const char* first,
//                          const char* second, uint32_t fingerprint);
//     // One line at a time.
//     static bool TestFirst(const FilterView&, const char*, uint32_t);
//     static bool TestSecond(const FilterView&, const char*, uint32_t);
//     // Sets the key's bits in both lines.
//     static void SetBoth(char* first, char* second, uint32_t fingerprint,
//                         uint32_t first_probes, uint32_t second_probes);
//   };
//
// All of it is inlined into functions compiled for the kernel's instruction
// set.

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

constexpr size_t kKernelBatch = 32;  // RocksDB's own batches are no larger
// A megabyte, the usual size of a second cache.
constexpr uint32_t kSecondCacheLines = (1 << 20) / kFilterLineBytes;

// A line straddles two cache lines where the filter is not aligned.
ROCKSYNC_INLINE void PrefetchLine(const char* line) {
  __builtin_prefetch(line);
  __builtin_prefetch(line + kFilterLineBytes - 1);
}

template <class Lines>
ROCKSYNC_INLINE bool TestHash(const FilterView& filter, uint64_t hash) {
  const FilterLines at = LocateLines(hash, filter.line_count, filter.window);
  return Lines::TestBoth(filter, filter.lines + at.first * kFilterLineBytes,
                         filter.lines + at.second * kFilterLineBytes,
                         static_cast<uint32_t>(hash));
}

// For filters that are likely in a processor's second cache: the processor
// itself overlaps the queries, as there is no branch between them.
template <class Lines>
ROCKSYNC_INLINE void TestNearBatch(const FilterView& filter, size_t count,
                                   rocksdb::Slice** keys, bool* may_match) {
  for (size_t i = 0; i < count; ++i) {
    may_match[i] = TestHash<Lines>(
        filter, HashFilterKey(keys[i]->data(), keys[i]->size(), filter.seed));
  }
}

// For larger ones, up to 32 keys in three passes: hash them and fetch their
// first lines; test these and fetch the second lines of the few that remain;
// test those.
template <class Lines>
ROCKSYNC_INLINE void TestFarBatch(const FilterView& filter, size_t count,
                                  rocksdb::Slice** keys, bool* may_match) {
  uint32_t fingerprints[kKernelBatch];
  const char* first_lines[kKernelBatch];
  const char* second_lines[kKernelBatch];
  uint32_t left[kKernelBatch];
  for (size_t i = 0; i < count; ++i) {
    const uint64_t hash =
        HashFilterKey(keys[i]->data(), keys[i]->size(), filter.seed);
    const FilterLines at = LocateLines(hash, filter.line_count, filter.window);
    fingerprints[i] = static_cast<uint32_t>(hash);
    first_lines[i] = filter.lines + at.first * kFilterLineBytes;
    second_lines[i] = filter.lines + at.second * kFilterLineBytes;
    PrefetchLine(first_lines[i]);
  }
  size_t left_count = 0;
  for (size_t i = 0; i < count; ++i) {
    may_match[i] = Lines::TestFirst(filter, first_lines[i], fingerprints[i]);
    left[left_count] = static_cast<uint32_t>(i);
    left_count += may_match[i];
  }
  for (size_t j = 0; j < left_count; ++j) PrefetchLine(second_lines[left[j]]);
  for (size_t j = 0; j < left_count; ++j) {
    const uint32_t i = left[j];
    may_match[i] = Lines::TestSecond(filter, second_lines[i], fingerprints[i]);
  }
}

template <class Lines>
ROCKSYNC_INLINE void TestBatch(const FilterView& view, size_t count,
                               rocksdb::Slice** keys, bool* may_match) {
  const FilterView filter = view;  // which no store to *may_match can change
  if (filter.line_count <= Lines::kNearLines) {
    TestNearBatch<Lines>(filter, count, keys, may_match);
    return;
  }
  for (size_t done = 0; done < count; done += kKernelBatch) {
    TestFarBatch<Lines>(filter, std::min(kKernelBatch, count - done),
                        keys + done, may_match + done);
  }
}

// Fetches the lines of a large filter some keys ahead of setting their bits.
template <class Lines>
ROCKSYNC_INLINE void AddHashes(char* lines, const FilterShape& shape,
                               const uint64_t* hashes, size_t count) {
  constexpr size_t kAhead = 16;
  const uint64_t line_count = shape.line_count;
  const uint32_t window = FilterWindow(shape.line_count);
  const uint32_t first_probes = shape.first_probes();
  const uint32_t second_probes = shape.second_probes();
  if (shape.line_count <= kSecondCacheLines) {
    for (size_t i = 0; i < count; ++i) {
      const FilterLines at = LocateLines(hashes[i], line_count, window);
      Lines::SetBoth(lines + at.first * kFilterLineBytes,
                     lines + at.second * kFilterLineBytes,
                     static_cast<uint32_t>(hashes[i]), first_probes,
                     second_probes);
    }
    return;
  }
  char* first_lines[kAhead];
  char* second_lines[kAhead];
  for (size_t begin = 0; begin < count; begin += kAhead) {
    const size_t n = std::min(kAhead, count - begin);
    for (size_t i = 0; i < n; ++i) {
      const FilterLines at = LocateLines(hashes[begin + i], line_count, window);
      first_lines[i] = lines + at.first * kFilterLineBytes;
      second_lines[i] = lines + at.second * kFilterLineBytes;
      PrefetchLine(first_lines[i]);
      PrefetchLine(second_lines[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      const auto fingerprint = static_cast<uint32_t>(hashes[begin + i]);
      Lines::SetBoth(first_lines[i], second_lines[i], fingerprint, first_probes,
                     second_probes);
    }
  }
}

}  // namespace rocksync

// Defines, in an anonymous namespace, the functions of a FilterKernel for
// `Lines`, compiled with `TARGET` attributes. Keys up to 16 bytes, and up to
// 128, get functions of their own, since the compiler can then drop what XXH3
// does for longer ones, and with it the calls and the saving of registers.
#define ROCKSYNC_DEFINE_KERNEL_FUNCTIONS(Lines, TARGET)                    \
  TARGET __attribute__((noinline)) bool MayMatchLong(                      \
      const FilterView& filter, const char* key, size_t size) {            \
    return TestHash<Lines>(filter, HashFilterKey(key, size, filter.seed)); \
  }                                                                        \
  TARGET __attribute__((noinline, flatten)) bool MayMatchMiddle(           \
      const FilterView& filter, const char* key, size_t size) {            \
    if (size > 128) return MayMatchLong(filter, key, size);                \
    return TestHash<Lines>(filter, HashFilterKey(key, size, filter.seed)); \
  }                                                                        \
  TARGET __attribute__((flatten)) bool MayMatch(                           \
      const FilterView& filter, const char* key, size_t size) {            \
    if (size > 16) return MayMatchMiddle(filter, key, size);               \
    return TestHash<Lines>(filter, HashFilterKey(key, size, filter.seed)); \
  }                                                                        \
  TARGET __attribute__((flatten)) void MayMatchBatch(                      \
      const FilterView& filter, size_t count, rocksdb::Slice** keys,       \
      bool* may_match) {                                                   \
    TestBatch<Lines>(filter, count, keys, may_match);                      \
  }                                                                        \
  TARGET bool Test(const FilterView& filter, uint64_t hash) {              \
    return TestHash<Lines>(filter, hash);                                  \
  }                                                                        \
  TARGET void Add(char* lines, const FilterShape& shape,                   \
                  const uint64_t* hashes, size_t count) {                  \
    AddHashes<Lines>(lines, shape, hashes, count);                         \
  }

#endif  // ROCKSYNC_PLUGIN_FILTER_KERNEL_LOOPS_H_
