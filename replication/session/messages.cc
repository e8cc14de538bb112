#include "replication/session/messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "replication/session/storage_view.h"
#include "replication/text/escape_text.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/element/gap_coding.h"

namespace rocksync {
namespace {

constexpr uint8_t kOptionBloom = 0x01;
constexpr uint8_t kOptionBatches = 0x02;
constexpr uint8_t kOptionVerify = 0x04;
constexpr uint8_t kOptionKeysOnly = 0x08;
constexpr uint8_t kOptionLeftOut = 0x10;
constexpr uint8_t kOptionBatchBits = 0x20;
constexpr uint8_t kKnownOptions = kOptionBloom | kOptionBatches |
                                  kOptionVerify | kOptionKeysOnly |
                                  kOptionLeftOut | kOptionBatchBits;
constexpr uint8_t kRunsForm = 0;
constexpr uint8_t kBitmapForm = 1;

bool GetDigest(std::string_view* input, Digest* digest) {
  return GetVarint64(input, &digest->count) &&
         GetFixed64(input, &digest->high) && GetFixed64(input, &digest->low);
}

void EncodeWantRuns(const std::vector<bool>& wants, std::string* out) {
  bool current = true;
  size_t run = 0;
  for (const bool want : wants) {
    if (want != current) {
      PutVarint64(out, run);
      current = want;
      run = 0;
    }
    ++run;
  }
}

absl::Status DecodeWantRuns(std::string_view body, std::vector<bool>* wants) {
  bool current = true;
  size_t at = 0;
  while (!body.empty()) {
    uint64_t run = 0;
    if (!GetVarint64(&body, wants->size() - at, &run)) {
      return Malformed(MessageType::kWants, "runs exceed the offers");
    }
    std::fill_n(wants->begin() + static_cast<ptrdiff_t>(at), run, current);
    at += run;
    current = !current;
  }
  std::fill(wants->begin() + static_cast<ptrdiff_t>(at), wants->end(), current);
  return absl::OkStatus();
}

absl::Status DecodeWantBitmap(std::string_view body, std::vector<bool>* wants) {
  if (body.size() != (wants->size() + 7) / 8) {
    return Malformed(MessageType::kWants, "bitmap does not fit the offers");
  }
  for (size_t i = 0; i < body.size() * 8; ++i) {
    const bool bit = (static_cast<uint8_t>(body[i / 8]) >> (i % 8) & 1) != 0;
    if (i < wants->size()) {
      (*wants)[i] = bit;
    } else if (bit) {
      return Malformed(MessageType::kWants, "spare bits are set");
    }
  }
  return absl::OkStatus();
}

// The names of messages, by type from 1.
}  // namespace

absl::Status Malformed(MessageType type, std::string_view what) {
  const std::string_view name = MessageName(type);
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(name.data(), name.size()), ": ",
                   absl::string_view(what.data(), what.size())));
}

void EncodeDigest(const Digest& digest, std::string* out) {
  PutVarint64(out, digest.count);
  PutFixed64(out, digest.high);
  PutFixed64(out, digest.low);
}

void EncodeSummary(const Summary& summary, std::string* out) {
  EncodeDigest(summary.digest, out);
  EncodeLeftOut(summary.left_out, out);
}

absl::Status DecodeSummary(std::string_view body, Summary* summary) {
  if (!GetDigest(&body, &summary->digest)) {
    return Malformed(MessageType::kSummary, "not a count and a digest");
  }
  return DecodeLeftOut(MessageType::kSummary, body, &summary->left_out);
}

void EncodeLeftOut(uint64_t left_out, std::string* out) {
  if (left_out > 0) PutVarint64(out, left_out);
}

absl::Status DecodeLeftOut(MessageType type, std::string_view body,
                           uint64_t* left_out) {
  *left_out = 0;
  if (body.empty()) return absl::OkStatus();
  if (!GetVarint64(&body, left_out) || *left_out == 0 || !body.empty()) {
    return Malformed(type, "not a number of pairs left out");
  }
  return absl::OkStatus();
}

void EncodeHello(const Hello& hello, std::string* out, uint8_t* flags) {
  *flags = hello.prefer_round_trips ? kFlagPreferRoundTrips : 0;
  EncodeDigest(hello.digest, out);
  const bool few = hello.batch_bits < kAssumedBatchBits;
  const auto options = static_cast<uint8_t>(
      (few ? kOptionBatchBits : 0) | (hello.bloom ? kOptionBloom : 0) |
      (hello.batches ? kOptionBatches : 0) |
      (hello.verify ? kOptionVerify : 0) |
      (hello.keys_only ? kOptionKeysOnly : 0) |
      (hello.left_out > 0 ? kOptionLeftOut : 0));
  if (options == 0) return;
  *flags |= kFlagHelloExtended;
  PutFixed8(out, options);
  if (hello.bloom) PutFixed16(out, hello.false_positive_rate);
  if (few) PutFixed8(out, hello.batch_bits);
  EncodeLeftOut(hello.left_out, out);
}

