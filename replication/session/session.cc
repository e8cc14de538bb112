#include "replication/session/session.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "replication/reconcile/exchange_sketch.h"
#include "replication/session/comparison.h"
#include "replication/session/messages.h"
#include "replication/session/opening.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"
#include "replication/text/storage_errors.h"

namespace rocksync {
namespace {

// The most bytes of a turn that are accepted, whatever the peer's own options
// say. What the peer ships is not counted: it is applied as it comes, and
// bounded by the number of entries allowed.
constexpr size_t kMaxReceivedTurnBytes = size_t{40} << 20;

MessageType TypeOf(std::string_view message) {
  return static_cast<MessageType>(message[0] & kTypeMask);
}

bool IsShipped(MessageType type) {
  return type >= MessageType::kValues && type <= MessageType::kPairs;
}

bool MayCarryIdle(MessageType type) {
  return type == MessageType::kPass || type == MessageType::kDiffers ||
         type == MessageType::kPayload || IsOfWork(type);
}

uint8_t KnownFlags(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return kFlagPreferRoundTrips | kFlagHelloExtended;
    case MessageType::kLocate:
      return kFlagEverything | kFlagSearch;
    case MessageType::kDiffers:
      return kFlagIdle | kFlagFailed;
    case MessageType::kLeafBatch:
      return kFlagPureLeaves;
    case MessageType::kSummary:
      return kFlagTotal | kFlagRefused;
    default:
      return MayCarryIdle(type) ? kFlagIdle : 0;
  }
}

// Returns why a message of this type cannot come now.
std::string_view WhyNotNow(MessageType type) {
  switch (type) {
    case MessageType::kHello:
      return "in the middle of a session";
    case MessageType::kEqual:
      return "not in answer to a summary of everything";
    case MessageType::kDiffers:
      return "not in answer to a summary of a batch";
    case MessageType::kLocate:
      return "not in answer to Hello or a summary of everything";
    case MessageType::kLeafBatch:
      return "the batch before is still open";
    case MessageType::kSummary:
      return "no round has ended";
    case MessageType::kPayload:
      return "no exchange is running";
    case MessageType::kPass:
      return "no exchange and no shipping is in progress";
    case MessageType::kAbandon:
      return "no round of a batch has ended";
    case MessageType::kEnd:
      return "before the hello";
    default:
      return IsOfWork(type) ? "no shipping is in progress"
                            : "not a message of a session";
  }
}

// Returns what the peer is told of a failure of storage: the kind, no details.
std::string KindOf(const absl::Status& status) {
  if (status.GetPayload(kNoSpacePayload)) return kNoSpaceThere;
  std::string kind = absl::StatusCodeToString(status.code());
  if (absl::IsDataLoss(status)) kind = "corruption";
  if (absl::IsInternal(status)) kind = "IO error";
  return kind + "; its log and `rocksync status` of it say why";
}

// Returns the End that tells the peer of a status that is Unavailable.
End CannotCompare(const absl::Status& status) {
  return {IsIndexBuildError(status) ? EndReason::kIndexBuild
                                    : EndReason::kUnavailable,
          std::string(status.message())};
}

constexpr char kIOErrorRemedy[] =
    "remove the cause, and restart this replica if it takes no writes";

// Marks an error of this replica's storage as such, so that an operator who
// reads it beside the peer's name does not take it for the peer's. Returns
// other errors unchanged: what the peer did wrong, and what is no fault of
// storage (an index build).
absl::Status NameWhose(const absl::Status& status) {
  const bool full = status.GetPayload(kNoSpacePayload).has_value();
  if (!full && !absl::IsInternal(status) && !absl::IsDataLoss(status)) {
    return status;
  }
  absl::string_view text = status.message();
  for (const absl::string_view kind : {"IO error: ", "Corruption: "}) {
    if (absl::ConsumePrefix(&text, kind)) break;
  }
  // Some messages name a remedy already.
  const bool has_remedy = full || absl::StrContains(text, "rocksync: ");
  const char* const remedy =
      absl::IsDataLoss(status) ? kCorruptionRemedy : kIOErrorRemedy;
  absl::Status named(
      status.code(),
      absl::StrCat("this replica's storage failed: ", text,
                   has_remedy ? "" : "; ", has_remedy ? "" : remedy));
  if (full) named.SetPayload(kNoSpacePayload, absl::Cord());
  return named;
}

// Decides whose turn it is, what a turn may hold, and how the session ends. The
// opening, and then the comparison, decide what is said in the turns.
class SessionImpl final : public Session {
 public:
  SessionImpl(Role role, const SessionOptions& options, const SessionSeed& seed,
              const SessionContext& context)
      : role_(role),
        options_(options),
        context_(context),
        my_turn_(role == Role::kInitiator),
        opening_({&context_, &options_, &report_}, seed) {}

