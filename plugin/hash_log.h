// The hashes of the keys of a filter that is being built, in the order added:
// 8 bytes a key, in chunks, so that growing never copies and needs no second
// allocation of the same size.

#ifndef ROCKSYNC_PLUGIN_HASH_LOG_H_
#define ROCKSYNC_PLUGIN_HASH_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rocksync {

class HashLog {
 public:
  static constexpr size_t kChunkHashes = 4096;
  static constexpr size_t kChunkBytes = kChunkHashes * sizeof(uint64_t);

  HashLog() = default;
  HashLog(const HashLog&) = delete;
  HashLog& operator=(const HashLog&) = delete;

  size_t size() const { return size_; }
  size_t chunk_count() const { return chunks_.size(); }

  // True if a chunk was allocated for it.
  bool Append(uint64_t hash) {
    const bool grow = size_ % kChunkHashes == 0 && NextChunk();
    *next_++ = hash;
    checksum_ ^= hash;
    ++size_;
    return grow;
  }

  // Calls visit(const uint64_t* hashes, size_t count) for all of them in order.
  template <class Visit>
  void ForEachChunk(Visit visit) const {
    for (size_t begin = 0; begin < size_; begin += kChunkHashes) {
      visit(chunks_[begin / kChunkHashes].get(),
            std::min(kChunkHashes, size_ - begin));
    }
  }

  // Whether the hashes are still those that were appended.
  bool Verify() const {
    uint64_t checksum = checksum_;
    ForEachChunk([&checksum](const uint64_t* hashes, size_t count) {
      for (size_t i = 0; i < count; ++i) checksum ^= hashes[i];
    });
    return checksum == 0;
  }

  // Forgets all, keeping one chunk for what comes next.
  void Clear() {
    if (chunks_.size() > 1) chunks_.resize(1);
    size_ = 0;
    checksum_ = 0;
  }

 private:
  // Moves on to the next chunk; true if it had to be allocated.
  bool NextChunk() {
    const size_t number = size_ / kChunkHashes;
    const bool grow = number == chunks_.size();
    if (grow) chunks_.emplace_back(new uint64_t[kChunkHashes]);
    next_ = chunks_[number].get();
    return grow;
  }

  std::vector<std::unique_ptr<uint64_t[]>> chunks_;
  uint64_t* next_ = nullptr;  // where the next goes, within a chunk
  size_t size_ = 0;
  uint64_t checksum_ = 0;  // xor of all
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_HASH_LOG_H_
