// Every kernel sets and tests the same bits, at every alignment.

#include "plugin/filter_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/filter_hash.h"
#include "plugin/filter_sizing.h"

namespace rocksync {
namespace {

uint64_t Hash(uint64_t number) {
  return HashFilterKey(reinterpret_cast<const char*>(&number), sizeof(number),
                       77);
}

std::vector<uint64_t> Hashes(uint64_t first, size_t count) {
  std::vector<uint64_t> hashes(count);
  for (size_t i = 0; i < count; ++i) hashes[i] = Hash(first + i);
  return hashes;
}

TableFilterShape Shape(uint32_t lines, FilterProbes probes) {
  TableFilterShape shape;
  shape.seed = 77;
  shape.line_count = lines;
  shape.probes = probes;
  return shape;
}

std::string Built(const FilterKernel& kernel, const TableFilterShape& shape,
                  const std::vector<uint64_t>& hashes) {
  std::string filter(shape.bytes(), 0);
  kernel.add(filter.data(), shape, hashes.data(), hashes.size());
  return filter;
}

// The format in the fewest words, to compare the kernels with.
std::string BuiltByTheBook(const TableFilterShape& shape,
                           const std::vector<uint64_t>& hashes) {
  std::string filter(shape.bytes(), 0);
  const auto set = [&filter](uint64_t line, uint32_t bit) {
    char& byte = filter[line * 64 + bit / 8];
    byte = static_cast<char>(byte | (1 << (bit % 8)));
  };
  for (const uint64_t hash : hashes) {
    const FilterLines at =
        LocateLines(hash, shape.line_count, FilterWindow(shape.line_count));
    for (uint32_t i = 0; i < shape.probes.first; ++i) {
      set(at.first, ProbeBit(hash, i));
    }
    for (uint32_t i = 0; i < shape.probes.second; ++i) {
      set(at.second, ProbeBit(hash, 8 + i));
    }
  }
  return filter;
}

// Every possible number of probes in each line.
std::vector<FilterProbes> AllProbes() {
  std::vector<FilterProbes> all;
  for (uint32_t first = 1; first <= kMaxLineProbes; ++first) {
    for (uint32_t second = 1; second <= kMaxLineProbes; ++second) {
      all.push_back({first, second});
    }
  }
  return all;
}

class FilterKernelTest : public testing::TestWithParam<const FilterKernel*> {
 protected:
  void SetUp() override {
    if (GetParam() == nullptr) {
      GTEST_SKIP() << "this processor lacks the instructions";
    }
  }

  // Single queries and batches, half of the keys present.
  void ExpectAgreement(const TableFilterShape& shape) {
    std::vector<std::string> keys;
    for (size_t length = 0; length < 600; ++length) {
      for (char letter = 'a'; letter < 'e'; ++letter) {
        keys.emplace_back(length, letter);
      }
    }
    keys.emplace_back(1 << 20, 'm');
    // As full as at 10 bits a key, so that some absent keys pass one line.
    std::vector<uint64_t> present = Hashes(1'000'000, 51 * shape.line_count);
    for (size_t i = 0; i < keys.size(); i += 2) {
      present.push_back(HashFilterKey(keys[i].data(), keys[i].size(), 77));
    }
    const std::string filter = BuiltByTheBook(shape, present);
    const FilterView view(filter.data(), shape);
    std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
    std::vector<rocksdb::Slice*> pointers;
    for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
    const auto batch = std::make_unique<bool[]>(keys.size());
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        GetParam()->new_reader(view));
    reader->MayMatch(static_cast<int>(keys.size()), pointers.data(),
                     batch.get());
    // Batches of one key to five.
    for (size_t at = 0, count = 1; at + count <= keys.size();
         at += count, count = count % 5 + 1) {
      bool few[5];
      reader->MayMatch(static_cast<int>(count), pointers.data() + at, few);
      for (size_t j = 0; j < count; ++j) {
        ASSERT_EQ(few[j], batch[at + j]) << at << " + " << j;
      }
    }
    size_t matches = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const bool single = reader->MayMatch(keys[i]);
      ASSERT_EQ(single, batch[i]) << i;
      if (i % 2 == 0) {
        ASSERT_TRUE(single) << i;
      }
      matches += single;
    }
    EXPECT_LT(matches, keys.size() / 2 + 50);
  }
};

