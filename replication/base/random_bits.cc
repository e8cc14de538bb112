#include "replication/base/random_bits.h"

#include <openssl/rand.h>

#include <atomic>
#include <random>

namespace rocksync {
namespace {

std::atomic<void (*)(uint8_t*, size_t)> random_source{nullptr};

}  // namespace

bool RandomBytes(uint8_t* bytes, size_t count) {
  if (const auto source = random_source.load()) {
    source(bytes, count);
    return true;
  }
  return RAND_bytes(bytes, static_cast<int>(count)) == 1;
}

uint64_t RandomBits() {
  uint64_t bits = 0;
  if (const auto source = random_source.load()) {
    while (bits == 0) source(reinterpret_cast<uint8_t*>(&bits), sizeof(bits));
    return bits;
  }
  std::random_device device;
  while (bits == 0) bits = (uint64_t{device()} << 32) | device();
  return bits;
}

void SetRandomSourceForTesting(void (*source)(uint8_t* bytes, size_t count)) {
  random_source = source;
}

}  // namespace rocksync
