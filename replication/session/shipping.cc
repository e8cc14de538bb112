#include "replication/session/shipping.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// A value that cannot be read now keeps nothing else from going.
bool UnreadableValue(const absl::Status& status) {
  return !status.ok() && !absl::IsCancelled(status) &&
         !absl::IsInvalidArgument(status);
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

Shipping::Shipping(const RoundContext& context, const SessionOptions* options,
                   Candidates candidates)
    : context_(context),
      options_(options),
      incoming_(context, options),
      exact_(candidates.exact),
      one_sided_(candidates.one_sided),
      candidates_(context, options->max_turn_bytes,
                  std::move(candidates.missing_there)) {}

// --- What comes -------------------------------------------------------------

absl::Status Shipping::Receive(MessageType type, std::string_view body) {
  switch (type) {
    case MessageType::kOffers:
      return ReceiveOffers(body);
    case MessageType::kWants:
      return ReceiveWants(body);
    case MessageType::kValues:
      return ReceiveValues(body);
    case MessageType::kChunk:
      return ReceiveChunk(body);
    case MessageType::kPairs:
      return ReceivePairs(body);
    default:
      return Malformed(type, "does not ship anything");
  }
}

absl::Status Shipping::ReceiveOffers(std::string_view body) {
  if (part_ == Part::kUndecided) part_ = Part::kFollows;
  if (wanted_before_turn_ > 0 || chunk_bytes_ > 0) {
    return Malformed(MessageType::kOffers,
                     "more of them before the values of earlier ones");
  }
  if (peer_done_offering_) {
    return Malformed(MessageType::kOffers, "more of them after the last");
  }
  context_.report->offer_bytes += 1 + body.size();
  PairDecoder decoder(MessageType::kOffers, body);
  while (!decoder.done()) {
    WirePair pair;
    absl::Status status = decoder.Next(&pair);
    if (status.ok()) status = ReceiveOffer(pair);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shipping::ReceiveOffer(const WirePair& pair) {
  const absl::StatusOr<Judgement> judgement =
      incoming_.Judge(MessageType::kOffers, pair);
  if (!judgement.ok()) return judgement.status();
  absl::Status status = CheckOrder(pair);
  if (!status.ok()) return status;
  CoverOwn(*judgement);

  const bool wanted = judgement->verdict == Verdict::kWanted;
  wants_.push_back(wanted);
  // A value came, wanted or not.
  CountOffered(wanted ? pair.key.size() : 0, pair.value.size());
  if (!wanted) {
    ++in_vain_;
    return absl::OkStatus();
  }
  if (pair.kind != WirePair::Kind::kOnRequest) {
    return incoming_.Take(OwnedPair(pair, std::string(pair.value)),
                          judgement->own);
  }
  wanted_.push_back({OwnedPair(pair, ""), pair.value_size, judgement->own});
  return absl::OkStatus();
}

absl::Status Shipping::CheckOrder(const WirePair& pair) {
  const uint64_t position = incoming_.position();
  if (any_offer_ && std::tuple(position, pair.family, pair.key) <=
                        std::tuple(offer_position_, offer_family_,
                                   std::string_view(offer_key_))) {
    return Malformed(MessageType::kOffers, "not in order");
  }
  any_offer_ = true;
  offer_position_ = position;
  offer_family_ = pair.family;
  offer_key_.assign(pair.key);
  return absl::OkStatus();
}

// Whatever the verdict, my element of that key need not be offered any more.
// If it beats what came, it is sent unasked, unless that happened before.
void Shipping::CoverOwn(const Judgement& judgement) {
  if (!judgement.own) return;
  LeafBatch* const batch = context_.batch;
  if (judgement.verdict == Verdict::kBeaten &&
      !batch->IsCovered(*judgement.own)) {
    winners_.push_back({*judgement.own, judgement.equal_versions});
  }
  batch->Cover(*judgement.own);
}

absl::Status Shipping::ReceiveWants(std::string_view body) {
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
    CountOffered(wants[i] ? offer.entry.key.size() : 0,
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

absl::Status Shipping::ReceiveChunk(std::string_view body) {
  if (body.empty()) return Malformed(MessageType::kChunk, "empty");
  chunk_bytes_ += body.size();
  context_.report->value_bytes += body.size();
  if (chunk_bytes_ <= options_->max_value_bytes) {
    chunks_.append(body);
  } else {
    std::string().swap(chunks_);  // too large for us: only its size is kept
  }
  return absl::OkStatus();
}

absl::Status Shipping::ReceiveValues(std::string_view body) {
  if (body.empty()) return Malformed(MessageType::kValues, "empty");
  while (!body.empty()) {
    uint64_t size = 0;
    std::string_view rest;
    if (wanted_.empty()) {
      return Malformed(MessageType::kValues, "a value nobody asked for");
    }
    if (!GetVarint64(&body, &size)) {
      return Malformed(MessageType::kValues, "truncated size");
    }
    if (size == 0) {  // it does not read there any more
      if (chunk_bytes_ > 0) {
        return Malformed(MessageType::kValues, "chunks of no value");
      }
      incoming_.Refuse();
      wanted_.pop_front();
      wanted_before_turn_ -= wanted_before_turn_ > 0 ? 1 : 0;
      continue;
    }
    if (size - 1 > body.size() ||
        !GetBytes(&body, static_cast<size_t>(size - 1), &rest)) {
      return Malformed(MessageType::kValues, "truncated value");
    }
    const absl::Status status = ReceiveValue(rest);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shipping::ReceiveValue(std::string_view rest) {
  context_.report->value_bytes += rest.size();
  Wanted& wanted = wanted_.front();
  if (chunk_bytes_ + rest.size() != wanted.value_size) {
    return Malformed(MessageType::kValues, "not the size that was offered");
  }
  wanted.pair.value = std::move(chunks_);
  wanted.pair.value.append(rest);
  chunks_.clear();
  chunk_bytes_ = 0;
  const absl::Status status =
      incoming_.Take(std::move(wanted.pair), wanted.own);
  wanted_.pop_front();
  wanted_before_turn_ -= wanted_before_turn_ > 0 ? 1 : 0;
  return status;
}

absl::Status Shipping::ReceivePairs(std::string_view body) {
  if (part_ == Part::kUndecided) part_ = Part::kFollows;
  if (body.empty()) return Malformed(MessageType::kPairs, "empty");
  PairDecoder decoder(MessageType::kPairs, body);
  std::string value;
  while (!decoder.done()) {
    WirePair pair;
    absl::Status status = decoder.Next(&pair);
    if (!status.ok()) return status;
    if (pair.kind == WirePair::Kind::kOnRequest) {
      return Malformed(MessageType::kPairs, "a pair without its value");
    }
    if (pair.kind == WirePair::Kind::kTombstone && chunk_bytes_ > 0) {
      return Malformed(MessageType::kPairs, "chunks of no value");
    }
    context_.report->key_bytes += pair.key.size();
    context_.report->value_bytes += pair.value.size();
    value = std::move(chunks_);
    value.append(pair.value);
    pair.value = value;
    pair.value_size += chunk_bytes_;
    chunks_.clear();
    chunk_bytes_ = 0;
    const absl::StatusOr<Judgement> judgement =
        incoming_.Judge(MessageType::kPairs, pair);
    if (!judgement.ok()) return judgement.status();
    const bool covered =
        judgement->own && context_.batch->IsCovered(*judgement->own);
    CoverOwn(*judgement);
    // I offered mine, the peer answered with its own of the same version, and
    // mine beats it.
    if (covered && judgement->equal_versions &&
        judgement->verdict == Verdict::kBeaten) {
      winners_.push_back({*judgement->own, /*contested=*/false});
    }
    if (judgement->verdict != Verdict::kWanted) {
      ++context_.report->pairs_received;
      if (judgement->verdict != Verdict::kRefused) {
        ++context_.report->pairs_superseded;
      }
      continue;
    }
    status = incoming_.Take(OwnedPair(pair, std::move(value)), judgement->own);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shipping::EndTurn(bool idle) {
  if (!offered_.empty()) {
    return Malformed(MessageType::kWants, "missing: offers went unanswered");
  }
  if (idle && part_ == Part::kUndecided) part_ = Part::kFollows;
  peer_idle_ = idle;
  peer_done_offering_ |= idle;
  wanted_before_turn_ = wanted_.size();
  return incoming_.Apply();
}

// --- What goes --------------------------------------------------------------

absl::Status Shipping::Build(Turn* turn) {
  if (turn->pieces() == 1) awaits_answer_ = false;
  more_ = false;
  // What the peer waits for comes first: the answer to its offers, then values
  // that it wants, and offers of our own once nothing else is owed. A pair that
  // has begun goes on before others, since chunks name no pair.
  BuildWants(turn);
  absl::Status status;
  if (!begun_) status = BuildValues(turn);
  if (status.ok() && !more_) status = BuildPairs(turn);
  if (status.ok() && !more_) status = BuildOffers(turn);
  if (part_ == Part::kUndecided && (sent_entries_ > 0 || idle())) {
    part_ = Part::kLeads;
  }
  return status;
}

void Shipping::BuildWants(Turn* turn) {
  if (wants_.empty()) return;
  std::string body;
  EncodeWants(wants_, &body);
  turn->Add(MessageType::kWants, body);
  wants_.clear();
}

bool Shipping::SendChunks(Outgoing* pair, Turn* turn) {
  while (pair->value.size() - pair->sent > kChunkBytes) {
    if (turn->full()) return false;
    turn->Add(MessageType::kChunk,
              std::string_view(pair->value).substr(pair->sent, kChunkBytes), 0,
              {.keys = 0, .values = kChunkBytes});
    pair->sent += kChunkBytes;
  }
  return true;
}

absl::Status Shipping::BuildValues(Turn* turn) {
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
      if (pair.value.size() - pair.sent > kChunkBytes) {
        flush();
        if (!SendChunks(&pair, turn)) break;
      }
      const std::string_view tail =
          std::string_view(pair.value).substr(pair.sent);
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

absl::StatusOr<bool> Shipping::NextPair(Outgoing* pair) {
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
    } else if (direct()) {
      ordinal = NextCandidate();
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

absl::Status Shipping::BuildPairs(Turn* turn) {
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
    const absl::StatusOr<bool> more = NextPair(&pair);
    if (!more.ok()) return more.status();
    if (!*more) break;
    if (pair.value.size() - pair.sent > kChunkBytes) {
      flush();
      if (!SendChunks(&pair, turn)) {
        begun_ = std::move(pair);
        more_ = true;
        return absl::OkStatus();
      }
    }
    encoder->Add(
        AsPair(pair.entry, std::string_view(pair.value).substr(pair.sent)));
    ++sent_entries_;
    ++context_.report->pairs_sent;
    bytes.keys += pair.entry.key.size();
    bytes.values += pair.value.size() - pair.sent;
    if (body.size() >= kPackedBytes) flush();
  }
  flush();
  return absl::OkStatus();
}

absl::Status Shipping::BuildOffers(Turn* turn) {
  if (direct()) return absl::OkStatus();
  // What is left of this piece would be few offers for a round trip.
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
    const std::optional<uint32_t> ordinal = NextCandidate();
    if (!ordinal) break;
    const absl::StatusOr<bool> offered = Offer(*ordinal, &*encoder);
    if (!offered.ok()) return offered.status();
    if (body.size() >= kPackedBytes) flush();
  }
  flush();
  return absl::OkStatus();
}

std::optional<uint32_t> Shipping::NextCandidate() {
  // A follower waits until the offers have come past a position.
  if (part_ != Part::kFollows || peer_done_offering_) {
    return candidates_.Next(std::nullopt);
  }
  return candidates_.Next(any_offer_ ? offer_position_ : 0);
}

absl::StatusOr<bool> Shipping::Offer(uint32_t ordinal, PairEncoder* encoder) {
  context_.batch->Cover(ordinal);
  Outgoing out;
  const absl::StatusOr<bool> readable = Fetch(ordinal, &out);
  if (!readable.ok() || !*readable) return readable;

  WirePair wire = AsPair(out.entry, out.value);
  out.on_request =
      !out.entry.tombstone &&
      out.value.size() > std::min(options_->inline_value_bytes, kChunkBytes);
  if (out.on_request) {
    wire.kind = WirePair::Kind::kOnRequest;
    if (wire.version == Version{}) wire.hash = out.entry.hash;
  }
  encoder->Add(wire);
  ++sent_entries_;
  awaits_answer_ = true;
  if (out.on_request &&
      cached_bytes_ + out.value.size() > options_->max_turn_bytes) {
    std::string().swap(out.value);  // an assignment would keep its memory
    out.cached = false;
  } else {
    cached_bytes_ += out.value.size();
  }
  offered_.push_back(std::move(out));
  return true;
}

absl::StatusOr<bool> Shipping::Fetch(uint32_t ordinal, Outgoing* out) {
  *out = Outgoing();  // nothing of one that was left out
  StorageSnapshot::Found found = candidates_.Find(ordinal);
  if (Unreadable(found.entry.status())) {
    ++unreadable_;
    ++context_.report->pairs_unreadable;
    return false;
  }
  if (!found.entry.ok()) return found.entry.status();
  out->entry = *std::move(found.entry);
  const absl::StatusOr<bool> readable =
      found.value ? TakeValue(*std::move(found.value), out) : FetchValue(out);
  if (!readable.ok() || !*readable || !IsOversized(*out)) return readable;
  ++oversized_;
  ++context_.report->pairs_too_large;
  context_.storage->NoteOversized(out->entry.family, out->entry.key);
  return false;
}

// Peers would refuse it too, or call the message damaged.
bool Shipping::IsOversized(const Outgoing& pair) const {
  const size_t most_key_bytes =
      pair.entry.tombstone ? kMaxKeyBytes
                           : std::min(kMaxKeyBytes, options_->max_key_bytes);
  return pair.entry.key.size() > most_key_bytes ||
         pair.value.size() > options_->max_value_bytes;
}

absl::StatusOr<bool> Shipping::FetchValue(Outgoing* out) {
  if (out->cached || out->sent > 0 || out->entry.tombstone) return true;
  return TakeValue(context_.snapshot->ReadValue(out->entry), out);
}

absl::StatusOr<bool> Shipping::TakeValue(absl::StatusOr<std::string> value,
                                         Outgoing* out) {
  if (UnreadableValue(value.status())) {
    ++unreadable_;
    ++context_.report->pairs_unreadable;
    return false;
  }
  if (!value.ok()) return value.status();
  out->value = *std::move(value);
  out->cached = true;
  return true;
}

void Shipping::CountOffered(size_t key_bytes, size_t value_bytes) {
  context_.report->key_bytes += key_bytes;
  context_.report->value_bytes += value_bytes;
  context_.report->offer_bytes -= key_bytes + value_bytes;
}

// --- Where it stands --------------------------------------------------------

bool Shipping::idle() const {
  return owed_.empty() && winners_.empty() && !begun_ &&
         candidates_.all_are_covered();
}

bool Shipping::complete() const {
  return idle() && peer_idle_ && !awaits_answer_ && offered_.empty() &&
         wanted_.empty() && chunk_bytes_ == 0;
}

bool Shipping::may_end() const {
  return idle() && wants_.empty() && wanted_.empty() && offered_.empty() &&
         chunk_bytes_ == 0;
}

}  // namespace rocksync
