// The Redis protocol, version 2
// (https://redis.io/docs/reference/protocol-spec), as far as a server needs it,
// without IO: bytes in, requests out; replies in, bytes out.
//
//   request = "*" count CRLF { "$" length CRLF bytes CRLF }      (array)
//           | words LF                                           (inline)
//
// Lines of HTTP are an error, and end the connection: web pages can have
// browsers send them, with requests behind them. Inline words may be quoted:
// "a\"b\x00" with escapes, 'a b' without.

#ifndef EXAMPLES_REPLICATED_STORE_RESP_H_
#define EXAMPLES_REPLICATED_STORE_RESP_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocksync {

// Bounds on what a client may claim. Nothing is allocated for a claim alone;
// memory follows the bytes that came.
struct RespLimits {
  size_t max_arguments = 1 << 20;
  size_t max_argument_bytes = size_t{64} << 20;
  size_t max_request_bytes = size_t{128}
                             << 20;          // 32 a piece for arguments added
  size_t max_line_bytes = size_t{64} << 10;  // of an inline request
};

// The words of a request, the command's name first.
using RespRequest = std::vector<std::string>;

// Takes requests apart, however the bytes are cut. Not thread-safe.
class RespParser {
 public:
  enum class Outcome {
    kRequest,   // one is complete; there may be more in the input
    kNeedMore,  // the input is used up
    kError      // see error(); the connection is of no more use
  };

  explicit RespParser(const RespLimits& limits = {}) : limits_(limits) {}

  // Consumes bytes from the front of `*input` until one request is complete;
  // `*request` is written only then, and never empty. After kError every call
  // returns kError.
  Outcome Next(std::string_view* input, RespRequest* request);

  // Of the request in progress: what of it came.
  uint64_t held_bytes() const {
    return state_ == State::kStart
               ? 0
               : request_bytes_ - bytes_left_ + line_.size();
  }

  // What was wrong, for an error reply.
  const std::string& error() const { return error_; }

 private:
  enum class State { kStart, kInline, kCount, kLength, kBytes, kEnd, kFailed };

  bool TakeLine(std::string_view* input, size_t max_bytes);
  void BeginRequest();
  void BeginArgument();
  void SplitInline();
  void Fail(std::string error);

  RespLimits limits_;
  State state_ = State::kStart;
  std::string line_;             // of a header or an inline request, so far
  RespRequest arguments_;        // so far
  uint64_t arguments_left_ = 0;  // to begin
  uint64_t bytes_left_ = 0;      // of the argument in progress
  uint64_t request_bytes_ = 0;   // claimed so far
  std::string error_;
};

// Replies, appended to `*out`. Simple strings and errors must be one line: line
// breaks in them become spaces.
void AppendSimple(std::string* out, std::string_view text);
void AppendError(std::string* out,
                 std::string_view text);  // "ERR what happened"
void AppendInteger(std::string* out, int64_t value);
void AppendBulk(std::string* out, std::string_view bytes);
void AppendNull(std::string* out);
void AppendArray(std::string* out, size_t count);  // its elements follow

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_RESP_H_