  bool NextMessage(std::string* out) override;
  void ReadAhead() override {
    if (comparison_ && !over() && !my_turn_) comparison_->ReadAhead();
  }
  absl::Status Receive(std::string_view message) override;
  absl::Status CheckWhileWaiting() override;
  bool done() const override { return over() && (!turn_ || turn_->empty()); }
  absl::Status status() const override { return status_; }
  const SessionReport& report() const override { return report_; }

 private:
  void BuildPiece();
  absl::Status Build();
  bool MayGoOn() const;
  absl::Status Open();
  void CloseTurn();
  absl::Status ReceiveInTurn(std::string_view message);
  absl::Status ReceiveOutOfTurn(std::string_view message);
  absl::Status Dispatch(MessageType type, uint8_t flags, std::string_view body);
  absl::Status EndPeerTurn(MessageType last, bool idle);
  void CountBytes(std::string_view message);
  void ShowProgress() const {
    if (context_.progress) context_.progress(report_);
  }

  absl::Status CheckHolds() const {
    return comparison_ && !over() ? comparison_->CheckHolds()
                                  : absl::OkStatus();
  }
  void Fail(const absl::Status& status);
  // Fails in the peer's turn.
  void FailOutOfTurn(const absl::Status& status);
  void Finish(EndReason reason, std::string_view text = "");
  absl::Status ReceiveEnd(std::string_view body);
  bool over() const { return over_ || (comparison_ && comparison_->over()); }

  const Role role_;
  const SessionOptions options_;
  const SessionContext context_;
  SessionReport report_;
  absl::Status status_;

  bool my_turn_;
  std::optional<Turn> turn_;
  bool passed_ = false;  // this side had nothing to say in its last turn
  size_t peer_turn_messages_ = 0;
  size_t peer_turn_bytes_ = 0;  // without what is shipped

