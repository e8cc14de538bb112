#include "plugin/filter_format.h"

#include <cstring>

#include "plugin/filter_hash.h"

namespace rocksync {
namespace {

constexpr char kMagic[4] = {'r', 's', 'f', 1};  // the 1 is the version
constexpr size_t kSeedAt = 0;
constexpr size_t kLineCountAt = 8;
constexpr size_t kFirstProbesAt = 12;
constexpr size_t kSecondProbesAt = 13;
constexpr size_t kPaddingAt = 14;
constexpr size_t kReservedAt = 15;
constexpr size_t kChecksumAt = 16;
constexpr size_t kMagicAt = 20;
static_assert(kMagicAt + sizeof(kMagic) == kFilterTrailerBytes);

// Writes little-endian, whatever the machine.
void Put(uint64_t value, size_t bytes, char* out) {
  for (size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<char>(value >> (8 * i));
  }
}

uint64_t Get(const char* in, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  }
  return value;
}

uint32_t Checksum(const char* trailer) {
  return static_cast<uint32_t>(HashFilterKey(trailer, kChecksumAt, 0));
}

}  // namespace

void EncodeFilterTrailer(const TableFilterShape& shape, char* out) {
  Put(shape.seed, 8, out + kSeedAt);
  Put(shape.line_count, 4, out + kLineCountAt);
  Put(shape.probes.first, 1, out + kFirstProbesAt);
  Put(shape.probes.second, 1, out + kSecondProbesAt);
  Put(shape.padding, 1, out + kPaddingAt);
  Put(0, kChecksumAt - kReservedAt, out + kReservedAt);
  Put(Checksum(out), 4, out + kChecksumAt);
  std::memcpy(out + kMagicAt, kMagic, sizeof(kMagic));
}

bool DecodeFilterTrailer(const char* data, size_t size,
                         TableFilterShape* shape) {
  if (size < kFilterTrailerBytes) return false;
  const char* trailer = data + (size - kFilterTrailerBytes);
  if (std::memcmp(trailer + kMagicAt, kMagic, sizeof(kMagic)) != 0 ||
      Get(trailer + kChecksumAt, 4) != Checksum(trailer) ||
      Get(trailer + kReservedAt, kChecksumAt - kReservedAt) != 0) {
    return false;
  }
  const auto byte = [trailer](size_t at) {
    return static_cast<uint32_t>(Get(trailer + at, 1));
  };
  shape->seed = Get(trailer + kSeedAt, 8);
  shape->line_count = static_cast<uint32_t>(Get(trailer + kLineCountAt, 4));
  shape->probes = {byte(kFirstProbesAt), byte(kSecondProbesAt)};
  shape->padding = byte(kPaddingAt);
  return shape->probes.first >= 1 && shape->probes.first <= kMaxLineProbes &&
         shape->probes.second >= 1 && shape->probes.second <= kMaxLineProbes &&
         shape->padding < kFilterLineBytes &&
         shape->line_count <= kMaxFilterLines && shape->bytes() == size;
}

}  // namespace rocksync
