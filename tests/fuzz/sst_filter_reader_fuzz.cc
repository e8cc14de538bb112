// Arbitrary bytes as a filter: reading them must not crash or read outside
// them. The first byte says whether the trailer is made valid first, so that
// what lies behind its checksum is reached too.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "plugin/filter_format.h"
#include "plugin/filter_interface.h"
#include "plugin/filter_reader.h"

namespace {

void Query(const std::string& filter, const rocksync::FilterKernel& kernel) {
  // An exact copy, so that a sanitizer sees the first byte read too far.
  const std::unique_ptr<char[]> bytes(new char[filter.size()]);
  filter.copy(bytes.get(), filter.size());
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(
      rocksync::NewFilterReader({bytes.get(), filter.size()}, kernel));
  if (reader == nullptr) return;
  constexpr int kKeys = 40;
  std::string memory[kKeys];
  rocksdb::Slice keys[kKeys];
  rocksdb::Slice* pointers[kKeys];
  bool may_match[kKeys];
  for (int i = 0; i < kKeys; ++i) {
    memory[i] = std::string(static_cast<size_t>(i) * 7, static_cast<char>(i));
    keys[i] = memory[i];
    pointers[i] = &keys[i];
  }
  reader->MayMatch(kKeys, pointers, may_match);
  for (int i = 0; i < kKeys; ++i) {
    if (reader->MayMatch(keys[i]) != may_match[i]) std::abort();
  }
}

// Shapes a filter of the input's own length: seed, probes and padding come
// from the input, the number of lines from its size.
void MakeTrailerValid(std::string* filter) {
  if (filter->size() < rocksync::kFilterTrailerBytes) return;
  const size_t trailer = filter->size() - rocksync::kFilterTrailerBytes;
  rocksync::TableFilterShape shape;
  shape.seed = static_cast<unsigned char>((*filter)[trailer]);
  shape.probes = {static_cast<unsigned char>((*filter)[trailer + 12]) % 10u,
                  static_cast<unsigned char>((*filter)[trailer + 13]) % 10u};
  shape.line_count =
      static_cast<uint32_t>(trailer / rocksync::kFilterLineBytes);
  shape.padding = static_cast<uint32_t>(trailer % rocksync::kFilterLineBytes);
  rocksync::EncodeFilterTrailer(shape, filter->data() + trailer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string filter(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 2 == 1) MakeTrailerValid(&filter);
  Query(filter, rocksync::PortableFilterKernel());
  Query(filter, rocksync::BestFilterKernel());
  return 0;
}
