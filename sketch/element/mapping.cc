#include "sketch/element/mapping.h"

#include "sketch/element/sha256.h"

namespace rocksync {

MappingKey DeriveMapping(const MappingSeed& seed, uint32_t purpose,
                         uint64_t index) {
  std::array<uint8_t, 12> label;
  for (int i = 0; i < 4; ++i) {
    label[i] = static_cast<uint8_t>(purpose >> (24 - 8 * i));
  }
  for (int i = 0; i < 8; ++i) {
    label[4 + i] = static_cast<uint8_t>(index >> (56 - 8 * i));
  }
  const Sha256Digest digest =
      Sha256({"rocksync mapping", AsPiece(seed), AsPiece(label)});
  MappingKey key;
  for (int i = 0; i < 8; ++i) key.high = key.high << 8 | digest[i];
  for (int i = 8; i < 16; ++i) key.low = key.low << 8 | digest[i];
  return key;
}

void MixAll(std::span<const ElementHash> elements, const MappingKey& key,
            uint64_t* out) {
  // The distance, in elements, of prefetches. Elements are streamed once, and
  // between them tables are touched at random.
  constexpr size_t kAhead = 512;
  constexpr size_t kElementsPerLine = 64 / sizeof(ElementHash);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i % kElementsPerLine == 0) {
      __builtin_prefetch(elements.data() + i + kAhead);
    }
    out[i] = Mix(elements[i], key);
  }
}

}  // namespace rocksync
