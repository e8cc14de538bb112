#include "replication/session/shipping.h"

#include <tuple>
#include <utility>

namespace rocksync {

Shipping::Shipping(const RoundContext& context, const SessionOptions* options,
                   Candidates candidates)
    : context_(context),
      exact_(candidates.exact),
      one_sided_(candidates.one_sided),
      incoming_(context, options),
      values_(context, options, &incoming_),
      outgoing_(context, options, std::move(candidates.missing_there)) {}

// --- What comes -------------------------------------------------------------

absl::Status Shipping::Receive(MessageType type, std::string_view body) {
  switch (type) {
    case MessageType::kOffers:
      return ReceiveOffers(body);
    case MessageType::kWants:
      return outgoing_.ReceiveWants(body);
    case MessageType::kValues:
      return values_.ReceiveValues(body);
    case MessageType::kChunk:
      return values_.ReceiveChunk(body);
    case MessageType::kPairs:
      return ReceivePairs(body);
    default:
      return Malformed(type, "does not ship anything");
  }
}

absl::Status Shipping::ReceiveOffers(std::string_view body) {
  if (part_ == Part::kUndecided) part_ = Part::kFollows;
  if (values_.earlier_to_come()) {
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
  // Counts a value that came in the offer, wanted or not.
  context_.report->CountOffered(wanted ? pair.key.size() : 0,
                                pair.value.size());
  if (!wanted) {
    ++in_vain_;
    return absl::OkStatus();
  }
  if (pair.kind != WirePair::Kind::kOnRequest) {
    return incoming_.Take(OwnedPair(pair, std::string(pair.value)),
                          judgement->own);
  }
  values_.Await(OwnedPair(pair, ""), pair.value_size, judgement->own);
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

// Covers this side's element of that key: whatever the verdict, it need not be
// offered any more. If it beats what came, it is sent unasked, unless that
// happened before.
void Shipping::CoverOwn(const Judgement& judgement) {
  if (!judgement.own) return;
  LeafBatch* const batch = context_.batch;
  if (judgement.verdict == Verdict::kBeaten &&
      !batch->IsCovered(*judgement.own)) {
    outgoing_.AddWinner(*judgement.own, judgement.equal_versions);
  }
  batch->Cover(*judgement.own);
}

absl::Status Shipping::ReceivePairs(std::string_view body) {
  if (part_ == Part::kUndecided) part_ = Part::kFollows;
  if (body.empty()) return Malformed(MessageType::kPairs, "empty");
  PairDecoder decoder(MessageType::kPairs, body);
  while (!decoder.done()) {
    WirePair pair;
    absl::Status status = decoder.Next(&pair);
    if (status.ok()) status = ReceivePair(pair);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Shipping::ReceivePair(WirePair pair) {
  if (pair.kind == WirePair::Kind::kOnRequest) {
    return Malformed(MessageType::kPairs, "a pair without its value");
  }
  context_.report->key_bytes += pair.key.size();
  std::string value;
  const absl::Status complete = values_.Complete(&pair, &value);
  if (!complete.ok()) return complete;
  const absl::StatusOr<Judgement> judgement =
      incoming_.Judge(MessageType::kPairs, pair);
  if (!judgement.ok()) return judgement.status();
  const bool covered =
      judgement->own && context_.batch->IsCovered(*judgement->own);
  CoverOwn(*judgement);
  // This side offered its pair, the peer answered with its own of the same
  // version, and this side's beats it.
  if (covered && judgement->equal_versions &&
      judgement->verdict == Verdict::kBeaten) {
    outgoing_.AddWinner(*judgement->own, /*contested=*/false);
  }
  if (judgement->verdict == Verdict::kWanted) {
    return incoming_.Take(OwnedPair(pair, std::move(value)), judgement->own);
  }
  ++context_.report->pairs_received;
  if (judgement->verdict != Verdict::kRefused) {
    ++context_.report->pairs_superseded;
  }
  return absl::OkStatus();
}

absl::Status Shipping::EndTurn(bool idle) {
  if (outgoing_.unanswered()) {
    return Malformed(MessageType::kWants, "missing: offers went unanswered");
  }
  if (idle && part_ == Part::kUndecided) part_ = Part::kFollows;
  peer_idle_ = idle;
  peer_done_offering_ |= idle;
  const absl::Status status = values_.EndTurn();
  return status.ok() ? incoming_.Apply() : status;
}

// --- What goes --------------------------------------------------------------

absl::Status Shipping::Build(Turn* turn) {
  // What the peer waits for comes first: the answer to its offers, then values
  // that it wants, and offers of this side once nothing else is owed.
  BuildWants(turn);
  const absl::Status status =
      outgoing_.Build(Terms(), /*turn_begins=*/turn->pieces() == 1, turn);
  if (part_ == Part::kUndecided && (outgoing_.entries() > 0 || idle())) {
    part_ = Part::kLeads;
  }
  return status;
}

SendMode Shipping::Terms() const {
  const bool follows = part_ == Part::kFollows;
  SendMode terms;
  terms.as_pairs =
      context_.peer_count == 0 || one_sided_ || (follows && exact_);
  // A follower sends a candidate only once the offers have passed its position.
  if (follows && !peer_done_offering_) {
    terms.before = any_offer_ ? offer_position_ : 0;
  }
  return terms;
}

void Shipping::BuildWants(Turn* turn) {
  if (wants_.empty()) return;
  std::string body;
  EncodeWants(wants_, &body);
  turn->Add(MessageType::kWants, body);
  wants_.clear();
}

// --- Where it stands --------------------------------------------------------

bool Shipping::complete() const {
  return idle() && peer_idle_ && !outgoing_.awaits_answer() &&
         !outgoing_.unanswered() && values_.none_to_come();
}

bool Shipping::may_end() const {
  return idle() && wants_.empty() && !outgoing_.unanswered() &&
         values_.none_to_come();
}

}  // namespace rocksync
