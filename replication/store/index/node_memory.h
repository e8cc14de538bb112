// Memory for the entries of the index's memtable. It is passed from one
// memtable to the next, so that only the first ones pay for fresh pages. It
// consists of huge pages where the system has them: entries are written at
// random, and fresh small pages cost as much as all the rest of an insert.

#ifndef ROCKSYNC_REPLICATION_STORE_INDEX_NODE_MEMORY_H_
#define ROCKSYNC_REPLICATION_STORE_INDEX_NODE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "rocksdb/write_buffer_manager.h"

namespace rocksync {

// A block of whole pages, zero at first.
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

// Keeps chunks that no memtable uses. Thread-safe.
class ChunkPool {
 public:
  // Keeps up to `idle_bytes` for the next memtable. Chunks in use are charged
  // to `budget`, which may be null.
  ChunkPool(size_t chunk_bytes, size_t idle_bytes,
            std::shared_ptr<rocksdb::WriteBufferManager> budget);

  size_t chunk_bytes() const { return chunk_bytes_; }
  PageBlock Take(size_t bytes);
  // WillGiveBack announces what will be free soon, GiveBack frees it: the two
  // steps of WriteBufferManager.
  void WillGiveBack(size_t bytes);
  void GiveBack(std::vector<PageBlock> blocks);

 private:
  const size_t chunk_bytes_;
  const size_t idle_chunks_;
  const std::shared_ptr<rocksdb::WriteBufferManager> budget_;
  std::mutex mutex_;
  std::vector<PageBlock> idle_;
};

// Provides arrays of one size, one for each memtable, zero when taken. No array
// is unmapped before the pool is destroyed, so a read of one that was given
// back finds nonsense, but does not fault. Thread-safe.
class ArrayPool {
 public:
  explicit ArrayPool(size_t bytes) : bytes_(bytes) {}

  PageBlock Take();
  // `block` is zero again.
  void GiveBack(PageBlock block);

 private:
  const size_t bytes_;
  std::mutex mutex_;
  std::vector<PageBlock> idle_;
};

// The memory of one memtable. Nothing is freed before the end. The first chunk
// is a page, and each further one is twice as large, up to the pool's chunk
// size, so that the charge follows the use: a budget may be small, or shared by
// many databases, most of them idle. Thread-safe.
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

  // Declares that nothing will be allocated any more. May be called repeatedly.
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
