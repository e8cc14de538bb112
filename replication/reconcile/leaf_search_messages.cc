#include "replication/reconcile/leaf_search_messages.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_messages.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr uint64_t kLeavesAParity = 4;
constexpr uint64_t kFewestParities = 256;
constexpr uint64_t kMaxParities = 8192;
constexpr int kMaxWidth = 10;
static_assert(kMaxGroupSyndromes < 1 << kMaxWidth);

}  // namespace

int SymbolShape::bits() const {
  return std::max(static_cast<int>(std::bit_width(places())), least_bits);
}

absl::Status BadSearch(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "search for leaves: ", absl::string_view(what.data(), what.size())));
}

absl::Status GetProbe(std::string_view body, int bits, size_t parity_bytes,
                      std::vector<uint32_t>* syndromes,
                      std::string_view* parities) {
  const size_t least =
      (2 * kProbeSyndromePairs * static_cast<size_t>(bits) + 7) / 8;
  if (body.size() < least + parity_bytes) return BadSearch("truncated probe");
  const std::string_view packed = body.substr(0, body.size() - parity_bytes);
  *parities = body.substr(packed.size());
  return GetSyndromes(packed, bits, 1, 0, syndromes);
}

absl::Status GetGroupBits(std::string_view* body, SymbolShape* shape) {
  uint8_t group_bits = 0;
  if (!GetFixed8(body, &group_bits) || group_bits > 31 ||
      (uint64_t{1} << group_bits) > shape->leaves) {
    return BadSearch("more groups than leaves");
  }
  shape->group_bits = group_bits;
  return absl::OkStatus();
}

// The fine parities take a hundredth of the bytes that tell these leaves. A
// leaf is two elements, and every second bucket has one.
FineShape FineParitiesOfLeaves(uint64_t expected) {
  return ShapeFine(2 * expected, static_cast<uint32_t>(std::clamp(
                                     expected / kLeavesAParity, kFewestParities,
                                     kMaxParities)));
}

absl::Status GetFineParities(std::string_view* body, uint32_t leaves,
                             uint64_t* expected, std::string_view* parities) {
  if (!GetVarint64(body, leaves, expected)) {
    return BadSearch("not a number of leaves");
  }
  if (*expected == 0) return absl::OkStatus();
  if (!GetBytes(body, FineParitiesOfLeaves(*expected).bytes(), parities)) {
    return BadSearch("truncated parities");
  }
  return absl::OkStatus();
}

absl::Status GetSyndromes(std::string_view body, int bits, size_t groups,
                          uint32_t known, std::vector<uint32_t>* syndromes) {
  const absl::Status status = UnpackSums(
      body, bits, groups, 2 * (kMaxSyndromePairs - known), syndromes);
  if (!status.ok()) return status;
  if (syndromes->size() % (2 * groups) != 0) {
    return BadSearch("an odd number of syndromes");
  }
  return absl::OkStatus();
}

void PutMore(const MoreSyndromes& more, std::string* out) {
  PutVarint64(out, more.pairs);
  BitWriter bits(out);
  for (const bool open : more.open) bits.Put(open ? 1 : 0, 1);
}

absl::Status GetMore(std::string_view body, size_t groups, uint32_t known,
                     MoreSyndromes* more) {
  uint64_t pairs = 0;
  if (!GetVarint64(&body, kMaxSyndromePairs, &pairs) || pairs <= known) {
    return BadSearch("not a number of further syndromes");
  }
  if (body.size() != (groups + 7) / 8) {
    return BadSearch("not a bit for each open group");
  }
  more->pairs = static_cast<uint32_t>(pairs);
  more->open.clear();
  BitReader bits(body);
  for (size_t i = 0; i < groups; ++i) {
    uint64_t open = 0;
    if (!bits.Get(1, &open)) return BadSearch("truncated groups");
    more->open.push_back(open != 0);
  }
  if (!bits.AtEnd()) return BadSearch("spare bits are set");
  if (std::find(more->open.begin(), more->open.end(), true) ==
      more->open.end()) {
    return BadSearch("more syndromes of no group");
  }
  return absl::OkStatus();
}

void PutOfEach(const std::vector<uint32_t>& wanted, std::string* out) {
  uint32_t least = kMaxGroupSyndromes;
  uint32_t most = 0;
  for (const uint32_t one : wanted) {
    if (one > 0) least = std::min(least, one);
    most = std::max(most, one);
  }
  const int width = std::bit_width(most - least + 1);
  PutVarint64(out, least);
  PutFixed8(out, static_cast<uint8_t>(width));
  BitWriter bits(out);
  for (const uint32_t one : wanted) {
    bits.Put(one == 0 ? 0 : one - least + 1, width);
  }
}

absl::Status GetOfEach(std::string_view body, const std::vector<uint32_t>& sent,
                       std::vector<uint32_t>* wanted) {
  uint64_t least = 0;
  uint8_t width = 0;
  if (!GetVarint64(&body, kMaxGroupSyndromes, &least) ||
      !GetFixed8(&body, &width) || width == 0 || width > kMaxWidth) {
    return BadSearch("not a number of syndromes");
  }
  if (body.size() != (sent.size() * width + 7) / 8) {
    return BadSearch("not a number for each group");
  }
  wanted->assign(sent.size(), 0);
  bool any = false;
  BitReader bits(body);
  for (size_t i = 0; i < sent.size(); ++i) {
    uint64_t more = 0;
    if (!bits.Get(width, &more)) return BadSearch("truncated groups");
    if (more == 0) continue;
    const uint64_t all = least + more - 1;
    if (all <= sent[i] || all > kMaxGroupSyndromes) {
      return BadSearch("not a number of further syndromes");
    }
    (*wanted)[i] = static_cast<uint32_t>(all);
    any = true;
  }
  if (!bits.AtEnd()) return BadSearch("spare bits are set");
  if (!any) return BadSearch("more syndromes of no group");
  return absl::OkStatus();
}

}  // namespace rocksync