absl::Status DecodeHello(std::string_view body, uint8_t flags, Hello* hello) {
  *hello = Hello{};
  hello->prefer_round_trips = (flags & kFlagPreferRoundTrips) != 0;
  if (!GetDigest(&body, &hello->digest)) {
    return Malformed(MessageType::kHello, "no count and digest");
  }
  if ((flags & kFlagHelloExtended) != 0) {
    uint8_t options = 0;
    if (!GetFixed8(&body, &options) || (options & ~kKnownOptions) != 0) {
      return Malformed(MessageType::kHello, "unknown options");
    }
    hello->bloom = (options & kOptionBloom) != 0;
    hello->batches = (options & kOptionBatches) != 0;
    hello->verify = (options & kOptionVerify) != 0;
    hello->keys_only = (options & kOptionKeysOnly) != 0;
    if (hello->keys_only && !hello->verify) {
      return Malformed(MessageType::kHello, "keys only, but not to compare");
    }
    if (hello->bloom && (!GetFixed16(&body, &hello->false_positive_rate) ||
                         hello->false_positive_rate == 0)) {
      return Malformed(MessageType::kHello, "no false positive rate");
    }
    if ((options & kOptionBatchBits) != 0 &&
        (!GetFixed8(&body, &hello->batch_bits) ||
         hello->batch_bits >= kAssumedBatchBits)) {
      return Malformed(MessageType::kHello, "no batch bits");
    }
    if ((options & kOptionLeftOut) != 0 &&
        (!GetVarint64(&body, &hello->left_out) || hello->left_out == 0)) {
      return Malformed(MessageType::kHello, "no number of pairs left out");
    }
  }
  if (!body.empty()) return Malformed(MessageType::kHello, "too long");
  return absl::OkStatus();
}

void EncodeCount(uint64_t count, std::string* out) { PutVarint64(out, count); }

absl::Status DecodeCount(MessageType type, std::string_view body,
                         uint64_t* count) {
  if (!GetVarint64(&body, count) || !body.empty()) {
    return Malformed(type, "not a count");
  }
  return absl::OkStatus();
}

namespace {

void PutLeafRuns(const std::vector<uint32_t>& leaves, std::string* out) {
  std::string runs;
  uint64_t run_count = 0;
  uint32_t next = 0;  // the first leaf after the last run
  for (size_t i = 0; i < leaves.size();) {
    size_t end = i + 1;
    while (end < leaves.size() && leaves[end] == leaves[end - 1] + 1) ++end;
    const uint64_t skipped = leaves[i] - next;
    PutVarint64(&runs, 2 * skipped + (end - i > 1 ? 1 : 0));
    if (end - i > 1) PutVarint64(&runs, end - i - 2);
    next = leaves[end - 1] + 1;
    ++run_count;
    i = end;
  }
  PutVarint64(out, run_count);
  out->append(runs);
}

void PutLeafGaps(const std::vector<uint32_t>& leaves, std::string* out) {
  const std::vector<uint64_t> positions(leaves.begin(), leaves.end());
  BitWriter bits(out);
  PutPositions(positions, kLeafCount, &bits);
}

// Reads the runs that follow their number.
absl::Status GetLeafRuns(uint64_t run_count, std::string_view* body,
                         std::vector<uint32_t>* leaves) {
  uint64_t next = 0;
  for (uint64_t i = 0; i < run_count; ++i) {
    uint64_t head = 0;
    uint64_t more = 0;
    if (!GetVarint64(body, 2 * kLeafCount, &head) ||
        ((head & 1) != 0 && !GetVarint64(body, kLeafCount, &more))) {
      return Malformed(MessageType::kLeafBatch, "truncated leaves");
    }
    const uint64_t first = next + head / 2;
    const uint64_t end = first + 1 + ((head & 1) != 0 ? more + 1 : 0);
    if (end > kLeafCount) {
      return Malformed(MessageType::kLeafBatch, "leaves out of range");
    }
    for (uint64_t leaf = first; leaf < end; ++leaf) {
      leaves->push_back(static_cast<uint32_t>(leaf));
    }
    next = end;
  }
  return absl::OkStatus();
}

absl::Status DecodeBatchRuns(uint64_t run_count, std::string_view body,
                             LeafBatchHead* batch) {
  const absl::Status status = GetLeafRuns(run_count, &body, &batch->leaves);
  if (!status.ok()) return status;
  if (!GetDigest(&body, &batch->digest) || !body.empty()) {
    return Malformed(MessageType::kLeafBatch, "no count and digest");
  }
  return absl::OkStatus();
}

absl::Status DecodeBatchGaps(uint64_t leaves, std::string_view body,
                             LeafBatchHead* batch) {
  if (!GetDigest(&body, &batch->digest)) {
    return Malformed(MessageType::kLeafBatch, "no leaves");
  }
  BitReader bits(body);
  std::vector<uint64_t> positions;
  if (!GetPositions(leaves, kLeafCount, &bits, &positions) || !bits.AtEnd()) {
    return Malformed(MessageType::kLeafBatch, "not as many leaves as it says");
  }
  batch->leaves.assign(positions.begin(), positions.end());
  return absl::OkStatus();
}

}  // namespace

