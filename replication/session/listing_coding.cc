#include "replication/session/listing_coding.h"

#include "sketch/element/coding.h"

namespace rocksync {

void ListingEncoder::AddClaim(const Claim& claim) {
  PutVarint64(body_, claim.family);
  PutLengthPrefixed(body_, claim.key);
  AddHeld(claim.held);
}

void ListingEncoder::AddHeld(const Held& held) {
  PutFixed8(body_, static_cast<uint8_t>(held.state));
  if (held.state == Held::State::kNothing) return;
  versions_.Add(held.version, body_);
  if (held.state != Held::State::kLive) return;
  PutFixed64(body_, held.hash.high);
  PutFixed64(body_, held.hash.low);
}

absl::Status ListingDecoder::NextClaim(Claim* claim) {
  uint64_t family = 0;
  if (!GetVarint64(&rest_, UINT32_MAX, &family) ||
      !GetLengthPrefixed(&rest_, kMaxKeyBytes, &claim->key)) {
    return Malformed(type_, "truncated or oversized key");
  }
  claim->family = static_cast<uint32_t>(family);
  return NextHeld(&claim->held);
}

absl::Status ListingDecoder::NextHeld(Held* held) {
  *held = Held{};
  uint8_t state = 0;
  if (!GetFixed8(&rest_, &state) ||
      state > static_cast<uint8_t>(Held::State::kLive)) {
    return Malformed(type_, "unknown state");
  }
  held->state = static_cast<Held::State>(state);
  if (held->state == Held::State::kNothing) return absl::OkStatus();
  if (!versions_.Next(&rest_, &held->version)) {
    return Malformed(type_, "bad version");
  }
  if (held->state == Held::State::kLive &&
      (!GetFixed64(&rest_, &held->hash.high) ||
       !GetFixed64(&rest_, &held->hash.low))) {
    return Malformed(type_, "truncated hash");
  }
  return absl::OkStatus();
}

}  // namespace rocksync
