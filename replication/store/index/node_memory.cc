#include "replication/store/index/node_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace rocksync {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

char* MapPages(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(memory);
}

// Maps more than is asked for and unmaps both ends, as a huge page has to begin
// at a multiple of its size.
char* MapHugePages(size_t bytes) {
  char* const memory = MapPages(bytes + kHugePage);
  const size_t before = -reinterpret_cast<uintptr_t>(memory) & (kHugePage - 1);
  if (before != 0) munmap(memory, before);
  munmap(memory + before + bytes, kHugePage - before);
#ifdef MADV_HUGEPAGE
  madvise(memory + before, bytes, MADV_HUGEPAGE);  // advice: may fail
#endif
  return memory + before;
}

}  // namespace

PageBlock::PageBlock(size_t bytes)
    : data_(bytes % kHugePage == 0 ? MapHugePages(bytes) : MapPages(bytes)),
      size_(bytes) {}

PageBlock::~PageBlock() {
  if (data_ != nullptr) munmap(data_, size_);
}

PageBlock::PageBlock(PageBlock&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

PageBlock& PageBlock::operator=(PageBlock&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

ChunkPool::ChunkPool(size_t chunk_bytes, size_t idle_bytes,
                     std::shared_ptr<rocksdb::WriteBufferManager> budget)
    : chunk_bytes_(chunk_bytes),
      idle_chunks_(idle_bytes / chunk_bytes),
      budget_(std::move(budget)) {}

PageBlock ChunkPool::Take(size_t bytes) {
  if (budget_ != nullptr) budget_->ReserveMem(bytes);
  if (bytes == chunk_bytes_) {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      PageBlock block = std::move(idle_.back());
      idle_.pop_back();
      return block;
    }
  }
  return PageBlock(bytes);
}

void ChunkPool::WillGiveBack(size_t bytes) {
  if (budget_ != nullptr) budget_->ScheduleFreeMem(bytes);
}

void ChunkPool::GiveBack(std::vector<PageBlock> blocks) {
  size_t bytes = 0;
  {
    std::lock_guard lock(mutex_);
    for (PageBlock& block : blocks) {
      bytes += block.size();
      if (block.size() == chunk_bytes_ && idle_.size() < idle_chunks_) {
        idle_.push_back(std::move(block));
      }
    }
  }
  if (budget_ != nullptr) budget_->FreeMem(bytes);
}

PageBlock ArrayPool::Take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      PageBlock block = std::move(idle_.back());
      idle_.pop_back();
      return block;
    }
  }
  return PageBlock(bytes_);
}

void ArrayPool::GiveBack(PageBlock block) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(block));
}

NodeMemory::NodeMemory(std::shared_ptr<ChunkPool> pool)
    : pool_(std::move(pool)), chunk_bytes_(pool_->chunk_bytes()) {
  chunks_.push_back(std::make_unique<Chunk>());  // empty, and so full
  current_.store(chunks_.back().get(), std::memory_order_release);
}

void NodeMemory::DoneAllocating() {
  std::lock_guard lock(mutex_);
  if (std::exchange(done_, true)) return;
  size_t bytes = 0;
  for (const auto& chunk : chunks_) bytes += chunk->block.size();
  for (const PageBlock& block : alone_) bytes += block.size();
  pool_->WillGiveBack(bytes);
}

NodeMemory::~NodeMemory() {
  DoneAllocating();
  std::vector<PageBlock> blocks = std::move(alone_);
  for (const auto& chunk : chunks_) blocks.push_back(std::move(chunk->block));
  pool_->GiveBack(std::move(blocks));
}

char* NodeMemory::AllocateAlone(size_t bytes) {
  PageBlock block = pool_->Take(bytes);
  char* const memory = block.data();
  std::lock_guard lock(mutex_);
  alone_.push_back(std::move(block));
  full_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

void NodeMemory::Grow(Chunk* full, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (current_.load(std::memory_order_relaxed) != full) return;
  size_t size = std::max(kPage, 2 * full->block.size());
  while (size < bytes) size *= 2;
  auto chunk = std::make_unique<Chunk>();
  chunk->block = pool_->Take(std::min(size, chunk_bytes_));
  full_bytes_.fetch_add(full->block.size(), std::memory_order_relaxed);
  current_.store(chunk.get(), std::memory_order_release);
  chunks_.push_back(std::move(chunk));
}

}  // namespace rocksync
