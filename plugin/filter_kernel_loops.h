// The loops that kernels share: where a key's lines are and in which order
// memory is fetched. A kernel supplies how lines are found, tested and filled:
//
//   struct Lines {
//     // Locate finds the lines of so many keys of a batch, from `at` on.
//     static constexpr size_t kLocated;
//     static void Locate(uint64_t line_count, uint32_t window, size_t at,
//                        KeyBatch* batch);
//     // Returns whether a line has a key's bits; `multipliers` are eight of a
//     // FilterView.
//     static bool Test(const char* line, uint64_t hash,
//                      const uint32_t* multipliers);
//     // Returns whether both lines do; `multipliers` are all sixteen.
//     static bool TestBoth(const char* first, const char* second,
//                          uint64_t hash, const uint32_t* multipliers);
//     // Sets a key's bits in both of its lines.
//     static void SetBoth(char* first, char* second, uint64_t hash,
//                         FilterProbes probes);
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
#include "plugin/filter_interface.h"
#include "plugin/filter_kernel.h"

namespace rocksync {

constexpr size_t kKernelBatch = 32;  // RocksDB's own batches are no larger
// RocksDB splits a batch among the files. So many of its keys, or fewer, are
// tested one by one, since a batch of them would cost more than it saves.
constexpr int kFewKeys = 3;
// Filters up to a megabyte, the usual size of a second-level cache, are near.
constexpr uint32_t kNearLines = (1 << 20) / kFilterLineBytes;

// Keys in progress, with the places of their lines in bytes.
struct KeyBatch {
  alignas(64) uint64_t hashes[kKernelBatch];
  alignas(64) uint64_t first[kKernelBatch];
  alignas(64) uint64_t second[kKernelBatch];
};

// Finds the lines of the hashes in the batch.
template <class Lines>
ROCKSYNC_INLINE void LocateBatch(uint64_t line_count, uint32_t window,
                                 size_t count, KeyBatch* batch) {
  // The batch is filled up to a whole group; these places are never used.
  for (size_t i = count; i % Lines::kLocated != 0; ++i) batch->hashes[i] = 0;
  for (size_t i = 0; i < count; i += Lines::kLocated) {
    Lines::Locate(line_count, window, i, batch);
  }
}

// Prefetches a line. It straddles two cache lines if the filter is not aligned.
ROCKSYNC_INLINE void PrefetchLine(const char* line) {
  __builtin_prefetch(line);
  if (reinterpret_cast<uintptr_t>(line) % kFilterLineBytes != 0) {
    __builtin_prefetch(line + kFilterLineBytes - 1);
  }
}

// Tests a key. In a near filter there is no branch between the lines: the
// processor itself overlaps queries, and there is nothing to mispredict,
// whatever share of the keys is present. In a far one a line costs more than a
// misprediction: the second is fetched only if the first has all bits.
template <class Lines>
ROCKSYNC_INLINE bool TestHash(const FilterView& filter, uint64_t hash) {
  const FilterLines at = LocateLines(hash, filter.line_count, filter.window);
  const char* const first = filter.lines + at.first * kFilterLineBytes;
  const char* const second = filter.lines + at.second * kFilterLineBytes;
  if (filter.line_count <= kNearLines) {
    return Lines::TestBoth(first, second, hash, filter.multipliers);
  }
  return Lines::Test(first, hash, filter.multipliers) &&
         Lines::Test(second, hash, filter.multipliers + kMaxLineProbes);
}

template <class Lines>
ROCKSYNC_INLINE void TestNear(const FilterView& filter, size_t count,
                              const KeyBatch& batch, bool* may_match) {
  for (size_t i = 0; i < count; ++i) {
    may_match[i] = Lines::TestBoth(filter.lines + batch.first[i],
                                   filter.lines + batch.second[i],
                                   batch.hashes[i], filter.multipliers);
  }
}

// Tests keys in three passes: fetches the first lines; tests these and fetches
// the second lines of the few keys that remain; tests those.
template <class Lines>
ROCKSYNC_INLINE void TestFar(const FilterView& filter, size_t count,
                             const KeyBatch& batch, bool* may_match) {
  for (size_t i = 0; i < count; ++i) {
    PrefetchLine(filter.lines + batch.first[i]);
  }
  uint32_t left[kKernelBatch];
  size_t left_count = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool passed = Lines::Test(filter.lines + batch.first[i],
                                    batch.hashes[i], filter.multipliers);
    may_match[i] = passed;
    // There is no branch: most often this is a line that was just read, at no
    // cost.
    PrefetchLine(filter.lines + (passed ? batch.second[i] : batch.first[i]));
    left[left_count] = static_cast<uint32_t>(i);
    left_count += passed;
  }
  for (size_t j = 0; j < left_count; ++j) {
    const uint32_t i = left[j];
    may_match[i] = Lines::Test(filter.lines + batch.second[i], batch.hashes[i],
                               filter.multipliers + kMaxLineProbes);
  }
}

