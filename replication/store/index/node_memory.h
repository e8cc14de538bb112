// Memory of the index's memtable entries. It goes from one memtable to the
// next, so that only the first ones pay for fresh pages, and it comes in huge
// pages where the system has them: entries are written at random, and fresh
// small pages cost as much as all the rest of an insert.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_NODE_MEMORY_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_NODE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "rocksdb/write_buffer_manager.h"

namespace rocksync {

// Whole pages, zero at first.
class PageBlock {
 public:
  PageBlock() = default;
  explicit PageBlock(size_t bytes);  // throws std::bad_alloc
  ~PageBlock();
  PageBlock(PageBlock&& other) noexcept;
  PageBlock& operator=(PageBlock&& other) noexcept;

  char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

// Chunks that no memtable uses. Thread-safe.
class ChunkPool {
 public:
  // Keeps up to `idle_bytes` for the next memtable. What is in use is charged
  // to `budget`, which may be null.
  ChunkPool(size_t chunk_bytes, size_t idle_bytes,
            std::shared_ptr<rocksdb::WriteBufferManager> budget);

  size_t chunk_bytes() const { return chunk_bytes_; }
  PageBlock Take(size_t bytes);
  // As WriteBufferManager has it: first what will be free soon, then what is.
  void WillGiveBack(size_t bytes);
  void GiveBack(std::vector<PageBlock> blocks);

 private:
  const size_t chunk_bytes_;
  const size_t idle_chunks_;
  const std::shared_ptr<rocksdb::WriteBufferManager> budget_;
  std::mutex mutex_;
  std::vector<PageBlock> idle_;
};

// Arrays of one size, one for each memtable there is, zero when taken. None is
// unmapped before the pool goes, so a look into one that was given back finds
// nonsense, no fault. Thread-safe.
class ArrayPool {
 public:
  explicit ArrayPool(size_t bytes) : bytes_(bytes) {}

  PageBlock Take();
  void GiveBack(PageBlock block);

 private:
  const size_t bytes_;
  std::mutex mutex_;
  std::vector<PageBlock> idle_;
};

// The memory of one memtable. Nothing is freed before the end. The first chunk
// is a page and each further one twice as large, up to the pool's chunks, so
// that what is charged follows what is used: a budget may be small, or many
// databases', and most of them idle. Thread-safe.
class NodeMemory {
 public:
  static constexpr size_t kAlignment = 8;

  explicit NodeMemory(std::shared_ptr<ChunkPool> pool);
  ~NodeMemory();
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  char* Allocate(size_t bytes) {
    bytes = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    if (bytes > chunk_bytes_ / 4) return AllocateAlone(bytes);
    while (true) {
      Chunk* const chunk = current_.load(std::memory_order_acquire);
      const size_t at = chunk->used.fetch_add(bytes, std::memory_order_relaxed);
      if (at + bytes <= chunk->block.size()) return chunk->block.data() + at;
      Grow(chunk, bytes);
    }
  }

  // Nothing will be allocated any more. May be called more than once.
  void DoneAllocating();

  size_t BytesUsed() const {
    return full_bytes_.load(std::memory_order_relaxed) +
           current_.load(std::memory_order_acquire)
               ->used.load(std::memory_order_relaxed);
  }

 private:
  struct Chunk {
    PageBlock block;
    std::atomic<size_t> used{0};  // beyond the block's size: full
  };

  char* AllocateAlone(size_t bytes);
  void Grow(Chunk* full, size_t bytes);

  const std::shared_ptr<ChunkPool> pool_;
  const size_t chunk_bytes_;
  std::atomic<Chunk*> current_;
  std::atomic<size_t> full_bytes_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<PageBlock> alone_;
  bool done_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_INDEX_NODE_MEMORY_H_
