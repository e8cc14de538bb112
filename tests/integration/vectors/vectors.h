// The test vectors that docs/test_vectors.md promises, computed by the
// production code.

#ifndef ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTORS_H_
#define ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTORS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/mapping.h"
#include "sketch/element/version.h"
#include "tests/integration/vectors/vector_document.h"

namespace rocksync {

// By chapter of the document. The first adds the inputs that others use, too.
void AddElementVectors(Vectors* vectors);
void AddExchangeVectors(Vectors* vectors);
void AddConnectionVectors(Vectors* vectors);
void AddMessageVectors(Vectors* vectors);
void AddSessionVectors(Vectors* vectors);
void AddStreamVectors(Vectors* vectors);
void AddCloneVectors(Vectors* vectors);
void AddIndexVectors(Vectors* vectors);

// The inputs.
inline constexpr ClusterSecret kVectorSecret = {
    0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
    0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
    0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};
inline constexpr std::string_view kVectorCluster = "orders";
inline constexpr std::string_view kVectorFamily = "default";
inline constexpr std::string_view kVectorKey = "key";
inline constexpr std::string_view kVectorValue = "value";
// 1 700 000 000 000 ms, counter 5.
inline constexpr Version kVectorVersion = {0x018bcfe568000005,
                                           0x2122232425262728};
inline constexpr std::array<uint8_t, 16> kDialerNonce = {
    0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7,
    0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf};
inline constexpr std::array<uint8_t, 16> kListenerNonce = {
    0xe0, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7,
    0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef};

// Big-endian.
std::string Fixed8(uint64_t value);
std::string Fixed32(uint64_t value);
std::string Fixed64(uint64_t value);
std::string Bytes(const ElementHash& hash);
std::string Bytes(const MappingKey& key);
std::string Bytes(const Digest& digest);  // its sum alone
std::string Bytes(const std::array<uint8_t, 16>& bytes);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_VECTORS_VECTORS_H_