TEST_P(FilterKernelTest, SetsTheBitsOfTheFormat) {
  for (const uint32_t lines : {1u, 2u, 3u, 65u, 1000u}) {
    for (const FilterProbes probes : AllProbes()) {
      const TableFilterShape shape = Shape(lines, probes);
      const auto hashes = Hashes(lines, 40 * lines);
      ASSERT_EQ(Built(*GetParam(), shape, hashes),
                BuiltByTheBook(shape, hashes))
          << lines << " lines, " << probes.first << " and " << probes.second
          << " probes";
    }
  }
}

// Large filters are filled in another order of memory accesses.
TEST_P(FilterKernelTest, SetsTheBitsOfTheFormatInLargeFilters) {
  const TableFilterShape shape = Shape(20'000, {5, 2});
  for (const size_t count : {0u, 1u, 15u, 16u, 17u, 100'003u}) {
    const auto hashes = Hashes(0, count);
    ASSERT_EQ(Built(*GetParam(), shape, hashes), BuiltByTheBook(shape, hashes))
        << count;
  }
}

TEST_P(FilterKernelTest, FindsAllAndAgreesOnTheRestAtEveryAlignment) {
  const FilterKernel& portable = PortableFilterKernel();
  for (const FilterProbes probes : AllProbes()) {
    const TableFilterShape shape = Shape(37, probes);
    const auto present = Hashes(0, 2000);
    const std::string filter = BuiltByTheBook(shape, present);
    for (size_t offset = 0; offset < 64; offset += 7) {
      std::string moved = std::string(offset, 'x') + filter;
      const FilterView view(moved.data() + offset, shape);
      for (const uint64_t hash : present) {
        ASSERT_TRUE(GetParam()->test(view, hash));
      }
      for (const uint64_t hash : Hashes(1'000'000, 500)) {
        ASSERT_EQ(GetParam()->test(view, hash), portable.test(view, hash));
      }
    }
  }
}

// One bit less in the filter must make exactly the keys that need it absent:
// a kernel that ignores a probe is found out.
TEST_P(FilterKernelTest, NeedsEveryBit) {
  for (const FilterProbes probes : AllProbes()) {
    const TableFilterShape shape = Shape(2, probes);
    for (uint64_t number = 0; number < 20; ++number) {
      const std::string filter = BuiltByTheBook(shape, {Hash(number)});
      for (size_t bit = 0; bit < 2 * kFilterLineBits; ++bit) {
        if ((filter[bit / 8] >> (bit % 8) & 1) == 0) continue;
        std::string without = filter;
        without[bit / 8] =
            static_cast<char>(without[bit / 8] ^ (1 << (bit % 8)));
        ASSERT_FALSE(
            GetParam()->test(FilterView(without.data(), shape), Hash(number)));
      }
    }
  }
}

TEST_P(FilterKernelTest, SingleAndBatchAgreeForKeysOfAllLengths) {
  // Batches of large filters go another way than those of small ones.
  for (const uint32_t lines : {500u, 20'000u})
    ExpectAgreement(Shape(lines, {5, 2}));
}

TEST_P(FilterKernelTest, FalsePositivesAreAsPredicted) {
  for (const double bits : {4., 8., 10., 12., 16.}) {
    constexpr size_t kKeys = 200'000;
    constexpr size_t kQueries = 2'000'000;
    const TableFilterShape shape =
        Shape(FilterLineCount(kKeys, bits), ChooseProbes(bits));
    const std::string filter = Built(*GetParam(), shape, Hashes(0, kKeys));
    const FilterView view(filter.data(), shape);
    double found = 0;
    for (uint64_t i = 0; i < kQueries; ++i) {
      found += GetParam()->test(view, Hash(uint64_t{1} << 40 | i));
    }
    const double expected =
        kQueries *
        FilterFalsePositiveRate(kKeys, shape.line_count, shape.probes);
    EXPECT_NEAR(found, expected, 0.03 * expected + 5 * std::sqrt(expected))
        << bits << " bits per key";
  }
}

std::string KernelName(
    const testing::TestParamInfo<const FilterKernel*>& kernel) {
  return std::vector<std::string>{"portable", "avx2", "avx512"}[kernel.index];
}

INSTANTIATE_TEST_SUITE_P(Kernels, FilterKernelTest,
                         testing::Values(&PortableFilterKernel(),
                                         Avx2FilterKernel(),
                                         Avx512FilterKernel()),
                         KernelName);

TEST(BestFilterKernelTest, IsTheMostThisProcessorHas) {
  const FilterKernel* expected = Avx512FilterKernel() ? Avx512FilterKernel()
                                 : Avx2FilterKernel() ? Avx2FilterKernel()
                                                      : &PortableFilterKernel();
  EXPECT_EQ(&BestFilterKernel(), expected);
}

}  // namespace
}  // namespace rocksync
