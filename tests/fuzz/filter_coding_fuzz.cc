// Arbitrary bytes as a coded filter slice: decoding stays within the range and
// the input, and what it accepts is in order.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "sketch/element/bit_stream.h"
#include "sketch/element/gap_coding.h"
#include "sketch/filter/filter_coding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const uint64_t range = uint64_t{1} << (data[0] % 41);
  const std::string_view input(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  rocksync::SlotReader reader;
  if (rocksync::SlotReader::Open(input, range, &reader)) {
    uint64_t slot = 0;
    uint64_t next = 0;
    // A slot can cost as little as 1/180 bit.
    for (uint64_t read = 0; read < 2000 * (size + 8) && reader.Next(&slot);
         ++read) {
      if (slot < next || slot >= range) std::abort();
      next = slot + 1;
    }
  }
  rocksync::BitReader bits(input);
  std::vector<uint64_t> positions;
  if (rocksync::GetPositions(data[0] * 3, range, &bits, &positions)) {
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] >= range) std::abort();
      if (i > 0 && positions[i] <= positions[i - 1]) std::abort();
    }
  }
  return 0;
}
