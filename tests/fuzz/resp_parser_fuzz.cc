// The parser of the Redis protocol takes any bytes, cut anywhere: requests are
// never empty and within bounds, and the cut changes nothing.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "examples/replicated_store/resp.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

using Outcome = rocksync::RespParser::Outcome;

Outcome ParseAll(rocksync::RespParser* parser, std::string_view input,
                 std::vector<rocksync::RespRequest>* requests) {
  for (;;) {
    rocksync::RespRequest request;
    const Outcome outcome = parser->Next(&input, &request);
    if (outcome != Outcome::kRequest) {
      Require(outcome == Outcome::kError || input.empty());
      return outcome;
    }
    requests->push_back(request);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t cut = data[0] % size;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  rocksync::RespLimits limits;
  limits.max_arguments = 64;
  limits.max_argument_bytes = 256;
  limits.max_request_bytes = 4096;
  limits.max_line_bytes = 256;

  rocksync::RespParser parser(limits);
  std::vector<rocksync::RespRequest> whole;
  const Outcome outcome = ParseAll(&parser, bytes, &whole);
  for (const rocksync::RespRequest& request : whole) {
    Require(!request.empty());
    size_t total = 0;
    for (const std::string& word : request) total += word.size();
    Require(total <= limits.max_request_bytes);
  }

  rocksync::RespParser cut_parser(limits);
  std::vector<rocksync::RespRequest> parts;
  Outcome cut_outcome = ParseAll(&cut_parser, bytes.substr(0, cut), &parts);
  if (cut_outcome != Outcome::kError) {
    cut_outcome = ParseAll(&cut_parser, bytes.substr(cut), &parts);
  }
  Require(cut_outcome == outcome);
  Require(parts == whole);
  return 0;
}
