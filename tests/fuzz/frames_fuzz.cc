// What arrives on a connection, in whatever pieces: frames, of which the first
// one may be a greeting.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "replication/transport/frame.h"
#include "replication/transport/greeting.h"

namespace rocksync {
namespace {

constexpr size_t kLimit = 1000;

struct Decoded {
  std::vector<std::string> frames;
  bool corrupt = false;
  bool in_frame = false;

  friend bool operator==(const Decoded&, const Decoded&) = default;
};

// In pieces of `piece` bytes.
Decoded Decode(std::string_view input, size_t piece) {
  FrameDecoder decoder;
  decoder.SetLimit(kLimit);
  Decoded decoded;
  while (!input.empty()) {
    std::string_view part = input.substr(0, std::min(piece, input.size()));
    input.remove_prefix(part.size());
    FrameDecoder::Result result = decoder.Consume(&part);
    while (result == FrameDecoder::Result::kFrame) {
      decoded.frames.push_back(decoder.TakeBody());
      result = decoder.Consume(&part);
    }
    if (result == FrameDecoder::Result::kCorrupt) {
      if (decoder.error().empty()) std::abort();
      decoded.corrupt = true;
      return decoded;
    }
    if (!part.empty()) std::abort();
  }
  decoded.in_frame = decoder.in_frame();
  return decoded;
}

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  const size_t piece = 1 + static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  const Decoded whole = Decode(input, input.size());
  if (Decode(input, piece) != whole) std::abort();
  std::string again;
  for (const std::string& frame : whole.frames) {
    if (frame.size() > kLimit) std::abort();
    AppendFrameHeader(frame.size(), &again);
    again += frame;
    // Only an empty one is a welcome.
    if (DecodeGreeting(frame, "peer").ok() != frame.empty()) std::abort();
  }
  // A length has one form.
  if (!input.starts_with(again)) std::abort();
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksync::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