  SessionOpening opening_;
  std::unique_ptr<Comparison> comparison_;  // once the session is open
  bool over_ = false;  // by an End or a failure, in any stage of comparison_
};

// --- This side's turn -------------------------------------------------------

bool SessionImpl::NextMessage(std::string* out) {
  out->clear();
  if (!turn_) {
    if (!my_turn_ || over()) return false;
    turn_.emplace(options_.max_turn_bytes);
  }
  const bool begins = turn_->pieces() == 0;
  while (!turn_->Ready() && !turn_->closed() && !over()) BuildPiece();
  // Progress is shown before messages that may take long to be sent.
  if (begins && report_.bytes_received > 0) ShowProgress();
  PairBytes pairs;
  if (!turn_->Pop(out, &pairs)) return false;
  report_.bytes_sent += out->size();
  report_.key_bytes += pairs.keys;
  report_.value_bytes += pairs.values;
  if (TypeOf(*out) == MessageType::kOffers) {
    report_.unanswered_bytes += out->size();
  }
  CountBytes(*out);
  if (turn_->empty()) {
    turn_.reset();
    my_turn_ = false;
    if (role_ == Role::kInitiator) ++report_.round_trips;
    ShowProgress();
  }
  return true;
}

void SessionImpl::BuildPiece() {
  if (turn_->pieces() > 0) ShowProgress();
  turn_->BeginPiece();
  const absl::Status status = Build();
  if (!status.ok()) Fail(status);
  if ((over() && turn_->empty()) || MayGoOn()) return;
  CloseTurn();
}

bool SessionImpl::MayGoOn() const {
  return !over() && comparison_ && comparison_->more() &&
         turn_->turn_bytes() < options_.limits.max_streamed_bytes;
}

absl::Status SessionImpl::Build() {
  if (!comparison_) {
    const absl::Status status = Open();
    if (!status.ok() || over() || role_ == Role::kInitiator) return status;
  }
  const absl::Status status = comparison_->Build(&*turn_);
  if (status.ok() && comparison_->end()) Finish(*comparison_->end());
  return status;
}

absl::Status SessionImpl::Open() {
  if (role_ == Role::kResponder && context_.busy) {
    Finish(EndReason::kBusy, context_.busy_why);
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Comparison>> comparison =
      role_ == Role::kInitiator ? opening_.SendHello(&*turn_)
                                : opening_.AcceptHello();
  if (role_ == Role::kResponder && absl::IsUnavailable(comparison.status())) {
    const End end = CannotCompare(comparison.status());
    Finish(end.reason, end.text);
    return absl::OkStatus();
  }
  if (!comparison.ok()) return comparison.status();
  comparison_ = *std::move(comparison);
  return absl::OkStatus();
}

void SessionImpl::CloseTurn() {
  const bool idle = !over() && comparison_->idle();
  passed_ = turn_->empty();
  if (turn_->empty() || (idle && !MayCarryIdle(turn_->last_type()))) {
    turn_->Add(MessageType::kPass, "");
  }
  turn_->Close(idle ? kFlagIdle : 0);
}

// --- The peer's turn --------------------------------------------------------

absl::Status SessionImpl::Receive(std::string_view message) {
  if (!status_.ok()) return status_;
  const bool was_over = over();
  absl::Status status = my_turn_ && !was_over ? ReceiveOutOfTurn(message)
                                              : ReceiveInTurn(message);
  if (status.ok()) status = CheckHolds();
  if (status.ok()) return status;
  status_ = NameWhose(status);
  // The peer is not told what it did wrong. Nor is it told what goes wrong here
  // once it has said Equal of everything: to it the session is over, and the
  // next message is the Hello of another one.
  const bool peer_is_done = was_over || over();
  over_ = true;
  if (peer_is_done || absl::IsInvalidArgument(status)) return status_;
  FailOutOfTurn(status);
  return status_;
}

absl::Status SessionImpl::CheckWhileWaiting() {
  if (!status_.ok() || my_turn_) return status_;
  const absl::Status status = CheckHolds();
  if (!status.ok()) FailOutOfTurn(status);
  return status_;
}

// Out of turn the peer may only send an End: it takes no more of this turn.
absl::Status SessionImpl::ReceiveOutOfTurn(std::string_view message) {
  constexpr auto kHead =
      static_cast<char>(static_cast<uint8_t>(MessageType::kEnd) | kLastOfTurn);
  if (!comparison_ || message.empty() || message[0] != kHead) {
    return absl::InvalidArgumentError("a message out of turn");
  }
  report_.bytes_received += message.size();
  const absl::Status status = ReceiveEnd(message.substr(1));
  turn_.reset();
  my_turn_ = false;
  return status;
}

absl::Status SessionImpl::ReceiveInTurn(std::string_view message) {
  if (over()) return absl::InvalidArgumentError("a message out of turn");
  if (message.empty()) return absl::InvalidArgumentError("an empty message");
  report_.bytes_received += message.size();
  CountBytes(message);
  const auto head = static_cast<uint8_t>(message[0]);
  const auto type = static_cast<MessageType>(head & kTypeMask);
  ++peer_turn_messages_;
  if (!IsShipped(type)) peer_turn_bytes_ += message.size();
  const auto flags = static_cast<uint8_t>(head & ~(kTypeMask | kLastOfTurn));
  const absl::Status status = Dispatch(type, flags, message.substr(1));
  if (!status.ok()) return status;
  const bool idle = (flags & kFlagIdle) != 0 && MayCarryIdle(type);
  if ((head & kLastOfTurn) != 0) return EndPeerTurn(type, idle);
  if (IsShipped(type)) ShowProgress();
  return idle ? Malformed(type, "idle before the end of the turn")
              : absl::OkStatus();
}

absl::Status SessionImpl::Dispatch(MessageType type, uint8_t flags,
                                   std::string_view body) {
  if ((flags & ~KnownFlags(type)) != 0) {
    return Malformed(type, "unknown flags");
  }
  if (peer_turn_bytes_ > kMaxReceivedTurnBytes) {
    return Malformed(type, "a turn that is too long");
  }
  if ((type == MessageType::kPass || type == MessageType::kAbandon) &&
      !body.empty()) {
    return Malformed(type, "too long");
  }
  if (comparison_ ? comparison_->answering() : opening_.received_hello()) {
    return Malformed(type, "after a summary");
  }
  if (!comparison_ && type == MessageType::kHello) {
    return opening_.ReceiveHello(body, flags);
  }
  if (comparison_ && type == MessageType::kEnd) return ReceiveEnd(body);
  if (!comparison_ || !comparison_->Expects(type, flags)) {
    return Malformed(type, WhyNotNow(type));
  }
  return comparison_->Receive(type, flags, body);
}

absl::Status SessionImpl::EndPeerTurn(MessageType last, bool idle) {
  const bool passed =
      last == MessageType::kPass && peer_turn_messages_ == 1 && !idle;
  peer_turn_messages_ = 0;
  peer_turn_bytes_ = 0;
  if (role_ == Role::kResponder) ++report_.round_trips;
  if (!over()) {  // otherwise what the peer owed will not come
    if (comparison_) {
      const absl::Status status = comparison_->EndTurn(last, idle);
      if (!status.ok()) return status;
    }
    if (passed && passed_) return Malformed(last, "neither side goes on");
    my_turn_ = true;
  }
  ShowProgress();
  return absl::OkStatus();
}

void SessionImpl::CountBytes(std::string_view message) {
  switch (TypeOf(message)) {
    case MessageType::kPayload:
      report_.filter_bytes += message.size();
      break;
    case MessageType::kWants:
    case MessageType::kClaims:
    case MessageType::kHoldings:
      report_.offer_bytes += message.size();
      break;
    default:
      break;
  }
}

// --- The end ----------------------------------------------------------------

// Ends the session with an error. The peer is told that the session failed, but
// not the details, unless the initiator fails before the peer knows of a
// session.
void SessionImpl::Fail(const absl::Status& status) {
  status_ = NameWhose(status);
  report_.index_build |= IsIndexBuildError(status);
  const bool opened = comparison_ || role_ == Role::kResponder;
  over_ = true;
  turn_.emplace(options_.max_turn_bytes);
  if (!opened) return;
  std::string body;
  if (absl::IsUnavailable(status)) {  // e.g. a family was created or dropped
    EncodeEnd(CannotCompare(status), &body);
  } else {
    EncodeEnd({EndReason::kFailed, KindOf(status)}, &body);
  }
  turn_->Add(MessageType::kEnd, body);
}

void SessionImpl::FailOutOfTurn(const absl::Status& status) {
  Fail(status);
  if (!turn_->empty()) turn_->Close(0);
  // The comparison holds the snapshot, and the peer may take long to hear of
  // the failure.
  comparison_.reset();
}

void SessionImpl::Finish(EndReason reason, std::string_view text) {
  std::string body;
  EncodeEnd({reason, std::string(text)}, &body);
  turn_->Add(MessageType::kEnd, body);
  over_ = true;
  report_.expired |= reason == EndReason::kExpired;
  report_.refused |= reason == EndReason::kRefused;
  report_.busy |= reason == EndReason::kBusy;
  report_.index_build |= reason == EndReason::kIndexBuild;
  report_.why = text;
  if (reason == EndReason::kGaveUp) {
    status_ = absl::ResourceExhaustedError(
        "gave up: the digests still differ after many rounds; run `rocksync "
        "verify` if this persists");
  }
}

absl::Status SessionImpl::ReceiveEnd(std::string_view body) {
  End end;
  const absl::Status status = DecodeEnd(body, &end);
  if (!status.ok()) return status;
  over_ = true;
  report_.why = end.text;
  switch (end.reason) {
    case EndReason::kBusy:
      report_.busy = true;
      break;
    case EndReason::kExpired:
      report_.expired = true;
      break;
    case EndReason::kRefused:
      report_.refused = true;
      break;
    case EndReason::kEnough:
      break;
    case EndReason::kIndexBuild:
      report_.index_build = true;
      [[fallthrough]];
    case EndReason::kUnavailable:
      status_ = absl::UnavailableError(
          absl::StrCat("the peer cannot compare now: ", end.text));
      break;
    case EndReason::kGaveUp:
      status_ = absl::ResourceExhaustedError(
          "the peer gave up: the digests still differ after many rounds");
      break;
    case EndReason::kFailed: {
      absl::string_view text(end.text.data(), end.text.size());
      const bool says_so = absl::ConsumePrefix(&text, "its storage failed ");
      status_ = absl::AbortedError(absl::StrCat("the peer's storage failed",
                                                says_so ? " " : ": ", text));
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

// Memory per element of a batch of which nothing, or all, differs, with what an
// exchange makes of it and with elements gained.
constexpr double kAlikeBytes = 48;
constexpr double kDifferingBytes = 96;
// A batch is made for so many times the share that is expected to differ.
constexpr double kShareToSpare = 1.5;
// Of that, what is left of an element once its exchange is over.
constexpr size_t kKeptBytes = 32;

}  // namespace

size_t MaxBatchElements(const SessionOptions& options, double share) {
  const double bytes =
      kAlikeBytes + (kDifferingBytes - kAlikeBytes) *
                        std::clamp(kShareToSpare * share, 0.0, 1.0);
  const double most =
      static_cast<double>(options.max_batch_elements) * kDifferingBytes / bytes;
  return static_cast<size_t>(
      std::min(most, static_cast<double>(kMaxExchangeElements)));
}

size_t MaxSendingBytes(const SessionOptions& options, size_t elements) {
  const size_t most = options.max_batch_elements;
  return static_cast<size_t>(kDifferingBytes) * most -
         kKeptBytes * std::clamp(elements, most, 2 * most);
}

void BoundMemory(size_t max_bytes, size_t leaves, SessionOptions* options) {
  // Memory per leaf while the leaves that differ are found. It is free again by
  // the time that a sketch of a batch is decoded, so the larger of the two
  // counts.
  constexpr size_t kLeafBytes = 40;
  // The sums of a sketch, and the fixed cost of a session.
  constexpr size_t kBaseBytes = size_t{256} << 10;
  constexpr size_t kTurnShare = 64;
  const size_t fixed =
      kBaseBytes + std::max(kLeafBytes * leaves, MostDecodingBytes());
  const size_t left = max_bytes > fixed ? max_bytes - fixed : 0;
  options->max_batch_elements =
      std::max<size_t>(1, left / static_cast<size_t>(kDifferingBytes));
  options->max_turn_bytes =
      std::min(options->max_turn_bytes, max_bytes / kTurnShare);
}

std::unique_ptr<Session> NewSession(Role role, const SessionOptions& options,
                                    const SessionSeed& seed,
                                    const SessionContext& context) {
  return std::make_unique<SessionImpl>(role, options, seed, context);
}

}  // namespace rocksync
