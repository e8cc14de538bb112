// The hashes of the keys of a filter that is being built, in the order added:
// the 7 bytes of each that a filter looks at, in chunks, so that growing never
// copies and needs no second allocation of the same size.

#ifndef ROCKSYNC_PLUGIN_HASH_LOG_H_
#define ROCKSYNC_PLUGIN_HASH_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace rocksync {

class HashLog {
 public:
  static constexpr size_t kChunkHashes = 4096;
  static constexpr size_t kHashBytes = 7;
  // One more, since the last hash is written as 8 bytes too.
  static constexpr size_t kChunkBytes = kChunkHashes * kHashBytes + 1;
  // The address and the fingerprint; the others come back as 0.
  static constexpr uint64_t kKeptBits = 0xffffffff00ffffff;

  HashLog() = default;
  HashLog(const HashLog&) = delete;
  HashLog& operator=(const HashLog&) = delete;

  size_t size() const { return size_; }
  size_t chunk_count() const { return chunks_.size(); }

  // True if a chunk was allocated for it.
  bool Append(uint64_t hash) {
    const bool grow = size_ % kChunkHashes == 0 && NextChunk();
    // The byte not kept comes last and is written over by the next hash.
    const uint64_t swapped = SwapHalves(hash);
    std::memcpy(next_, &swapped, sizeof(swapped));
    next_ += kHashBytes;
    checksum_ ^= hash;
    ++size_;
    return grow;
  }

  // Calls visit(const uint64_t* hashes, size_t count) for all of them in order,
  // some at a time.
  template <class Visit>
  void ForEachGroup(Visit visit) const {
    constexpr size_t kGroup = 256;
    static_assert(kChunkHashes % kGroup == 0);
    uint64_t hashes[kGroup];
    for (size_t begin = 0; begin < size_; begin += kGroup) {
      const size_t count = std::min(kGroup, size_ - begin);
      const char* in = chunks_[begin / kChunkHashes].get() +
                       begin % kChunkHashes * kHashBytes;
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(&hashes[i], in + i * kHashBytes, sizeof(uint64_t));
        hashes[i] = SwapHalves(hashes[i]) & kKeptBits;
      }
      visit(static_cast<const uint64_t*>(hashes), count);
    }
  }

  // Whether the hashes are still those that were appended.
  bool Verify() const {
    uint64_t checksum = checksum_ & kKeptBits;
    ForEachGroup([&checksum](const uint64_t* hashes, size_t count) {
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
  friend struct HashLogTestPeer;

  static uint64_t SwapHalves(uint64_t hash) { return hash >> 32 | hash << 32; }

  // Moves on to the next chunk; true if it had to be allocated.
  bool NextChunk() {
    const size_t number = size_ / kChunkHashes;
    const bool grow = number == chunks_.size();
    if (grow) chunks_.emplace_back(new char[kChunkBytes]);
    next_ = chunks_[number].get();
    return grow;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;  // where the next goes, within a chunk
  size_t size_ = 0;
  uint64_t checksum_ = 0;  // xor of all
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_HASH_LOG_H_
