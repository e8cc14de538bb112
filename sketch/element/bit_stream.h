// Writes and reads bits in bytes, least significant bit first.

#ifndef ROCKSYNC_SKETCH_ELEMENT_BIT_STREAM_H_
#define ROCKSYNC_SKETCH_ELEMENT_BIT_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocksync {

// Appends bits to a string; fills up the last byte with zeros.
class BitWriter {
 public:
  explicit BitWriter(std::string* out) : out_(out) {}
  ~BitWriter() { Flush(); }
  BitWriter(const BitWriter&) = delete;
  BitWriter& operator=(const BitWriter&) = delete;

  // Appends the lowest `count` bits of `value`, count <= 56; the others must be
  // 0.
  void Put(uint64_t value, int count) {
    pending_ |= value << filled_;
    filled_ += count;
    while (filled_ >= 8) {
      out_->push_back(static_cast<char>(pending_));
      pending_ >>= 8;
      filled_ -= 8;
    }
  }
  void Flush() {
    if (filled_ == 0) return;
    out_->push_back(static_cast<char>(pending_));
    pending_ = 0;
    filled_ = 0;
  }

 private:
  std::string* const out_;
  uint64_t pending_ = 0;
  int filled_ = 0;
};

// Reads bits; every Get fails once the input is used up.
class BitReader {
 public:
  explicit BitReader(std::string_view input) : input_(input) {}

  [[nodiscard]] bool Get(int count, uint64_t* value) {
    while (filled_ < count) {
      if (at_ == input_.size()) return false;
      pending_ |= uint64_t{static_cast<uint8_t>(input_[at_++])} << filled_;
      filled_ += 8;
    }
    *value = pending_ & ((uint64_t{1} << count) - 1);
    pending_ >>= count;
    filled_ -= count;
    return true;
  }

  // Returns true if less than a byte is left and its bits are 0.
  bool AtEnd() const { return at_ == input_.size() && pending_ == 0; }

 private:
  const std::string_view input_;
  size_t at_ = 0;
  uint64_t pending_ = 0;
  int filled_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_BIT_STREAM_H_
