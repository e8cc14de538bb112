// What building a filter takes at its peak, counted allocation by allocation.
// A program of its own, since it replaces the global allocation functions.

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "plugin/filter_builder.h"
#include "plugin/filter_sizing.h"

namespace {

std::atomic<size_t> in_use{0};
std::atomic<size_t> peak{0};

void* Allocate(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  const size_t now = in_use += ::malloc_usable_size(memory);
  if (now > peak) peak = now;
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr) in_use -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }

namespace rocksync {
namespace {

// Bytes beyond what was in use before, at the most, while one filter is built.
size_t PeakOfBuilding(size_t keys, double bits_per_key) {
  const size_t before = in_use;
  peak = before;
  FilterBuilderConfig config;
  config.bits_per_key = bits_per_key;
  config.probes = ChooseProbes(bits_per_key);
  FilterBuilder builder(config, rocksdb::BlockBasedTableOptions());
  for (uint64_t i = 0; i < keys; ++i) {
    builder.AddKey({reinterpret_cast<const char*>(&i), sizeof(i)});
  }
  std::unique_ptr<const char[]> owned;
  builder.Finish(&owned);
  return peak - before;
}

TEST(FilterMemoryTest, AtMostTenBytesAKey) {
  for (const double bits : {1., 4., 8., 10., 12., 16., 20.}) {
    for (const size_t keys : {100'000, 1'000'000}) {
      EXPECT_LE(PeakOfBuilding(keys, bits), 10 * keys) << bits;
    }
  }
  // The room left at the end of the last chunk matters less and less.
  EXPECT_LE(PeakOfBuilding(1'000'000, 23), 10'000'000u);
}

TEST(FilterMemoryTest, SevenBytesAKeyAndTheFilter) {
  constexpr size_t kKeys = 1'000'000;
  for (const double bits : {10., 20., 50.}) {
    const double expected = (7 + bits / 8) * kKeys;
    EXPECT_NEAR(static_cast<double>(PeakOfBuilding(kKeys, bits)), expected,
                60'000)
        << bits;
  }
}

}  // namespace
}  // namespace rocksync
