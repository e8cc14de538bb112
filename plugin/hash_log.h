// A log of the hashes of the keys of a filter that is being built. It keeps the
// 7 bytes of each that a filter looks at, in chunks, so that growing never
// copies and needs no second allocation of the same size.

#ifndef ROCKSYNC_PLUGIN_HASH_LOG_H_
#define ROCKSYNC_PLUGIN_HASH_LOG_H_

#include <algorithm>
#include <atomic>
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
  // Has a byte more, since the last hash is written as 8 bytes, too.
  static constexpr size_t kChunkBytes = kChunkHashes * kHashBytes + 1;
  // The bits of the address and the fingerprint; the others are read back as 0.
  static constexpr uint64_t kKeptBits = 0xffffffff00ffffff;

  HashLog() = default;
  HashLog(const HashLog&) = delete;
  HashLog& operator=(const HashLog&) = delete;

  // Safe to call from any thread.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

  // Returns about how many bytes are allocated.
  size_t bytes() const {
    return chunks_.size() * kChunkBytes + runs_.size() * sizeof(Runs);
  }

  // Appends a hash. Returns true if a chunk was allocated for it.
  bool Append(uint64_t hash) {
    const size_t size = this->size();
    const bool grow = size % kChunkHashes == 0 && NextChunk(size);
    Write(hash, next_);
    next_ += kHashBytes;
    checksum_ ^= hash;
    size_.store(size + 1, std::memory_order_relaxed);
    return grow;
  }

  // Calls visit(const uint64_t* hashes, size_t count) for all hashes, some at a
  // time; in the order added unless they were sorted.
  template <class Visit>
  void ForEachGroup(Visit visit) const {
    if (runs_.empty()) return ForEachAsAdded(visit);
    Group<Visit> group(visit);
    for (size_t part = 0; part < kParts; ++part) {
      for (size_t window = 0; window < runs_.size(); ++window) {
        const size_t begin = window * kWindowHashes;
        for (size_t i = begin + runs_[window].begin[part];
             i < begin + runs_[window].begin[part + 1]; ++i) {
          group.Add(Read(At(i)));
        }
      }
    }
    group.Flush();
  }

  // Sorts the hashes: from now on, until Clear, those with the same upper bits
  // of their address come together, so that they meet in one part of a large
  // filter while it is in the cache. Sorts windows of the log in place, through
  // kScratchBytes that are freed again. Nothing may be added after it.
  void SortByAddress();
  static constexpr size_t kScratchBytes = 512 << 10;

  // Returns whether the hashes are still those that were appended.
  bool Verify() const {
    uint64_t checksum = checksum_ & kKeptBits;
    ForEachGroup([&checksum](const uint64_t* hashes, size_t count) {
      for (size_t i = 0; i < count; ++i) checksum ^= hashes[i];
    });
    return checksum == 0;
  }

  // Discards all hashes, keeping one chunk for what comes next.
  void Clear() {
    if (chunks_.size() > 1) chunks_.resize(1);
    runs_ = {};
    size_.store(0, std::memory_order_relaxed);
    checksum_ = 0;
  }

 private:
  friend struct HashLogTestPeer;

  static constexpr size_t kParts = 256;  // by the upper 8 bits of the address
  static constexpr size_t kWindowHashes = kScratchBytes / sizeof(uint64_t);
  static_assert(kWindowHashes % kChunkHashes == 0);

  // Positions in a sorted window at which each part begins.
  struct Runs {
    uint32_t begin[kParts + 1];
  };

  // Collects hashes for `visit`.
  template <class Visit>
  class Group {
   public:
    explicit Group(Visit& visit) : visit_(visit) {}
    void Add(uint64_t hash) {
      hashes_[count_++] = hash;
      if (count_ == kHashes) Flush();
    }
    void Flush() {
      visit_(static_cast<const uint64_t*>(hashes_), count_);
      count_ = 0;
    }

   private:
    static constexpr size_t kHashes = 256;
    Visit& visit_;
    size_t count_ = 0;
    uint64_t hashes_[kHashes];
  };

  template <class Visit>
  void ForEachAsAdded(Visit visit) const {
    constexpr size_t kGroup = 256;
    static_assert(kChunkHashes % kGroup == 0);
    uint64_t hashes[kGroup];
    for (size_t begin = 0; begin < size(); begin += kGroup) {
      const size_t count = std::min(kGroup, size() - begin);
      const char* in = At(begin);
      for (size_t i = 0; i < count; ++i) hashes[i] = Read(in + i * kHashBytes);
      visit(static_cast<const uint64_t*>(hashes), count);
    }
  }

  const char* At(size_t i) const {
    return chunks_[i / kChunkHashes].get() + i % kChunkHashes * kHashBytes;
  }
  char* At(size_t i) {
    return const_cast<char*>(static_cast<const HashLog*>(this)->At(i));
  }

  // The byte that is not kept comes last, and the next hash overwrites it.
  static void Write(uint64_t hash, char* out) {
    const uint64_t swapped = SwapHalves(hash);
    std::memcpy(out, &swapped, sizeof(swapped));
  }
  static uint64_t Read(const char* in) {
    uint64_t swapped;
    std::memcpy(&swapped, in, sizeof(swapped));
    return SwapHalves(swapped) & kKeptBits;
  }
  static uint64_t SwapHalves(uint64_t hash) { return hash >> 32 | hash << 32; }

  // Moves on to the next chunk. Returns true if it had to be allocated.
  bool NextChunk(size_t size) {
    const size_t number = size / kChunkHashes;
    const bool grow = number == chunks_.size();
    if (grow) chunks_.emplace_back(new char[kChunkBytes]);
    next_ = chunks_[number].get();
    return grow;
  }

  std::vector<std::unique_ptr<char[]>> chunks_;
  std::vector<Runs> runs_;  // of each window; empty: not sorted
  char* next_ = nullptr;    // where the next hash goes, within a chunk
  std::atomic<size_t> size_{0};
  uint64_t checksum_ = 0;  // xor of all hashes
};

}  // namespace rocksync

#endif  // ROCKSYNC_PLUGIN_HASH_LOG_H_
