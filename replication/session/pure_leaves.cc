#include "replication/session/pure_leaves.h"

#include <algorithm>

#include "replication/reconcile/leaf_symbols.h"
#include "replication/session/messages.h"
#include "replication/session/storage_view.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/element/gap_coding.h"

namespace rocksync {
namespace {

// Returns whether keyed sums, in symbols of so many bits, tell the elements of
// a leaf apart: not, if more than one would fit by chance.
bool Tells(uint64_t elements, int bits) {
  return 2 * elements <= uint64_t{SumMask(bits)};
}

// Flags in the first number of a PureLeavesHead.
constexpr uint64_t kSomeUnknown = 1;
constexpr uint64_t kSomeAsked = 2;

absl::Status BadPureLeaves(std::string_view what) {
  return Malformed(MessageType::kLeafBatch, what);
}

absl::Status BadFailed(std::string_view what) {
  return Malformed(MessageType::kDiffers, what);
}

}  // namespace

absl::StatusOr<std::optional<PlacedElement>> FindInLeaf(
    const RoundContext& context, uint32_t leaf, const MergedChanges& changes,
    const SymbolKey& key, uint32_t sum) {
  if (context.Cancelled()) {
    return absl::CancelledError("stopped while reading the index");
  }
  PlacedElement found;
  uint32_t fitting = 0;
  const absl::Status status = context.snapshot->ScanLeaf(
      leaf, [&](uint64_t position, const ElementHash& hash) {
        ++context.report->elements_compared;
        if (!MayBeDifference(KeyedSum(hash, key.key, key.bits), sum,
                             key.bits) ||
            changes.Removed({position, hash})) {
          return;
        }
        found = {position, hash};
        ++fitting;
      });
  if (!status.ok()) return status;
  if (fitting != 1) return std::nullopt;
  return found;
}

absl::StatusOr<PureLeaves> ReadPureLeaves(
    const RoundContext& context, std::span<const Digest> leaves,
    const MergedChanges& changes, const SymbolKey& key,
    const std::vector<LeafDifference>& differences) {
  PureLeaves pure;
  for (const LeafDifference& one : differences) {
    const uint64_t elements = leaves[one.leaf].count;
    const bool tells = Tells(elements, key.bits);
    if (tells && one.count == kOneMoreThere) {
      pure.asked.push_back(one);
      continue;
    }
    if (tells && one.count == kOneMoreHere) {
      const absl::StatusOr<std::optional<PlacedElement>> found =
          FindInLeaf(context, one.leaf, changes, key, one.sum);
      if (!found.ok()) return found.status();
      if (found->has_value()) {
        pure.mine.push_back(**found);
        continue;
      }
    }
    pure.unknown.push_back(one);
  }
  return pure;
}

void EncodePureLeaves(const PureLeavesHead& head, int symbol_bits,
                      uint32_t range, std::string* out) {
  const bool unknown = !head.unknown.empty();
  const bool asked = !head.asked.empty();
  if (!unknown && !asked) return;
  std::vector<uint64_t> leaves(head.unknown.begin(), head.unknown.end());
  for (const PureLeavesHead::Question& one : head.asked)
    leaves.push_back(one.leaf);
  std::sort(leaves.begin(), leaves.end());
  PutVarint64(out, 4 * leaves.size() + (unknown ? kSomeUnknown : 0) +
                       (asked ? kSomeAsked : 0));
  if (unknown) PutVarint64(out, head.elements);
  if (unknown && asked) {
    PutVarint64(out, head.expected);
    PutVarint64(out, head.overwritten);
  } else if (unknown) {
    PutVarint64(out, head.theirs);
  }
  BitWriter bits(out);
  PutPositions(leaves, range, &bits);
  size_t next = 0;
  for (const uint64_t leaf : leaves) {
    if (!unknown || !asked) break;
    const bool is_asked =
        next < head.asked.size() && head.asked[next].leaf == leaf;
    if (is_asked) ++next;
    bits.Put(is_asked ? 1 : 0, 1);
  }
  for (const PureLeavesHead::Question& one : head.asked) {
    bits.Put(one.sum, symbol_bits - 2);
  }
}

absl::Status DecodePureLeaves(std::string_view body, int symbol_bits,
                              uint32_t range, PureLeavesHead* head) {
  *head = {};
  if (body.empty()) return absl::OkStatus();
  uint64_t leaves_and_kinds = 0;
  if (!GetVarint64(&body, 4 * uint64_t{range} + 3, &leaves_and_kinds) ||
      leaves_and_kinds <= 4) {
    return BadPureLeaves("no leaves");
  }
  const uint64_t count = leaves_and_kinds / 4;
  const bool unknown = (leaves_and_kinds & kSomeUnknown) != 0;
  const bool some_asked = (leaves_and_kinds & kSomeAsked) != 0;
  if (!unknown && !some_asked) return BadPureLeaves("leaves of no kind");
  if ((unknown && !GetVarint64(&body, &head->elements)) ||
      (unknown && !some_asked && !GetVarint64(&body, &head->theirs)) ||
      (unknown && some_asked &&
       (!GetVarint64(&body, &head->expected) ||
        !GetVarint64(&body, &head->overwritten)))) {
    return BadPureLeaves("no leaves");
  }
  BitReader bits(body);
  std::vector<uint64_t> leaves;
  if (!GetPositions(count, range, &bits, &leaves)) {
    return BadPureLeaves("not as many leaves as it says");
  }
  for (const uint64_t leaf : leaves) {
    uint64_t asked = some_asked ? 1 : 0;
    if (unknown && some_asked && !bits.Get(1, &asked)) {
      return BadPureLeaves("truncated leaves");
    }
    if (asked != 0) {
      head->asked.push_back({static_cast<uint32_t>(leaf), 0});
    } else {
      head->unknown.push_back(static_cast<uint32_t>(leaf));
    }
  }
  if (unknown == head->unknown.empty() || some_asked == head->asked.empty()) {
    return BadPureLeaves("the kinds of leaves contradict the list");
  }
  for (PureLeavesHead::Question& one : head->asked) {
    uint64_t sum = 0;
    if (!bits.Get(symbol_bits - 2, &sum))
      return BadPureLeaves("truncated sums");
    one.sum = static_cast<uint32_t>(sum);
  }
  if (!bits.AtEnd()) return BadPureLeaves("more than leaves and sums");
  return absl::OkStatus();
}

void EncodeFailed(const FailedPureLeaves& leaves, std::string* out) {
  std::vector<uint64_t> failed;
  for (size_t i = 0; i < leaves.failed.size(); ++i) {
    if (leaves.failed[i]) failed.push_back(i);
  }
  PutVarint64(out, leaves.sender);
  PutVarint64(out, leaves.receiver);
  PutVarint64(out, failed.size());
  BitWriter bits(out);
  PutPositions(failed, leaves.failed.size(), &bits);
}

absl::Status DecodeFailed(std::string_view body, size_t asked,
                          FailedPureLeaves* leaves) {
  *leaves = {};
  uint64_t count = 0;
  if (!GetVarint64(&body, &leaves->sender) ||
      !GetVarint64(&body, &leaves->receiver) ||
      !GetVarint64(&body, asked, &count)) {
    return BadFailed("no counts");
  }
  if (count == 0) return BadFailed("none failed");
  BitReader bits(body);
  std::vector<uint64_t> failed;
  if (!GetPositions(count, asked, &bits, &failed)) {
    return BadFailed("not as many leaves as it says");
  }
  if (!bits.AtEnd()) return BadFailed("more than leaves");
  leaves->failed.assign(asked, false);
  for (const uint64_t one : failed) leaves->failed[one] = true;
  return absl::OkStatus();
}

}  // namespace rocksync
