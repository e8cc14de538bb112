#include "replication/protocol/session.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/protocol/location.h"
#include "replication/protocol/messages.h"
#include "replication/protocol/shipping.h"
#include "replication/protocol/span.h"
#include "replication/protocol/turn.h"
#include "sketch/coding.h"
#include "sketch/sha256.h"

namespace rocksync {
namespace {

// Rounds in a row that bring no candidate to light, although the digests
// differ. A filter of rate 1/2 hides one difference so often with probability
// 2^-20. If a side has refused something, one such round is enough.
constexpr uint32_t kMaxIdleRounds = 20;
// A turn that the peer may send, whatever its own options say.
constexpr size_t kMaxReceivedTurnBytes = size_t{40} << 20;
// An exchange takes no more.
constexpr uint64_t kMaxExchangeElements = uint64_t{1} << 24;

MappingSeed DeriveSeed(const SessionSeed& seed, uint64_t exchange) {
  std::string numbers;
  PutFixed64(&numbers, seed.session_number);
  PutFixed64(&numbers, exchange);
  return Sha256({"rocksync exchange", AsPiece(seed.dialer_nonce),
                 AsPiece(seed.listener_nonce), numbers});
}

std::vector<uint32_t> AllLeaves() {
  std::vector<uint32_t> leaves(kLeafCount);
  std::iota(leaves.begin(), leaves.end(), 0);
  return leaves;
}

bool MayCarryIdle(MessageType type) {
  switch (type) {
    case MessageType::kPass:
    case MessageType::kDiffers:
    case MessageType::kPayload:
    case MessageType::kOffers:
    case MessageType::kWants:
    case MessageType::kValues:
    case MessageType::kChunk:
    case MessageType::kPairs:
      return true;
    default:
      return false;
  }
}

uint8_t KnownFlags(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return kFlagPreferRoundTrips | kFlagHelloExtended;
    case MessageType::kLocate:
      return kFlagEverything;
    case MessageType::kSummary:
      return kFlagTotal | kFlagUnsettled;
    default:
      return MayCarryIdle(type) ? kFlagIdle : 0;
  }
}

class SessionImpl final : public Session {
 public:
  SessionImpl(Role role, const SessionOptions& options, const SessionSeed& seed,
              const SessionContext& context)
      : role_(role),
        options_(options),
        exchange_options_(options.exchange),
        seed_(seed),
        context_(context),
        my_turn_(role == Role::kInitiator) {
    options_.inline_value_bytes =
        std::min(options_.inline_value_bytes, kChunkBytes);
  }

  bool NextMessage(std::string* out) override;
  absl::Status Receive(std::string_view message) override;
  bool done() const override {
    return stage_ == Stage::kOver && (!turn_ || turn_->empty());
  }
  absl::Status status() const override { return status_; }
  const SessionReport& report() const override { return report_; }

 private:
  enum class Stage : uint8_t {
    kOpening,     // nothing has been said
    kAnswering,   // the peer summarised, this side answers in its turn
    kAwaiting,    // this side summarised, the peer answers in its turn
    kExchanging,  // an exchange runs, over a span or over the leaves
    kShipping,    // pairs go both ways
    kChoosing,    // whoever has the turn opens the next span
    kOver,
  };
  // What a summary is of.
  enum class Scope : uint8_t {
    kHello,  // the whole set, at the beginning
    kTotal,  // the whole set, after spans
    kSpan,   // the leaves of the span, which may be all of them
  };

  // Turns.
  absl::Status BuildTurn();
  void CloseTurn();
  absl::Status EndPeerTurn(MessageType last, bool idle);
  void CountBytes(std::string_view message);
  void Fail(const absl::Status& status);
  void Finish(EndReason reason, std::string_view text = "");

  // Opening.
  absl::Status TakeSnapshot();
  absl::Status Open();
  absl::Status ReceiveHello(std::string_view body, uint8_t flags);

