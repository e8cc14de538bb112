#include "plugin/filter_format.h"

#include <cstring>

#include "plugin/filter_hash.h"

namespace rocksync {
namespace {

constexpr char kMagic[4] = {'r', 's', 'f', 1};  // the 1 is the version
constexpr size_t kSeedAt = 0;
constexpr size_t kLineCountAt = 8;
constexpr size_t kProbesAt = 12;
constexpr size_t kPaddingAt = 13;
constexpr size_t kReservedAt = 14;
constexpr size_t kChecksumAt = 16;
constexpr size_t kMagicAt = 20;
static_assert(kMagicAt + sizeof(kMagic) == kFilterTrailerBytes);

// Little-endian, whatever the machine.
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

void EncodeFilterTrailer(const FilterShape& shape, char* out) {
  Put(shape.seed, 8, out + kSeedAt);
  Put(shape.line_count, 4, out + kLineCountAt);
  Put(shape.probes, 1, out + kProbesAt);
  Put(shape.padding, 1, out + kPaddingAt);
  Put(0, kChecksumAt - kReservedAt, out + kReservedAt);
  Put(Checksum(out), 4, out + kChecksumAt);
  std::memcpy(out + kMagicAt, kMagic, sizeof(kMagic));
}

bool DecodeFilterTrailer(const char* data, size_t size, FilterShape* shape) {
  if (size < kFilterTrailerBytes) return false;
  const char* trailer = data + (size - kFilterTrailerBytes);
  if (std::memcmp(trailer + kMagicAt, kMagic, sizeof(kMagic)) != 0 ||
      Get(trailer + kChecksumAt, 4) != Checksum(trailer) ||
      Get(trailer + kReservedAt, kChecksumAt - kReservedAt) != 0) {
    return false;
  }
  shape->seed = Get(trailer + kSeedAt, 8);
  shape->line_count = static_cast<uint32_t>(Get(trailer + kLineCountAt, 4));
  shape->probes = static_cast<uint32_t>(Get(trailer + kProbesAt, 1));
  shape->padding = static_cast<uint32_t>(Get(trailer + kPaddingAt, 1));
  return shape->probes >= 1 && shape->probes <= kMaxProbes &&
         shape->padding < kFilterLineBytes &&
         shape->line_count <= kMaxFilterLines && shape->bytes() == size;
}

}  // namespace rocksync
