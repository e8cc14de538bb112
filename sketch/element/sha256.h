// SHA-256 over the concatenation of a few pieces, by OpenSSL.

#ifndef ROCKSYNC_SKETCH_ELEMENT_SHA256_H_
#define ROCKSYNC_SKETCH_ELEMENT_SHA256_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace rocksync {

using Sha256Digest = std::array<uint8_t, 32>;

// Returns the SHA-256 of the pieces one after the other. The algorithm is
// fetched once per process and each thread reuses one context: nothing is
// allocated after a thread's first call. Aborts if libcrypto offers no SHA-256.
Sha256Digest Sha256(std::initializer_list<std::string_view> pieces);

// Returns the bytes of an array as a piece.
template <size_t N>
std::string_view AsPiece(const std::array<uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), N};
}

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_SHA256_H_
