#include "tests/integration/vectors/vectors.h"

#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {

std::string Fixed8(uint64_t value) {
  return std::string(1, static_cast<char>(value));
}

std::string Fixed32(uint64_t value) {
  std::string bytes;
  PutFixed32(&bytes, static_cast<uint32_t>(value));
  return bytes;
}

std::string Fixed64(uint64_t value) {
  std::string bytes;
  PutFixed64(&bytes, value);
  return bytes;
}

std::string Bytes(const ElementHash& hash) {
  return Fixed64(hash.high) + Fixed64(hash.low);
}

std::string Bytes(const MappingKey& key) {
  return Fixed64(key.high) + Fixed64(key.low);
}

std::string Bytes(const Digest& digest) {
  return Fixed64(digest.high) + Fixed64(digest.low);
}

std::string Bytes(const std::array<uint8_t, 16>& bytes) {
  return std::string(AsPiece(bytes));
}

}  // namespace rocksync