  // Summaries and answers.
  absl::Status Answer();
  absl::Status AnswerHello();
  absl::Status AnswerTotal();
  absl::Status AnswerSpan();
  absl::Status AnswerRound();
  absl::Status Differ();
  void Locate();
  absl::Status Summarise(Scope scope);
  absl::Status ReceiveEqual();
  absl::Status ReceiveAbandon();
  absl::Status ReceiveDiffers(std::string_view body);
  absl::Status ReceiveLocate(std::string_view body, uint8_t flags);
  absl::Status ReceiveSpan(std::string_view body);
  absl::Status ReceiveSummary(std::string_view body, uint8_t flags);
  absl::Status ReceiveEnd(std::string_view body);
  absl::Status Prove();
  absl::Status MakeDurable();
  bool Expired() const;

  // Spans and rounds.
  absl::Status Choose();
  void Propose();
  absl::Status LoadSpan();
  void SettleSpan(const Digest& merged);
  bool whole() const { return !locating_; }
  Digest SpanDigest() const {
    return span_ ? span_->merged() : location_->Sum(leaves_);
  }
  void BeginExchange(Role role, std::span<const ElementHash> mine,
                     uint64_t peer_count, bool over_leaves);
  absl::Status ReceivePayload(std::string_view body);
  void RunExchange();
  void TakeResult();
  void FinishExchange(std::vector<uint32_t> missing_there, bool exact);
  absl::Status Ship();
  void EndRound();

  // Dispatch.
  absl::Status ReceiveMessage(MessageType type, uint8_t flags,
                              std::string_view body);
  absl::Status ReceiveInStage(MessageType type, uint8_t flags,
                              std::string_view body);

  const Role role_;
  SessionOptions options_;
  ExchangeOptions exchange_options_;
  const SessionSeed seed_;
  const SessionContext context_;
  SessionReport report_;
  absl::Status status_;

  Stage stage_ = Stage::kOpening;
  bool my_turn_;
  std::optional<Turn> turn_;
  size_t peer_turn_bytes_ = 0;
  bool passed_ = false;  // this side had nothing to say in its last turn

  uint64_t started_ms_ = 0;
  std::unique_ptr<StorageSnapshot> snapshot_;
  std::optional<Location> location_;
  bool locating_ = false;                 // span by span
  bool abandoned_ = false;                // some span differs for good
  std::optional<uint64_t> synced_pairs_;  // received before the last Sync
  uint32_t locations_ = 0;
  uint64_t peer_total_ = 0;

  Scope scope_ = Scope::kHello;
  Digest peer_digest_;  // what the peer summarised
  bool peer_unsettled_ = false;
  std::vector<uint32_t> leaves_;  // of the span that is open
  std::optional<Span> span_;      // loaded once it is known to differ
  uint64_t peer_count_ = 0;       // of the peer in the span
  bool unsettled_ = false;        // this side, in this span
  uint32_t span_rounds_ = 0;
  uint32_t idle_rounds_ = 0;

