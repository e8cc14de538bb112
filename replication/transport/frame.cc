#include "replication/transport/frame.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

constexpr int kMaxHeaderBytes = 4;
static_assert(kMaxFrameBytes < size_t{1} << (7 * kMaxHeaderBytes));

}  // namespace

void AppendFrameHeader(size_t size, std::string* out) {
  assert(size <= kMaxFrameBytes);
  while (size >= 0x80) {
    out->push_back(static_cast<char>((size & 0x7f) | 0x80));
    size >>= 7;
  }
  out->push_back(static_cast<char>(size));
}

FrameDecoder::Result FrameDecoder::Fail(std::string message) {
  error_ = std::move(message);
  return Result::kCorrupt;
}

// Consumes the header's bytes. Returns true once the length is known; sets
// error_ if it never will be.
bool FrameDecoder::ConsumeHeader(std::string_view* input) {
  while (!has_length_ && !input->empty()) {
    const uint8_t byte = static_cast<uint8_t>(input->front());
    input->remove_prefix(1);
    length_ |= size_t{byte & 0x7fu} << (7 * header_bytes_);
    ++header_bytes_;
    if (byte < 0x80) {
      if (byte == 0 && header_bytes_ > 1) {
        Fail("a frame's length is written with more bytes than it needs");
        return false;
      }
      has_length_ = true;
    } else if (header_bytes_ == kMaxHeaderBytes) {
      Fail("a frame's length has more than 4 bytes");
      return false;
    }
  }
  if (has_length_ && length_ > limit_) {
    Fail("a frame claims " + std::to_string(length_) + " bytes, the limit is " +
         std::to_string(limit_));
    return false;
  }
  return has_length_;
}

FrameDecoder::Result FrameDecoder::Consume(std::string_view* input) {
  if (!error_.empty()) return Result::kCorrupt;
  if (!ConsumeHeader(input)) {
    return error_.empty() ? Result::kNeedMore : Result::kCorrupt;
  }
  const size_t take = std::min(input->size(), length_ - body_.size());
  body_.append(input->data(), take);
  input->remove_prefix(take);
  if (body_.size() < length_) return Result::kNeedMore;
  header_bytes_ = 0;
  has_length_ = false;
  length_ = 0;
  return Result::kFrame;
}

void FrameDecoder::Reuse(std::string buffer) {
  if (in_frame() || buffer.capacity() <= body_.capacity()) return;
  body_ = std::move(buffer);
  body_.clear();
}

std::string FrameDecoder::TakeBody() { return std::exchange(body_, {}); }

}  // namespace rocksync
