#include "replication/store/index/node_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace rocksync {
namespace {

constexpr size_t kChunk = 4096;

TEST(NodeMemoryTest, PiecesOfManyThreadsDoNotOverlap) {
  NodeMemory memory(std::make_shared<ChunkPool>(kChunk, kChunk, nullptr));
  std::vector<std::vector<std::pair<char*, size_t>>> pieces(4);
  std::vector<std::thread> threads;
  for (auto& mine : pieces) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 5000; ++i) {
        // Some are larger than a chunk, or than what it sets apart.
        const size_t bytes = i % 500 == 0 ? 3 * kChunk + i : i % 90 + 1;
        mine.emplace_back(memory.Allocate(bytes), bytes);
        std::memset(mine.back().first, 0xa5, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::pair<char*, size_t>> all;
  size_t bytes = 0;
  for (const auto& mine : pieces)
    all.insert(all.end(), mine.begin(), mine.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    bytes += all[i].second;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all[i].first) % 8, 0u);
    if (i == 0) continue;
    ASSERT_LE(all[i - 1].first + all[i - 1].second, all[i].first);
  }
  EXPECT_GE(memory.BytesUsed(), bytes);
  EXPECT_LE(memory.BytesUsed(), bytes + bytes / 2);
}

TEST(NodeMemoryTest, ChunksAreUsedAgainAndChargedWhileInUse) {
  auto budget = std::make_shared<rocksdb::WriteBufferManager>(100 * kChunk);
  auto pool = std::make_shared<ChunkPool>(kChunk, kChunk, budget);
  {
    NodeMemory memory(pool);
    EXPECT_EQ(budget->memory_usage(), 0u);
    *memory.Allocate(8) = 'x';
    EXPECT_EQ(budget->memory_usage(), kChunk);
    memory.Allocate(2 * kChunk);
    EXPECT_EQ(budget->memory_usage(), 3 * kChunk);
    EXPECT_EQ(budget->mutable_memtable_memory_usage(), 3 * kChunk);
    memory.DoneAllocating();
    EXPECT_EQ(budget->memory_usage(), 3 * kChunk) << "until it is freed";
    EXPECT_EQ(budget->mutable_memtable_memory_usage(), 0u);
  }
  EXPECT_EQ(budget->memory_usage(), 0u);
  EXPECT_EQ(budget->mutable_memtable_memory_usage(), 0u);
  NodeMemory next(pool);
  EXPECT_EQ(*next.Allocate(8), 'x') << "fresh pages would be zero";
}

}  // namespace
}  // namespace rocksync
