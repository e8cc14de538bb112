#include "replication/reconcile/exchange_sketch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "replication/reconcile/exchange_messages.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/element/gap_coding.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/ranking.h"
#include "sketch/pinsketch/syndrome_decoder.h"

namespace rocksync {
namespace {

// A set that is decoded from at least this many sums is right: a wrong one has
// a chance of 1 / t! for t sums.
constexpr size_t kSelfCheckingSums = 12;

uint16_t FoldCheck(uint64_t check) {
  return static_cast<uint16_t>(check ^ check >> 16 ^ check >> 32 ^ check >> 48);
}

std::span<const uint32_t> IdsOf(const ShortIds& ids, uint32_t group) {
  const ElementRange range = ids.group(group);
  return ids.ids().subspan(range.begin, range.end - range.begin);
}

}  // namespace

size_t MostDecodingBytes() { return DecodingBytes(kMaxSums); }

SketchSender::SketchSender(const KeyedSet* open, const IdShape& shape)
    : open_(open), shape_(shape), ids_(*open, shape), pending_(shape.groups) {
  std::iota(pending_.begin(), pending_.end(), 0);
}

void SketchSender::AppendSums(uint32_t count, std::string* out) {
  PackSums(ids_.Sums(sums_, count, pending_), shape_.bits, out);
  sums_ += count;
}

absl::Status SketchSender::ReceiveAnswer(bool partial, std::string_view body,
                                         std::vector<uint32_t>* missing,
                                         uint32_t* more) {
  std::vector<uint32_t> decoded;
  std::vector<uint32_t> still_pending;
  *more = 0;
  if (partial) {
    uint64_t wanted = 0;
    if (!GetVarint64(&body, kMaxSums, &wanted)) {
      return absl::InvalidArgumentError("answer asks for too many power sums");
    }
    *more = static_cast<uint32_t>(wanted);
    std::string_view bitmap;
    if (pending_.size() > 1 &&
        !GetBytes(&body, (pending_.size() + 7) / 8, &bitmap)) {
      return absl::InvalidArgumentError("answer truncated");
    }
    for (size_t i = 0; i < pending_.size(); ++i) {
      const bool is_decoded =
          !bitmap.empty() && (bitmap[i / 8] >> i % 8 & 1) != 0;
      (is_decoded ? decoded : still_pending).push_back(pending_[i]);
    }
    if (decoded.empty() && !body.empty()) {
      return absl::InvalidArgumentError("names without a decoded group");
    }
  } else {
    decoded = pending_;
  }
  pending_ = std::move(still_pending);
  if (decoded.empty()) return absl::OkStatus();
  return ReceiveNames(body, decoded, missing);
}

absl::Status SketchSender::ReceiveNames(std::string_view body,
                                        const std::vector<uint32_t>& decoded,
                                        std::vector<uint32_t>* missing) {
  uint64_t count = 0;
  if (!GetVarint64(&body, kMaxKeyedElements, &count)) {
    return absl::InvalidArgumentError("names truncated");
  }
  if (count == 0) {
    if (body.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("bytes after an answer");
  }
  uint16_t check = 0;
  if (!GetFixed16(&body, &check)) {
    return absl::InvalidArgumentError("names truncated");
  }
  std::vector<uint32_t> counts;
  counts.reserve(decoded.size());
  uint64_t range = 0;
  for (const uint32_t group : decoded) {
    counts.push_back(CountRanked(IdsOf(ids_, group)));
    range += counts.back();
  }
  BitReader reader(body);
  std::vector<uint64_t> ranks;
  // Ranks out of range show that the peer decoded wrongly, or that an element
  // was hidden by another's id. Nothing is believed then.
  if (!GetPositions(count, range, &reader, &ranks) || !reader.AtEnd()) {
    ++unconfirmed_;
    return absl::OkStatus();
  }
  std::vector<uint32_t> named;
  uint64_t sum = 0;
  uint64_t begin = 0;
  size_t next = 0;
  std::vector<uint32_t> wanted;
  for (size_t s = 0; s < decoded.size() && next < ranks.size(); ++s) {
    const uint32_t group = decoded[s];
    wanted.clear();
    for (; next < ranks.size() && ranks[next] < begin + counts[s]; ++next) {
      wanted.push_back(static_cast<uint32_t>(ranks[next] - begin));
    }
    begin += counts[s];
    if (wanted.empty()) continue;
    for (const RankedId& found : FindRanks(IdsOf(ids_, group), wanted)) {
      sum += IdCheck(group, found.id);
      if (!found.index) continue;
      named.push_back(open_->ordinal(ids_.group(group).begin + *found.index));
    }
  }
  if (FoldCheck(sum) != check) {
    ++unconfirmed_;
    return absl::OkStatus();
  }
  missing->insert(missing->end(), named.begin(), named.end());
  return absl::OkStatus();
}

SketchDecoder::SketchDecoder(const KeyedSet* open, const IdShape& shape,
                             std::optional<int64_t> surplus)
    : open_(open),
      shape_(shape),
      surplus_(surplus),
      ids_(*open, shape),
      pending_(shape.groups) {
  for (uint32_t g = 0; g < shape.groups; ++g) pending_[g].group = g;
}

bool SketchDecoder::Decode(const Pending& pending,
                           std::vector<uint32_t>* difference) const {
  const Field field(shape_.bits);
  if (!DecodePowerSums(field, pending.sums, difference)) return false;
  std::sort(difference->begin(), difference->end());
  if (difference->size() < pending.sums.size() ||
      pending.sums.size() >= kSelfCheckingSums) {
    return true;
  }
  // No sum is left as a check: at least the balance between the sides must be
  // right.
  if (!surplus_ || shape_.groups != 1) return false;
  const std::span<const uint32_t> ids = ids_.ids();
  std::vector<uint32_t> mine;
  for (const uint32_t id : ids) {
    if (std::binary_search(difference->begin(), difference->end(), id)) {
      mine.push_back(id);
    }
  }
  const int64_t here = static_cast<int64_t>(mine.size());
  const int64_t there = static_cast<int64_t>(difference->size()) - here;
  return here - there == *surplus_;
}

absl::Status SketchDecoder::ReceiveSums(std::string_view bytes,
                                        std::vector<uint32_t>* missing) {
  std::vector<uint32_t> theirs;
  if (absl::Status status = UnpackSums(bytes, shape_.bits, pending_.size(),
                                       kMaxSums - sums_, &theirs);
      !status.ok()) {
    return status;
  }
  const uint32_t count = static_cast<uint32_t>(theirs.size() / pending_.size());
  std::vector<uint32_t> groups;
  groups.reserve(pending_.size());
  for (const Pending& pending : pending_) groups.push_back(pending.group);
  const std::vector<uint32_t> sums = ids_.Sums(sums_, count, groups);
  sums_ += count;

  sizes_.clear();
  ranks_.clear();
  decoded_.assign(pending_.size(), false);
  range_ = 0;
  check_ = 0;
  std::vector<Pending> still_pending;
  std::vector<uint32_t> difference;
  for (size_t p = 0; p < pending_.size(); ++p) {
    Pending& pending = pending_[p];
    for (size_t i = p * count; i < (p + 1) * count; ++i) {
      pending.sums.push_back(theirs[i] ^ sums[i]);
    }
    if (!Decode(pending, &difference)) {
      still_pending.push_back(std::move(pending));
      continue;
    }
    decoded_[p] = true;
    sizes_.push_back(static_cast<uint32_t>(difference.size()));
    const ResolvedGroup resolved =
        ResolveGroup(pending.group, IdsOf(ids_, pending.group), difference);
    for (const uint32_t index : resolved.lacked_there) {
      missing->push_back(
          open_->ordinal(ids_.group(pending.group).begin + index));
    }
    for (const uint32_t rank : resolved.ranks_there) {
      ranks_.push_back(range_ + rank);
    }
    range_ += resolved.count_there;
    check_ += resolved.check;
  }
  pending_ = std::move(still_pending);
  return absl::OkStatus();
}

std::string SketchDecoder::Answer(bool partial, uint32_t more) const {
  std::string body;
  if (partial) {
    PutVarint64(&body, more);
    if (decoded_.size() > 1) {
      BitWriter bitmap(&body);
      for (const bool decoded : decoded_) bitmap.Put(decoded, 1);
    }
    if (sizes_.empty()) return body;
  }
  PutVarint64(&body, ranks_.size());
  if (ranks_.empty()) return body;
  PutFixed16(&body, FoldCheck(check_));
  BitWriter writer(&body);
  PutPositions(ranks_, range_, &writer);
  writer.Flush();
  return body;
}

}  // namespace rocksync