void EncodeLeafBatch(const LeafBatchHead& batch, std::string* out) {
  std::string runs;
  PutLeafRuns(batch.leaves, &runs);
  if (batch.expected > 0) {
    PutVarint64(out, 0);
    PutVarint64(out, batch.expected);
    PutVarint64(out, batch.overwritten);
    std::string gaps;
    PutLeafGaps(batch.leaves, &gaps);
    if (gaps.size() < runs.size()) {
      PutVarint64(out, batch.leaves.size());
      EncodeDigest(batch.digest, out);
      out->append(gaps);
      return;
    }
    PutVarint64(out, 0);
  }
  out->append(runs);
  EncodeDigest(batch.digest, out);
}

absl::Status DecodeLeafBatch(std::string_view body, LeafBatchHead* batch) {
  *batch = {};
  uint64_t run_count = 0;
  if (!GetVarint64(&body, kLeafCount, &run_count)) {
    return Malformed(MessageType::kLeafBatch, "no leaves");
  }
  if (run_count > 0) return DecodeBatchRuns(run_count, body, batch);
  uint64_t leaves = 0;
  if (!GetVarint64(&body, &batch->expected) || batch->expected == 0 ||
      !GetVarint64(&body, &batch->overwritten) ||
      !GetVarint64(&body, kLeafCount, &leaves)) {
    return Malformed(MessageType::kLeafBatch, "no leaves");
  }
  if (leaves > 0) return DecodeBatchGaps(leaves, body, batch);
  if (!GetVarint64(&body, kLeafCount, &run_count) || run_count == 0) {
    return Malformed(MessageType::kLeafBatch, "no leaves");
  }
  return DecodeBatchRuns(run_count, body, batch);
}

void EncodeWants(const std::vector<bool>& wants, std::string* out) {
  std::string runs;
  EncodeWantRuns(wants, &runs);
  if (runs.empty()) return;
  const size_t bitmap_bytes = (wants.size() + 7) / 8;
  if (runs.size() <= bitmap_bytes) {
    PutFixed8(out, kRunsForm);
    out->append(runs);
    return;
  }
  PutFixed8(out, kBitmapForm);
  std::string bitmap(bitmap_bytes, '\0');
  for (size_t i = 0; i < wants.size(); ++i) {
    if (wants[i]) bitmap[i / 8] |= static_cast<char>(1 << (i % 8));
  }
  out->append(bitmap);
}

absl::Status DecodeWants(std::string_view body, size_t offers,
                         std::vector<bool>* wants) {
  wants->assign(offers, true);
  if (body.empty()) return absl::OkStatus();
  uint8_t form = 0;
  if (!GetFixed8(&body, &form)) return absl::InternalError("unreachable");
  if (form == kRunsForm) return DecodeWantRuns(body, wants);
  if (form == kBitmapForm) return DecodeWantBitmap(body, wants);
  return Malformed(MessageType::kWants, "unknown form");
}

void EncodeEnd(const End& end, std::string* out) {
  PutFixed8(out, static_cast<uint8_t>(end.reason));
  out->append(end.text, 0, kMaxTextBytes);
}

absl::Status DecodeEnd(std::string_view body, End* end) {
  uint8_t reason = 0;
  if (!GetFixed8(&body, &reason) || reason == 0 ||
      reason > static_cast<uint8_t>(EndReason::kIndexBuild)) {
    return Malformed(MessageType::kEnd, "unknown reason");
  }
  if (body.size() > kMaxTextBytes) {
    return Malformed(MessageType::kEnd, "text too long");
  }
  end->reason = static_cast<EndReason>(reason);
  end->text = EscapeText(body);
  return absl::OkStatus();
}

}  // namespace rocksync