  std::unique_ptr<Exchange> exchange_;
  bool exchange_over_leaves_ = false;
  uint64_t exchanges_ = 0;
  std::optional<Shipping> shipping_;
};

// --- Turns ------------------------------------------------------------------

bool SessionImpl::NextMessage(std::string* out) {
  out->clear();
  if (!turn_) {
    if (!my_turn_ || stage_ == Stage::kOver) return false;
    turn_.emplace(options_.max_turn_bytes);
    const absl::Status status = BuildTurn();
    if (!status.ok()) Fail(status);
    if (stage_ == Stage::kOver && turn_->empty()) return false;
    CloseTurn();
  }
  if (!turn_->Pop(out)) return false;
  report_.bytes_sent += out->size();
  CountBytes(*out);
  if (turn_->empty()) {
    turn_.reset();
    my_turn_ = false;
    if (role_ == Role::kInitiator) ++report_.round_trips;
    if (context_.progress) context_.progress(report_);
  }
  return true;
}

absl::Status SessionImpl::BuildTurn() {
  while (true) {
    absl::Status status;
    switch (stage_) {
      case Stage::kOpening:
        return Open();
      case Stage::kAnswering:
        status = Answer();
        break;
      case Stage::kChoosing:
        return Choose();
      case Stage::kExchanging:
        RunExchange();
        if (stage_ == Stage::kExchanging) return absl::OkStatus();
        break;
      case Stage::kShipping:
        return Ship();
      case Stage::kAwaiting:
      case Stage::kOver:
        return absl::OkStatus();
    }
    if (!status.ok()) return status;
  }
}

void SessionImpl::CloseTurn() {
  const bool idle = stage_ == Stage::kShipping && shipping_->idle();
  passed_ = turn_->empty();
  if (turn_->empty() || (idle && !MayCarryIdle(turn_->last_type()))) {
    turn_->Add(MessageType::kPass, "");
  }
  turn_->Close(idle ? kFlagIdle : 0);
}

void SessionImpl::CountBytes(std::string_view message) {
  switch (static_cast<MessageType>(message[0] & kTypeMask)) {
    case MessageType::kPayload:
      report_.filter_bytes += message.size();
      break;
    case MessageType::kOffers:
    case MessageType::kWants:
      report_.offer_bytes += message.size();
      break;
    case MessageType::kValues:
    case MessageType::kChunk:
    case MessageType::kPairs:
      report_.pair_bytes += message.size();
      break;
    default:
      break;
  }
}

// The peer is told that the session failed, but not the details, unless the
// initiator fails before the peer knows of a session.
void SessionImpl::Fail(const absl::Status& status) {
  status_ = status;
  const bool opened = stage_ != Stage::kOpening || role_ == Role::kResponder;
  stage_ = Stage::kOver;
  turn_.emplace(options_.max_turn_bytes);
  if (!opened) return;
  std::string body;
  EncodeEnd({EndReason::kFailed, absl::StatusCodeToString(status.code())},
            &body);
  turn_->Add(MessageType::kEnd, body);
}

void SessionImpl::Finish(EndReason reason, std::string_view text) {
  std::string body;
  EncodeEnd({reason, std::string(text)}, &body);
  turn_->Add(MessageType::kEnd, body);
  stage_ = Stage::kOver;
  report_.expired |= reason == EndReason::kExpired;
  report_.unsettled |= reason == EndReason::kUnsettled;
  report_.busy |= reason == EndReason::kBusy;
  if (reason == EndReason::kGaveUp) {
    status_ = absl::ResourceExhaustedError(
        "gave up: the digests still differ after many rounds");
  }
}

absl::Status SessionImpl::Receive(std::string_view message) {
  if (!status_.ok()) return status_;
  absl::Status status;
  if (my_turn_ || stage_ == Stage::kOver) {
    status = absl::InvalidArgumentError("a message out of turn");
  } else if (message.empty()) {
    status = absl::InvalidArgumentError("an empty message");
  } else {
    const auto head = static_cast<uint8_t>(message[0]);
    report_.bytes_received += message.size();
    CountBytes(message);
    peer_turn_bytes_ += message.size();
    const auto type = static_cast<MessageType>(head & kTypeMask);
    const auto flags = static_cast<uint8_t>(head & ~(kTypeMask | kLastOfTurn));
    status = ReceiveMessage(type, flags, message.substr(1));
    if (status.ok() && (head & kLastOfTurn) != 0) {
      status =
          EndPeerTurn(type, (flags & kFlagIdle) != 0 && MayCarryIdle(type));
    } else if (status.ok() && (flags & kFlagIdle) != 0 && MayCarryIdle(type)) {
      status = Malformed(type, "idle before the end of the turn");
    }
  }
  if (!status.ok()) {
    status_ = status;
    stage_ = Stage::kOver;
  }
  return status;
}

absl::Status SessionImpl::EndPeerTurn(MessageType last, bool idle) {
  const bool passed =
      last == MessageType::kPass && peer_turn_bytes_ == 1 && !idle;
  peer_turn_bytes_ = 0;
  if (role_ == Role::kResponder) ++report_.round_trips;
  if (shipping_) {
    const absl::Status status = shipping_->EndTurn(idle);
    if (!status.ok()) return status;
    if (stage_ == Stage::kAnswering) {
      if (!shipping_->may_end()) {
        return Malformed(MessageType::kSummary, "before all was sent");
      }
      EndRound();
    }
  } else if (idle) {
    return Malformed(last, "idle, but nothing is shipped");
  }
  if (passed && passed_) return Malformed(last, "neither side goes on");
  if (stage_ == Stage::kAwaiting) return Malformed(last, "no answer");
  if (stage_ == Stage::kOpening) return Malformed(last, "no hello");
  my_turn_ = stage_ != Stage::kOver;
  if (context_.progress) context_.progress(report_);
  return absl::OkStatus();
}

// --- Opening ----------------------------------------------------------------

absl::Status SessionImpl::TakeSnapshot() {
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> snapshot =
      context_.storage->TakeSnapshot(context_.cancelled);
  if (!snapshot.ok()) return snapshot.status();
  snapshot_ = *std::move(snapshot);
  started_ms_ = context_.now_ms();
  location_.emplace(snapshot_->LeafDigests());
  report_.elements = location_->total().count;
  return absl::OkStatus();
}

absl::Status SessionImpl::Open() {
  const absl::Status status = TakeSnapshot();
  if (!status.ok()) return status;
  Hello hello;
  hello.digest = location_->total();
  hello.prefer_round_trips = exchange_options_.prefer == Prefer::kRoundTrips;
  hello.bloom = exchange_options_.mode == ExchangeMode::kBloom;
  if (hello.bloom) {
    const double rate = exchange_options_.false_positive_rate * 65536;
    hello.false_positive_rate =
        static_cast<uint16_t>(std::clamp(std::lround(rate), 1l, 65535l));
    exchange_options_.false_positive_rate = hello.false_positive_rate / 65536.0;
  }
  hello.spans = hello.digest.count > options_.max_span_elements;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  turn_->Add(MessageType::kHello, body, flags);
  scope_ = Scope::kHello;
  stage_ = Stage::kAwaiting;
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveHello(std::string_view body, uint8_t flags) {
  if (role_ != Role::kResponder || stage_ != Stage::kOpening) {
    return Malformed(MessageType::kHello, "in the middle of a session");
  }
  Hello hello;
  const absl::Status status = DecodeHello(body, flags, &hello);
  if (!status.ok()) return status;
  // The initiator's wishes bind both sides.
  exchange_options_.prefer =
      hello.prefer_round_trips ? Prefer::kRoundTrips : Prefer::kBytes;
  exchange_options_.mode =
      hello.bloom ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  if (hello.bloom) {
    exchange_options_.false_positive_rate = hello.false_positive_rate / 65536.0;
  }
  peer_digest_ = hello.digest;
  peer_total_ = hello.digest.count;
  locating_ = hello.spans || peer_total_ > options_.max_span_elements;
  scope_ = Scope::kHello;
  stage_ = Stage::kAnswering;
  return absl::OkStatus();
}

// --- Summaries and answers --------------------------------------------------

absl::Status SessionImpl::Answer() {
  switch (scope_) {
    case Scope::kHello:
      return AnswerHello();
    case Scope::kTotal:
      return AnswerTotal();
    case Scope::kSpan:
      return span_ ? AnswerRound() : AnswerSpan();
  }
  return absl::InternalError("unreachable");
}

absl::Status SessionImpl::AnswerHello() {
  if (context_.busy) {
    Finish(EndReason::kBusy);
    return absl::OkStatus();
  }
  const absl::Status status = TakeSnapshot();
  if (absl::IsUnavailable(status)) {
    const absl::string_view text = status.message();
    Finish(EndReason::kUnavailable, std::string_view(text.data(), text.size()));
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  const Digest& mine = location_->total();
  if (mine == peer_digest_) {
    report_.elements_compared += mine.count;
    turn_->Add(MessageType::kEqual, "");
    return Prove();
  }
  locating_ |= mine.count > options_.max_span_elements;
  if (locating_) {
    Locate();
    return absl::OkStatus();
  }
  leaves_ = AllLeaves();
  return Differ();
}

absl::Status SessionImpl::AnswerTotal() {
  if (location_->total() == peer_digest_ && !abandoned_) {
    turn_->Add(MessageType::kEqual, "");
    return Prove();
  }
  if (!location_->NextSpan(peer_total_, options_.max_span_elements).empty()) {
    stage_ = Stage::kChoosing;  // this side found more
  } else if (abandoned_) {
    Finish(EndReason::kUnsettled);
  } else if (Expired()) {
    Finish(EndReason::kExpired);
  } else if (locations_ > options_.max_rounds) {
    Finish(EndReason::kGaveUp);
  } else {
    Locate();
  }
  return absl::OkStatus();
}

// The peer opened a span.
absl::Status SessionImpl::AnswerSpan() {
  const Digest mine = SpanDigest();
  if (mine == peer_digest_) {
    turn_->Add(MessageType::kEqual, "");
    SettleSpan(mine);
    return absl::OkStatus();
  }
  const size_t proposed = leaves_.size();
  leaves_ = location_->Narrow(std::move(leaves_), peer_digest_.count,
                              options_.max_span_elements);
  if (leaves_.size() == proposed) return Differ();
  Propose();  // too much for this side: fewer of these leaves
  return absl::OkStatus();
}

// A round of the span is over.
absl::Status SessionImpl::AnswerRound() {
  const Digest mine = span_->merged();
  if (mine == peer_digest_) {
    turn_->Add(MessageType::kEqual, "");
    if (whole()) return Prove();
    SettleSpan(mine);
    return absl::OkStatus();
  }
  if ((unsettled_ || peer_unsettled_) && idle_rounds_ > 0) {
    if (whole()) {
      Finish(EndReason::kUnsettled);
    } else {
      turn_->Add(MessageType::kAbandon, "");
      abandoned_ = true;
      SettleSpan(mine);
    }
    return absl::OkStatus();
  }
  if (idle_rounds_ >= kMaxIdleRounds || span_rounds_ >= options_.max_rounds) {
    Finish(EndReason::kGaveUp);
    return absl::OkStatus();
  }
  if (Expired()) {
    Finish(EndReason::kExpired);
    return absl::OkStatus();
  }
  span_->Compact();
  return Differ();
}

absl::Status SessionImpl::Differ() {
  if (peer_digest_.count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError("the peer's part is too large");
  }
  if (!span_) {
    const absl::Status status = LoadSpan();
    if (!status.ok()) return status;
  }
  std::string body;
  EncodeCount(span_->hashes().size(), &body);
  turn_->Add(MessageType::kDiffers, body);
  scope_ = Scope::kSpan;
  peer_count_ = peer_digest_.count;
  BeginExchange(Role::kInitiator, span_->hashes(), peer_count_, false);
  return absl::OkStatus();
}

void SessionImpl::Locate() {
  const uint64_t mine = location_->total().count;
  const bool everything =
      scope_ == Scope::kHello && (mine == 0 || peer_total_ == 0);
  std::string body;
  EncodeCount(mine, &body);
  turn_->Add(MessageType::kLocate, body, everything ? kFlagEverything : 0);
  ++locations_;
  if (!everything) {
    const std::span<const ElementHash> elements = location_->Elements();
    BeginExchange(Role::kInitiator, elements, elements.size(), true);
    return;
  }
  location_->FoundAll();
  scope_ = Scope::kTotal;
  stage_ = mine == 0 ? Stage::kAwaiting : Stage::kChoosing;
}

absl::Status SessionImpl::Summarise(Scope scope) {
  const absl::Status status = MakeDurable();
  if (!status.ok()) return status;
  uint8_t flags = scope == Scope::kTotal ? kFlagTotal : 0;
  if (scope == Scope::kSpan && unsettled_) flags |= kFlagUnsettled;
  std::string body;
  EncodeDigest(scope == Scope::kTotal ? location_->total() : SpanDigest(),
               &body);
  turn_->Add(MessageType::kSummary, body, flags);
  scope_ = scope;
  stage_ = Stage::kAwaiting;
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveEqual() {
  if (stage_ != Stage::kAwaiting) {
    return Malformed(MessageType::kEqual, "nothing was summarised");
  }
  if (scope_ == Scope::kHello) {
    report_.elements_compared += location_->total().count;
  }
  if (scope_ != Scope::kSpan || whole()) return Prove();
  SettleSpan(SpanDigest());
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveAbandon() {
  if (stage_ != Stage::kAwaiting || scope_ != Scope::kSpan || whole() ||
      !span_) {
    return Malformed(MessageType::kAbandon, "no round of a span is over");
  }
  abandoned_ = true;
  SettleSpan(SpanDigest());
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveDiffers(std::string_view body) {
  if (stage_ != Stage::kAwaiting || scope_ == Scope::kTotal) {
    return Malformed(MessageType::kDiffers, "no span was summarised");
  }
  absl::Status status = DecodeCount(MessageType::kDiffers, body, &peer_count_);
  if (!status.ok()) return status;
  if (peer_count_ / 4 > options_.max_span_elements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the peer compares ", peer_count_,
        " elements at once; set max_span_elements alike on both sides"));
  }
  if (scope_ == Scope::kHello) {
    peer_total_ = peer_count_;
    leaves_ = AllLeaves();
    scope_ = Scope::kSpan;
  }
  if (span_) {
    span_->Compact();
  } else {
    status = LoadSpan();
    if (!status.ok()) return status;
  }
  BeginExchange(Role::kResponder, span_->hashes(), peer_count_, false);
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveLocate(std::string_view body, uint8_t flags) {
  if (stage_ != Stage::kAwaiting || scope_ == Scope::kSpan) {
    return Malformed(MessageType::kLocate, "the whole was not summarised");
  }
  const bool everything = (flags & kFlagEverything) != 0;
  if (everything && scope_ != Scope::kHello) {
    return Malformed(MessageType::kLocate, "too late for everything");
  }
  const absl::Status status =
      DecodeCount(MessageType::kLocate, body, &peer_total_);
  if (!status.ok()) return status;
  locating_ = true;
  ++locations_;
  if (everything) {
    location_->FoundAll();
    stage_ = Stage::kChoosing;
    return absl::OkStatus();
  }
  const std::span<const ElementHash> elements = location_->Elements();
  BeginExchange(Role::kResponder, elements, elements.size(), true);
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveSpan(std::string_view body) {
  const bool narrower =
      stage_ == Stage::kAwaiting && scope_ == Scope::kSpan && !span_;
  if (!locating_ ||
      !(narrower || stage_ == Stage::kChoosing ||
        (stage_ == Stage::kAwaiting && scope_ == Scope::kTotal))) {
    return Malformed(MessageType::kSpan, "the one before is not over");
  }
  SpanHead head;
  const absl::Status status = DecodeSpan(body, &head);
  if (!status.ok()) return status;
  if (narrower && head.leaves.size() >= leaves_.size()) {
    return Malformed(MessageType::kSpan, "not narrower than the one proposed");
  }
  for (const uint32_t leaf : head.leaves) {
    if (location_->IsSettled(leaf)) {
      return Malformed(MessageType::kSpan, "a leaf that is settled");
    }
  }
  leaves_ = std::move(head.leaves);
  peer_digest_ = head.digest;
  scope_ = Scope::kSpan;
  stage_ = Stage::kAnswering;
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveSummary(std::string_view body, uint8_t flags) {
  const bool total = (flags & kFlagTotal) != 0;
  if (total ? stage_ != Stage::kChoosing || !locating_
            : stage_ != Stage::kShipping) {
    return Malformed(MessageType::kSummary, "nothing is over");
  }
  const absl::Status status = DecodeSummary(body, &peer_digest_);
  if (!status.ok()) return status;
  peer_unsettled_ = (flags & kFlagUnsettled) != 0;
  scope_ = total ? Scope::kTotal : Scope::kSpan;
  stage_ = Stage::kAnswering;
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveEnd(std::string_view body) {
  if (stage_ == Stage::kOpening) {
    return Malformed(MessageType::kEnd, "before the hello");
  }
  End end;
  const absl::Status status = DecodeEnd(body, &end);
  if (!status.ok()) return status;
  stage_ = Stage::kOver;
  switch (end.reason) {
    case EndReason::kBusy:
      report_.busy = true;
      break;
    case EndReason::kExpired:
      report_.expired = true;
      break;
    case EndReason::kUnsettled:
      report_.unsettled = true;
      break;
    case EndReason::kUnavailable:
      status_ = absl::UnavailableError(
          absl::StrCat("the peer cannot compare now: ", end.text));
      break;
    case EndReason::kGaveUp:
      status_ = absl::ResourceExhaustedError(
          "the peer gave up: the digests still differ after many rounds");
      break;
    case EndReason::kFailed:
      status_ = absl::AbortedError(
          absl::StrCat("the peer's storage failed: ", end.text));
      break;
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::Prove() {
  const absl::Status status = MakeDurable();
  if (!status.ok()) return status;
  report_.proven_equal = true;
  report_.merged = scope_ == Scope::kSpan ? SpanDigest() : location_->total();
  stage_ = Stage::kOver;
  return absl::OkStatus();
}

// What a proof says this side holds is durable: the snapshot, what was applied,
// and what superseded a pair that came.
absl::Status SessionImpl::MakeDurable() {
  if (synced_pairs_ == report_.pairs_received) return absl::OkStatus();
  synced_pairs_ = report_.pairs_received;
  return context_.storage->Sync();
}

bool SessionImpl::Expired() const {
  return context_.now_ms() - started_ms_ > options_.max_snapshot_age_ms;
}

// --- Spans and rounds -------------------------------------------------------

absl::Status SessionImpl::Choose() {
  if (Expired()) {
    Finish(EndReason::kExpired);
    return absl::OkStatus();
  }
  leaves_ = location_->NextSpan(peer_total_, options_.max_span_elements);
  if (leaves_.empty()) return Summarise(Scope::kTotal);
  Propose();
  return absl::OkStatus();
}

void SessionImpl::Propose() {
  std::string body;
  EncodeSpan({leaves_, location_->Sum(leaves_)}, &body);
  turn_->Add(MessageType::kSpan, body);
  scope_ = Scope::kSpan;
  stage_ = Stage::kAwaiting;
}

absl::Status SessionImpl::LoadSpan() {
  const Digest& all = location_->total();
  if (all.count > kMaxExchangeElements &&
      location_->Sum(leaves_).count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError("one leaf is too large to compare");
  }
  absl::StatusOr<Span> span =
      Span::Load(*snapshot_, leaves_, context_.cancelled);
  if (!span.ok()) return span.status();
  span_.emplace(*std::move(span));
  report_.elements_compared += span_->hashes().size();
  ++report_.spans;
  span_rounds_ = 0;
  idle_rounds_ = 0;
  unsettled_ = false;
  return absl::OkStatus();
}

void SessionImpl::SettleSpan(const Digest& merged) {
  location_->Settle(leaves_, merged);
  leaves_.clear();
  span_.reset();
  stage_ = Stage::kChoosing;
}

void SessionImpl::BeginExchange(Role role, std::span<const ElementHash> mine,
                                uint64_t peer_count, bool over_leaves) {
  exchange_over_leaves_ = over_leaves;
  if (!over_leaves) ++span_rounds_;
  if (mine.empty() || peer_count == 0) {  // both sides know the answer
    std::vector<uint32_t> all(mine.size());
    std::iota(all.begin(), all.end(), 0);
    FinishExchange(std::move(all), true);
    return;
  }
  ++report_.rounds;
  exchange_ = NewExchange(role, exchange_options_,
                          DeriveSeed(seed_, exchanges_++), mine, peer_count);
  stage_ = Stage::kExchanging;
}

absl::Status SessionImpl::ReceivePayload(std::string_view body) {
  if (stage_ != Stage::kExchanging) {
    return Malformed(MessageType::kPayload, "no exchange is running");
  }
  const absl::Status status = exchange_->Receive(body);
  if (!status.ok()) return status;
  if (exchange_->done()) TakeResult();
  return absl::OkStatus();
}

void SessionImpl::RunExchange() {
  std::string payload;
  while (!turn_->full() && exchange_->NextPayload(&payload)) {
    turn_->Add(MessageType::kPayload, payload);
    payload.clear();
  }
  if (exchange_->done()) TakeResult();
}

void SessionImpl::TakeResult() {
  const std::unique_ptr<Exchange> exchange = std::move(exchange_);
  const ExchangeReport& report = exchange->report();
  if (!report.plan.empty()) report_.plan = report.plan;
  FinishExchange(exchange->missing_there(), report.finish_bytes > 0);
}

void SessionImpl::FinishExchange(std::vector<uint32_t> missing_there,
                                 bool exact) {
  if (exchange_over_leaves_) {
    location_->Found(missing_there);
    stage_ = Stage::kChoosing;
    return;
  }
  ShippingContext context;
  context.storage = context_.storage;
  context.snapshot = snapshot_.get();
  context.span = &*span_;
  context.cancelled = &context_.cancelled;
  context.options = &options_;
  context.report = &report_;
  context.peer_count = peer_count_;
  context.exact = exact;
  shipping_.emplace(context, std::move(missing_there));
  stage_ = Stage::kShipping;
}

absl::Status SessionImpl::Ship() {
  const absl::Status status = shipping_->Build(&*turn_);
  if (!status.ok() || !shipping_->complete()) return status;
  EndRound();
  return Summarise(Scope::kSpan);
}

void SessionImpl::EndRound() {
  unsettled_ |= shipping_->unsettled();
  idle_rounds_ = shipping_->entries() > 0 ? 0 : idle_rounds_ + 1;
  shipping_.reset();
}

// --- Dispatch ---------------------------------------------------------------

absl::Status SessionImpl::ReceiveMessage(MessageType type, uint8_t flags,
                                         std::string_view body) {
  if ((flags & ~KnownFlags(type)) != 0) {
    return Malformed(type, "unknown flags");
  }
  if (peer_turn_bytes_ > kMaxReceivedTurnBytes) {
    return Malformed(type, "a turn that is too long");
  }
  if (stage_ == Stage::kAnswering) {
    return Malformed(type, "after a summary");
  }
  return ReceiveInStage(type, flags, body);
}

absl::Status SessionImpl::ReceiveInStage(MessageType type, uint8_t flags,
                                         std::string_view body) {
  switch (type) {
    case MessageType::kHello:
      return ReceiveHello(body, flags);
    case MessageType::kEnd:
      return ReceiveEnd(body);
    case MessageType::kDiffers:
      return ReceiveDiffers(body);
    case MessageType::kLocate:
      return ReceiveLocate(body, flags);
    case MessageType::kSpan:
      return ReceiveSpan(body);
    case MessageType::kSummary:
      return ReceiveSummary(body, flags);
    case MessageType::kPayload:
      return ReceivePayload(body);
    case MessageType::kEqual:
    case MessageType::kAbandon:
    case MessageType::kPass:
      if (!body.empty()) return Malformed(type, "too long");
      if (type == MessageType::kEqual) return ReceiveEqual();
      if (type == MessageType::kAbandon) return ReceiveAbandon();
      if (stage_ == Stage::kExchanging || stage_ == Stage::kShipping) {
        return absl::OkStatus();
      }
      return Malformed(type, "nothing is going on");
    case MessageType::kOffers:
    case MessageType::kWants:
    case MessageType::kValues:
    case MessageType::kChunk:
    case MessageType::kPairs:
      if (stage_ == Stage::kShipping) return shipping_->Receive(type, body);
      return Malformed(type, "nothing is shipped now");
    case MessageType::kSetup:
    case MessageType::kConfirm:
    case MessageType::kRefusal:
      break;
  }
  return Malformed(type, "not a message of a session");
}

}  // namespace

std::unique_ptr<Session> NewSession(Role role, const SessionOptions& options,
                                    const SessionSeed& seed,
                                    const SessionContext& context) {
  return std::make_unique<SessionImpl>(role, options, seed, context);
}

}  // namespace rocksync
