#include "replication/session/outgoing_pairs.h"

#include <algorithm>
#include <utility>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// The share of MaxSendingBytes for values that are read ahead of offers, and
// for those that are kept until the peer says which it wants. The rest is for
// sorted entries.
constexpr size_t kShareOfValues = 4;

// Returns whether a status means that only this value cannot be read now, which
// keeps no other pair from going.
bool UnreadableValue(const absl::Status& status) {
  return !status.ok() && !absl::IsCancelled(status) &&
         !absl::IsInvalidArgument(status) && !absl::IsUnavailable(status);
}

WirePair AsPair(const IndexEntry& entry, std::string_view value) {
  return {.family = entry.family,
          .key = entry.key,
          .version = entry.version,
          .kind = entry.tombstone ? WirePair::Kind::kTombstone
                                  : WirePair::Kind::kWithValue,
          .value_size = value.size(),
          .value = value,
          .hash = {}};
}

}  // namespace

OutgoingPairs::OutgoingPairs(const RoundContext& context,
                             const SessionOptions* options,
                             std::vector<uint32_t> candidates)
    : OutgoingPairs(context, options, std::move(candidates),
                    MaxSendingBytes(*options, context.batch->hashes().size())) {
}

OutgoingPairs::OutgoingPairs(const RoundContext& context,
                             const SessionOptions* options,
                             std::vector<uint32_t> candidates, size_t max_bytes)
    : context_(context),
      options_(options),
      max_kept_(std::max(options->max_turn_bytes, max_bytes / kShareOfValues)),
      candidates_(context, max_kept_, max_bytes - max_bytes / kShareOfValues,
                  std::move(candidates)) {}

absl::Status OutgoingPairs::ReceiveWants(std::string_view body) {
  if (offered_.empty()) {
    return Malformed(MessageType::kWants, "nothing was offered");
  }
  std::vector<bool> wants;
  const absl::Status status = DecodeWants(body, offered_.size(), &wants);
  if (!status.ok()) return status;
  context_.report->offer_bytes +=
      std::exchange(context_.report->unanswered_bytes, 0);
  for (size_t i = 0; i < wants.size(); ++i) {
    Outgoing& offer = offered_[i];
    context_.report->CountOffered(wants[i] ? offer.entry.key.size() : 0,
                                  offer.on_request ? 0 : offer.value.size());
    if (!wants[i]) ++in_vain_;
    if (wants[i]) {
      ++context_.report->pairs_sent;
      if (offer.on_request) {
        owed_.push_back(std::move(offer));
        continue;
      }
    }
    if (offer.cached) cached_bytes_ -= offer.value.size();
  }
  offered_.clear();
  return absl::OkStatus();
}

absl::Status OutgoingPairs::Build(const SendMode& terms, bool turn_begins,
                                  Turn* turn) {
  if (turn_begins) awaits_answer_ = false;
  more_ = false;
  absl::Status status;
  if (!begun_) status = BuildValues(turn);
  if (status.ok() && !more_) status = BuildPairs(terms, turn);
  if (status.ok() && !more_ && !terms.as_pairs) {
    status = BuildOffers(terms, turn);
  }
  return status;
}

bool OutgoingPairs::SendChunks(Outgoing* pair, Turn* turn) {
  while (pair->rest().size() > kChunkBytes) {
    if (turn->full()) return false;
    turn->Add(MessageType::kChunk, pair->rest().substr(0, kChunkBytes), 0,
              {.keys = 0, .values = kChunkBytes});
    pair->sent += kChunkBytes;
  }
  return true;
}

absl::Status OutgoingPairs::BuildValues(Turn* turn) {
  std::string body;
  PairBytes bytes;
  const auto flush = [&body, &bytes, turn] {
    if (!body.empty()) turn->Add(MessageType::kValues, body, 0, bytes);
    body.clear();
    bytes = {};
  };
  while (!owed_.empty() && body.size() < turn->room()) {
    if (context_.Cancelled())
      return absl::CancelledError("stopped while sending");
    Outgoing& pair = owed_.front();
    const bool kept = pair.cached;
    const absl::StatusOr<bool> readable = FetchValue(&pair);
    if (!readable.ok()) return readable.status();
    if (!kept) cached_bytes_ += pair.value.size();
    if (!*readable) {
      PutVarint64(&body, 0);
    } else {
      if (pair.rest().size() > kChunkBytes) {
        flush();
        if (!SendChunks(&pair, turn)) break;
      }
      const std::string_view tail = pair.rest();
      PutVarint64(&body, tail.size() + 1);
      body.append(tail);
      bytes.values += tail.size();
      cached_bytes_ -= pair.value.size();
    }
    owed_.pop_front();
    if (body.size() >= kPackedBytes) flush();
  }
  flush();
  more_ = !owed_.empty();
  return absl::OkStatus();
}

absl::StatusOr<bool> OutgoingPairs::NextPair(const SendMode& terms,
                                             Outgoing* pair) {
  if (begun_) {
    *pair = std::move(*begun_);
    begun_.reset();
    awaits_answer_ |= pair->contested;
    return true;
  }
  while (true) {
    std::optional<uint32_t> ordinal;
    bool contested = false;
    if (!winners_.empty()) {
      ordinal = winners_.front().ordinal;
      contested = winners_.front().contested;
      winners_.pop_front();
    } else if (terms.as_pairs) {
      // After pairs nothing follows that has to be in order of position.
      ordinal = terms.before ? candidates_.Next(terms.before)
                             : candidates_.NextByKey();
      contested = true;
    }
    if (!ordinal) return false;
    context_.batch->Cover(*ordinal);
    const absl::StatusOr<bool> readable = Fetch(*ordinal, pair);
    if (!readable.ok()) return readable.status();
    if (*readable) {
      pair->contested = contested;
      awaits_answer_ |= contested;
      return true;
    }
  }
}

