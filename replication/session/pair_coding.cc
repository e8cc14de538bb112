#include "replication/session/pair_coding.h"

#include <algorithm>
#include <utility>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr uint64_t kMaxMs = (uint64_t{1} << 48) - 1;
constexpr int kKindBits = 2;

uint64_t ZigZag(uint64_t from, uint64_t to) {
  return to >= from ? 2 * (to - from) : 2 * (from - to) - 1;
}

// Inverts ZigZag; returns false if the result is not in [0, kMaxMs]. REQUIRES:
// both arguments are below 2^50.
bool UnZigZag(uint64_t from, uint64_t code, uint64_t* to) {
  const uint64_t distance = (code + 1) / 2;
  if (code % 2 == 0) {
    *to = from + distance;
    return *to <= kMaxMs;
  }
  *to = from - distance;
  return distance <= from;
}

}  // namespace

Pair OwnedPair(const WirePair& pair, std::string value) {
  return {.family = pair.family,
          .key = std::string(pair.key),
          .version = pair.version,
          .tombstone = pair.kind == WirePair::Kind::kTombstone,
          .value = std::move(value)};
}

void VersionEncoder::Add(const Version& version, std::string* body) {
  const uint64_t ms = WallMs(version);
  const uint64_t counter = version.time & 0xffff;
  PutVarint64(body, 2 * ZigZag(previous_ms_, ms) + (counter > 0 ? 1 : 0));
  if (counter > 0) PutVarint64(body, counter);
  previous_ms_ = ms;

  const auto known =
      std::find(replicas_.begin(), replicas_.end(), version.replica);
  PutVarint64(body, static_cast<uint64_t>(known - replicas_.begin()));
  if (known != replicas_.end()) return;
  PutFixed64(body, version.replica);
  replicas_.push_back(version.replica);
}

void PairEncoder::Add(const WirePair& pair) {
  PutVarint64(body_, pair.family);
  PutLengthPrefixed(body_, pair.key);
  versions_.Add(pair.version, body_);
  PutVarint64(body_,
              pair.value_size << kKindBits | static_cast<uint64_t>(pair.kind));
  if (pair.kind == WirePair::Kind::kOnRequest && pair.version == Version{}) {
    PutFixed64(body_, pair.hash.high);
    PutFixed64(body_, pair.hash.low);
  }
  if (pair.kind == WirePair::Kind::kWithValue) body_->append(pair.value);
}

bool VersionDecoder::Next(std::string_view* rest, Version* version) {
  uint64_t time = 0;
  uint64_t ms = 0;
  uint64_t counter = 0;
  if (!GetVarint64(rest, 4 * kMaxMs + 3, &time) ||
      !UnZigZag(previous_ms_, time / 2, &ms)) {
    return false;
  }
  if (time % 2 == 1 && (!GetVarint64(rest, 0xffff, &counter) || counter == 0)) {
    return false;
  }
  previous_ms_ = ms;
  version->time = ms << 16 | counter;

  uint64_t number = 0;
  if (!GetVarint64(rest, replicas_.size(), &number)) return false;
  if (number == replicas_.size()) {
    uint64_t replica = 0;
    if (!GetFixed64(rest, &replica)) return false;
    replicas_.push_back(replica);
  }
  version->replica = replicas_[number];
  return true;
}

absl::Status PairDecoder::Next(WirePair* pair) {
  *pair = WirePair{};
  uint64_t family = 0;
  uint64_t size_and_kind = 0;
  if (!GetVarint64(&rest_, UINT32_MAX, &family) ||
      !GetLengthPrefixed(&rest_, kMaxKeyBytes, &pair->key)) {
    return Malformed(type_, "truncated or oversized key");
  }
  if (!versions_.Next(&rest_, &pair->version))
    return Malformed(type_, "bad version");
  if (!GetVarint64(&rest_, &size_and_kind)) {
    return Malformed(type_, "truncated pair");
  }
  pair->family = static_cast<uint32_t>(family);
  pair->value_size = size_and_kind >> kKindBits;
  const uint64_t kind = size_and_kind & ((1 << kKindBits) - 1);
  if (kind > static_cast<uint64_t>(WirePair::Kind::kOnRequest)) {
    return Malformed(type_, "unknown kind of pair");
  }
  pair->kind = static_cast<WirePair::Kind>(kind);
  switch (pair->kind) {
    case WirePair::Kind::kTombstone:
      if (pair->value_size != 0) {
        return Malformed(type_, "tombstone with a value");
      }
      break;
    case WirePair::Kind::kWithValue:
      if (pair->value_size > rest_.size() ||
          !GetBytes(&rest_, static_cast<size_t>(pair->value_size),
                    &pair->value)) {
        return Malformed(type_, "truncated value");
      }
      break;
    case WirePair::Kind::kOnRequest:
      if (pair->version == Version{} &&
          (!GetFixed64(&rest_, &pair->hash.high) ||
           !GetFixed64(&rest_, &pair->hash.low))) {
        return Malformed(type_, "truncated hash");
      }
      break;
  }
  return absl::OkStatus();
}

}  // namespace rocksync
