#include "sketch/element/element.h"

#include <xxhash.h>

#include <array>
#include <cstring>
#include <limits>

#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

template <typename T>
void StoreBigEndian(T value, uint8_t* to) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    to[i] = static_cast<uint8_t>(value >> (8 * (sizeof(T) - 1 - i)));
  }
}

uint64_t LoadBigEndian64(const uint8_t* from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | from[i];
  return value;
}

std::array<uint8_t, 4> Length(std::string_view text) {
  std::array<uint8_t, 4> bytes;
  StoreBigEndian(static_cast<uint32_t>(text.size()), bytes.data());
  return bytes;
}

ElementHash Cut(const Sha256Digest& digest) {
  return {LoadBigEndian64(digest.data()), LoadBigEndian64(digest.data() + 8)};
}

// The length of the secret for XXH3, which wants at least 136 bytes.
constexpr size_t kPositionSecretBytes = 192;
static_assert(kPositionSecretBytes >= XXH3_SECRET_SIZE_MIN);

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

ValueHash ElementHasher::HashIssuedValue(std::string_view value) {
  const XXH128_hash_t hash = XXH3_128bits(value.data(), value.size());
  return {hash.high64, hash.low64};
}

struct ElementHasher::Impl {
  ClusterSecret secret;
  std::array<uint8_t, kPositionSecretBytes> position_secret;
};

ElementHasher::ElementHasher(const ClusterSecret& secret) {
  auto impl = std::make_unique<Impl>();
  impl->secret = secret;
  // Block i of the position secret is SHA-256("rocksync position" | secret |
  // i).
  for (uint8_t i = 0; i < kPositionSecretBytes / 32; ++i) {
    const std::array<uint8_t, 1> counter = {i};
    const Sha256Digest block =
        Sha256({"rocksync position", AsPiece(secret), AsPiece(counter)});
    std::memcpy(&impl->position_secret[32 * i], block.data(), block.size());
  }
  impl_ = std::move(impl);
}

ElementHasher::~ElementHasher() = default;

ValueHash ElementHasher::HashValue(const Version& version,
                                   std::string_view value) const {
  if (version != Version{}) return HashIssuedValue(value);
  const ElementHash hash =
      Cut(Sha256({"rocksync adopted value", AsPiece(impl_->secret), value}));
  return {hash.high, hash.low};
}

ElementHash ElementHasher::HashPair(std::string_view family,
                                    std::string_view key,
                                    const Version& version,
                                    const ValueHash& value) const {
  std::array<uint8_t, 33> tail;
  StoreBigEndian(version.time, &tail[0]);
  StoreBigEndian(version.replica, &tail[8]);
  tail[16] = 1;
  StoreBigEndian(value.high, &tail[17]);
  StoreBigEndian(value.low, &tail[25]);
  return Cut(Sha256({AsPiece(impl_->secret), AsPiece(Length(family)), family,
                     AsPiece(Length(key)), key, AsPiece(tail)}));
}

ElementHash ElementHasher::HashTombstone(std::string_view family,
                                         std::string_view key,
                                         const Version& version) const {
  std::array<uint8_t, 17> tail;
  StoreBigEndian(version.time, &tail[0]);
  StoreBigEndian(version.replica, &tail[8]);
  tail[16] = 0;
  return Cut(Sha256({AsPiece(impl_->secret), AsPiece(Length(family)), family,
                     AsPiece(Length(key)), key, AsPiece(tail)}));
}

// The position is the XXH3-64 of length of family (4) | family | key.
uint64_t ElementHasher::Position(std::string_view family,
                                 std::string_view key) const {
  const std::array<uint8_t, 4> length = Length(family);
  const uint8_t* const secret = impl_->position_secret.data();
  uint64_t position = 0;
  std::array<uint8_t, 240> joined;
  const size_t size = length.size() + family.size() + key.size();
  if (size <= joined.size()) {
    std::memcpy(joined.data(), length.data(), length.size());
    if (!family.empty()) {
      std::memcpy(&joined[length.size()], family.data(), family.size());
    }
    if (!key.empty()) {
      std::memcpy(joined.data() + length.size() + family.size(), key.data(),
                  key.size());
    }
    position = XXH3_64bits_withSecret(joined.data(), size, secret,
                                      kPositionSecretBytes);
  } else {
    thread_local const std::unique_ptr<XXH3_state_t, FreeState> state(
        XXH3_createState());
    XXH3_64bits_reset_withSecret(state.get(), secret, kPositionSecretBytes);
    XXH3_64bits_update(state.get(), length.data(), length.size());
    XXH3_64bits_update(state.get(), family.data(), family.size());
    XXH3_64bits_update(state.get(), key.data(), key.size());
    position = XXH3_64bits_digest(state.get());
  }
  return position != 0 ? position : 1;
}

}  // namespace rocksync