// Tests up to kKernelBatch keys.
template <class Lines>
ROCKSYNC_INLINE void TestBatch(const FilterView& filter, size_t count,
                               rocksdb::Slice** keys, bool* may_match) {
  KeyBatch batch;
  for (size_t i = 0; i < count; ++i) {
    batch.hashes[i] = filter.hash(keys[i]->data(), keys[i]->size());
  }
  LocateBatch<Lines>(filter.line_count, filter.window, count, &batch);
  if (filter.line_count <= kNearLines) {
    TestNear<Lines>(filter, count, batch, may_match);
  } else {
    TestFar<Lines>(filter, count, batch, may_match);
  }
}

// Sets bits a few keys at a time, fetching the lines of a large filter first.
template <class Lines>
ROCKSYNC_INLINE void AddHashes(char* lines, const TableFilterShape& shape,
                               const uint64_t* hashes, size_t count) {
  const uint64_t line_count = shape.line_count;
  const uint32_t window = FilterWindow(shape.line_count);
  const FilterProbes probes = shape.probes;
  const bool far = shape.line_count > kNearLines;
  KeyBatch batch;
  for (size_t begin = 0; begin < count; begin += kKernelBatch) {
    const size_t n = std::min(kKernelBatch, count - begin);
    __builtin_memcpy(batch.hashes, hashes + begin, n * sizeof(uint64_t));
    LocateBatch<Lines>(line_count, window, n, &batch);
    if (far) {
      for (size_t i = 0; i < n; ++i) {
        PrefetchLine(lines + batch.first[i]);
        PrefetchLine(lines + batch.second[i]);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      Lines::SetBoth(lines + batch.first[i], lines + batch.second[i],
                     batch.hashes[i], probes);
    }
  }
}

}  // namespace rocksync

// These macros define NewReader and Test, or Add, of a kernel for `Lines`, in
// an anonymous namespace, compiled with `TARGET` attributes. Keys of usual and
// of other sizes get functions of their own: in one, what XXH3 does for the
// others would make the usual ones save registers as well.
#define ROCKSYNC_DEFINE_FILTER_READER(Lines, TARGET)                          \
  class alignas(64) Reader final : public rocksdb::FilterBitsReader {         \
   public:                                                                    \
    explicit Reader(const FilterView& filter) : filter_(filter) {}            \
    TARGET __attribute__((flatten)) bool MayMatch(                            \
        const rocksdb::Slice& key) override {                                 \
      const FilterHasher& hash = filter_.hash;                                \
      if (FilterHasher::IsUsual(key.size())) {                                \
        return TestHash<Lines>(filter_,                                       \
                               hash.HashUsual(key.data(), key.size()));       \
      }                                                                       \
      if (FilterHasher::IsLonger(key.size())) {                               \
        return TestHash<Lines>(filter_,                                       \
                               hash.HashLonger(key.data(), key.size()));      \
      }                                                                       \
      return MayMatchOther(key);                                              \
    }                                                                         \
    TARGET __attribute__((flatten)) void MayMatch(int count,                  \
                                                  rocksdb::Slice** keys,      \
                                                  bool* may_match) override { \
      if (count <= kFewKeys) {                                                \
        for (int i = 0; i < count; ++i) may_match[i] = MayMatch(*keys[i]);    \
        return;                                                               \
      }                                                                       \
      const FilterView filter = filter_; /* no store can change it */         \
      const auto all = static_cast<size_t>(count);                            \
      for (size_t done = 0; done < all; done += kKernelBatch) {               \
        TestBatch<Lines>(filter, std::min(kKernelBatch, all - done),          \
                         keys + done, may_match + done);                      \
      }                                                                       \
    }                                                                         \
                                                                              \
   private:                                                                   \
    TARGET __attribute__((noinline, flatten)) bool MayMatchOther(             \
        const rocksdb::Slice& key) {                                          \
      return TestHash<Lines>(filter_, filter_.hash(key.data(), key.size()));  \
    }                                                                         \
                                                                              \
    const FilterView filter_;                                                 \
  };                                                                          \
  rocksdb::FilterBitsReader* NewReader(const FilterView& filter) {            \
    return new Reader(filter);                                                \
  }                                                                           \
  TARGET bool Test(const FilterView& filter, uint64_t hash) {                 \
    return TestHash<Lines>(filter, hash);                                     \
  }

#define ROCKSYNC_DEFINE_FILTER_ADD(Lines, TARGET)             \
  TARGET void Add(char* lines, const TableFilterShape& shape, \
                  const uint64_t* hashes, size_t count) {     \
    AddHashes<Lines>(lines, shape, hashes, count);            \
  }

#endif  // ROCKSYNC_PLUGIN_FILTER_KERNEL_LOOPS_H_