absl::Status OutgoingPairs::BuildPairs(const SendMode& terms, Turn* turn) {
  std::string body;
  PairBytes bytes;
  std::optional<PairEncoder> encoder;
  const auto flush = [&] {
    if (!body.empty()) turn->Add(MessageType::kPairs, body, 0, bytes);
    body.clear();
    bytes = {};
    encoder.emplace(&body);
  };
  flush();
  while (true) {
    if (body.size() >= turn->room()) {
      more_ = true;
      break;
    }
    if (context_.Cancelled())
      return absl::CancelledError("stopped while sending");
    Outgoing pair;
    const absl::StatusOr<bool> more = NextPair(terms, &pair);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (pair.rest().size() > kChunkBytes) {
      flush();
      if (!SendChunks(&pair, turn)) {
        begun_ = std::move(pair);
        more_ = true;
        return absl::OkStatus();
      }
    }
    encoder->Add(AsPair(pair.entry, pair.rest()));
    ++entries_;
    ++context_.report->pairs_sent;
    bytes.keys += pair.entry.key.size();
    bytes.values += pair.rest().size();
    if (body.size() >= kPackedBytes) flush();
  }
  flush();
  return absl::OkStatus();
}

absl::Status OutgoingPairs::BuildOffers(const SendMode& terms, Turn* turn) {
  // The rest of this piece would hold few offers for a round trip.
  more_ = turn->half_full() && !candidates_.at_end();
  if (more_) return absl::OkStatus();
  std::string body;
  std::optional<PairEncoder> encoder;
  const auto flush = [&] {
    if (!body.empty()) turn->Add(MessageType::kOffers, body);
    body.clear();
    encoder.emplace(&body);
  };
  flush();
  while (body.size() < turn->room()) {
    if (context_.Cancelled())
      return absl::CancelledError("stopped while offering");
    const std::optional<uint32_t> ordinal = candidates_.Next(terms.before);
    if (!ordinal) break;
    const absl::StatusOr<bool> offered = Offer(*ordinal, &*encoder);
    if (!offered.ok()) return offered.status();
    if (body.size() >= kPackedBytes) flush();
  }
  flush();
  return absl::OkStatus();
}

absl::StatusOr<bool> OutgoingPairs::Offer(uint32_t ordinal,
                                          PairEncoder* encoder) {
  context_.batch->Cover(ordinal);
  Outgoing out;
  const absl::StatusOr<bool> readable = Fetch(ordinal, &out);
  if (!readable.ok() || !*readable) return readable;

  WirePair wire = AsPair(out.entry, out.value);
  out.on_request =
      !out.entry.tombstone &&
      out.value.size() >
          std::min(options_->limits.inline_value_bytes, kChunkBytes);
  if (out.on_request) {
    wire.kind = WirePair::Kind::kOnRequest;
    if (wire.version == Version{}) wire.hash = out.entry.hash;
  }
  encoder->Add(wire);
  ++entries_;
  awaits_answer_ = true;
  if (out.on_request && cached_bytes_ + out.value.size() > max_kept_) {
    std::string().swap(out.value);  // an assignment would keep its memory
    out.cached = false;
  } else {
    cached_bytes_ += out.value.size();
  }
  offered_.push_back(std::move(out));
  return true;
}

// --- What is read -----------------------------------------------------------

absl::StatusOr<bool> OutgoingPairs::Fetch(uint32_t ordinal, Outgoing* out) {
  *out = Outgoing();  // drops what a pair that was left out has set
  CandidateReader::Found found = candidates_.Find(ordinal);
  if (Unreadable(found.entry.status())) return Unread();
  if (!found.entry.ok()) return found.entry.status();
  out->entry = *std::move(found.entry);
  const absl::StatusOr<bool> readable =
      found.value ? TakeValue(*std::move(found.value), out) : FetchValue(out);
  if (!readable.ok() || !*readable || !IsOversized(*out)) return readable;
  ++left_out_;
  ++context_.report->pairs_too_large;
  context_.storage->NoteOversized(out->entry.family, out->entry.key);
  return false;
}

// A peer would refuse such a pair, too, or call the message damaged.
bool OutgoingPairs::IsOversized(const Outgoing& pair) const {
  const size_t key_limit =
      pair.entry.tombstone ? kMaxKeyBytes
                           : std::min(kMaxKeyBytes, options_->max_key_bytes);
  return pair.entry.key.size() > key_limit ||
         pair.value.size() > options_->max_value_bytes;
}

absl::StatusOr<bool> OutgoingPairs::FetchValue(Outgoing* out) {
  if (out->cached || out->sent > 0 || out->entry.tombstone) return true;
  return TakeValue(context_.snapshot->ReadValue(out->entry), out);
}

absl::StatusOr<bool> OutgoingPairs::TakeValue(absl::StatusOr<std::string> value,
                                              Outgoing* out) {
  if (UnreadableValue(value.status())) return Unread();
  if (!value.ok()) return value.status();
  out->value = *std::move(value);
  out->cached = true;
  return true;
}

bool OutgoingPairs::Unread() {
  ++left_out_;
  ++context_.report->pairs_unreadable;
  return false;
}

}  // namespace rocksync
