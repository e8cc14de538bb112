#include "replication/protocol/session.h"

#include <algorithm>
#include <memory>

#include "replication/protocol/exchange_finish.h"
#include "replication/protocol/session_impl.h"
#include "replication/protocol/shipping.h"
#include "sketch/syndrome_decoder.h"

namespace rocksync {
namespace {

// A turn that the peer may send, whatever its own options say.
constexpr size_t kMaxReceivedTurnBytes = size_t{40} << 20;

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
    case MessageType::kClaims:
    case MessageType::kHoldings:
      return true;
    default:
      return false;
  }
}

// What may come once only keys are compared.
bool IsOfListing(MessageType type) {
  return type == MessageType::kClaims || type == MessageType::kHoldings ||
         type == MessageType::kPass || type == MessageType::kEnd;
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

}  // namespace

SessionImpl::SessionImpl(Role role, const SessionOptions& options,
                         const SessionSeed& seed, const SessionContext& context)
    : role_(role),
      options_(options),
      exchange_options_(options.exchange),
      seed_(seed),
      context_(context),
      my_turn_(role == Role::kInitiator) {
  options_.inline_value_bytes =
      std::min(options_.inline_value_bytes, kChunkBytes);
}

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
  if (enough_ && stage_ != Stage::kOver) {
    Finish(EndReason::kEnough);
    return absl::OkStatus();
  }
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
  const bool idle = stage_ == Stage::kShipping && work_->idle();
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
    case MessageType::kClaims:
    case MessageType::kHoldings:
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
  report_.why = text;
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
  if (stage_ == Stage::kOver) {
    // The peer ended the session, and whatever it owed will not come.
    if (context_.progress) context_.progress(report_);
    return absl::OkStatus();
  }
  if (work_) {
    const absl::Status status = work_->EndTurn(idle);
    if (!status.ok()) return status;
    if (stage_ == Stage::kAnswering) {
      if (!work_->may_end()) {
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
  if (keys_only_ && stage_ == Stage::kShipping && !IsOfListing(type)) {
    return Malformed(type, "only keys are compared");
  }
  switch (type) {
    case MessageType::kHello:
      return ReceiveHello(body, flags);
    case MessageType::kEnd:
      return ReceiveEnd(body);
    case MessageType::kDiffers:
      return ReceiveDiffers(body);
    case MessageType::kLocate:
      return ReceiveLocate(body, flags);
    case MessageType::kBatch:
      return ReceiveBatch(body);
    case MessageType::kSummary:
      return ReceiveSummary(body, flags);
    case MessageType::kPayload:
      return ReceivePayload(body);
    case MessageType::kEqual:
      return ReceiveEqual(body);
    case MessageType::kAbandon:
    case MessageType::kPass:
      if (!body.empty()) return Malformed(type, "too long");
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
    case MessageType::kClaims:
    case MessageType::kHoldings:
      if (stage_ == Stage::kShipping) return work_->Receive(type, body);
      return Malformed(type, "nothing is shipped now");
    case MessageType::kSetup:
    case MessageType::kConfirm:
    case MessageType::kRefusal:
    case MessageType::kAnnouncement:
    case MessageType::kAuthHello:
    case MessageType::kChallenge:
    case MessageType::kRequest:
    case MessageType::kReply:
    case MessageType::kProof:
    case MessageType::kFarewell:
    case MessageType::kHeartbeat:
      break;
  }
  return Malformed(type, "not a message of a session");
}

void BoundMemory(size_t max_bytes, size_t leaves, SessionOptions* options) {
  // What finding out which leaves differ takes. It is free again by the time
  // that a sketch of a batch is decoded, so the larger of the two counts.
  constexpr size_t kLeafBytes = 40;
  constexpr size_t kDecodingBytes = DecodingBytes(kMaxSums);
  // The sums of a sketch, and what a session takes for anything at all.
  constexpr size_t kBaseBytes = size_t{256} << 10;
  // An element of a batch, what an exchange makes of it, and what was gained.
  constexpr size_t kElementBytes = 96;
  constexpr size_t kTurnShare = 64;
  const size_t fixed =
      kBaseBytes + std::max(kLeafBytes * leaves, kDecodingBytes);
  const size_t left = max_bytes > fixed ? max_bytes - fixed : 0;
  options->max_batch_elements = std::max<size_t>(1, left / kElementBytes);
  options->max_turn_bytes =
      std::min(options->max_turn_bytes, max_bytes / kTurnShare);
}

std::unique_ptr<Session> NewSession(Role role, const SessionOptions& options,
                                    const SessionSeed& seed,
                                    const SessionContext& context) {
  return std::make_unique<SessionImpl>(role, options, seed, context);
}

}  // namespace rocksync
