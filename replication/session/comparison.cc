#include "replication/session/comparison.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "sketch/element/element.h"

namespace rocksync {
namespace {

// If more leaves probably differ still, they are searched for without asking
// whether there are any.
constexpr double kSurelyLeft = 1.5;
// More leaves than one in so many are many.
constexpr uint32_t kFew = 8;

}  // namespace

Comparison::Comparison(Role role, const PartContext& context,
                       const Hello& hello, ExchangeSeries exchanges,
                       SessionSnapshot snapshot)
    : context_(context),
      exchanges_(std::move(exchanges)),
      snapshot_(std::move(snapshot)),
      location_(snapshot_.storage().LeafDigests()),
      locator_(context_, &location_, &exchanges_),
      found_(&snapshot_, &location_, &exchanges_) {
  context_.report->elements = total().count;
  if (role == Role::kInitiator) {
    verify_.task = context.session->verify;
  } else {
    peer_digest_ = hello.digest;
    locator_.set_peer_total(hello.digest.count);
    locating_ = hello.batches || TooLarge(hello.digest.count);
    stage_ = Stage::kHelloReceived;
  }
  if (hello.keys_only) {
    second_look_ = std::make_unique<Listing>(snapshot_.ForRound(nullptr, 0),
                                             &verify_, std::vector<uint32_t>());
    stage_ = Stage::kListing;
  }
}

bool Comparison::Expects(MessageType type, uint8_t flags) const {
  switch (type) {
    case MessageType::kEqual:
      return awaiting() && stage_ != Stage::kFindsSaid;
    case MessageType::kAbandon:
      return stage_ == Stage::kRoundSaid && locating_ && !wide();
    case MessageType::kDiffers:
      if ((flags & kFlagFailed) != 0) return stage_ == Stage::kFindsSaid;
      return awaiting() && stage_ != Stage::kTotalSaid && !wide();
    case MessageType::kLocate:
      return stage_ == Stage::kHelloSaid || stage_ == Stage::kTotalSaid ||
             (wide() && (stage_ == Stage::kRoundSaid ||
                         (stage_ == Stage::kRound && work() != nullptr)));
    case MessageType::kBatch:
      if ((flags & kFlagFinds) != 0) {
        return searching() && MayProposeFinds();
      }
      return stage_ == Stage::kChoosing || stage_ == Stage::kTotalSaid ||
             // Not so many leaves at once.
             stage_ == Stage::kBatchSaid || stage_ == Stage::kFindsSaid ||
             searching();
    case MessageType::kSummary:
      if ((flags & kFlagTotal) != 0) {
        return stage_ == Stage::kChoosing || searching();
      }
      return stage_ == Stage::kRound && work() != nullptr;
    case MessageType::kPayload:
      return exchanging();
    case MessageType::kPass:
      return exchanging() || work() != nullptr;
    default:
      return IsOfWork(type) && work() != nullptr;
  }
}

absl::Status Comparison::Receive(MessageType type, uint8_t flags,
                                 std::string_view body) {
  switch (type) {
    case MessageType::kEqual:
      return ReceiveEqual(body);
    case MessageType::kAbandon:
      abandoned_ = true;
      CloseBatch();
      return absl::OkStatus();
    case MessageType::kDiffers:
      return ReceiveDiffers(body, flags);
    case MessageType::kLocate:
      return ReceiveLocate(body, flags);
    case MessageType::kBatch:
      return (flags & kFlagFinds) != 0 ? ReceiveFinds(body)
                                       : ReceiveBatch(body);
    case MessageType::kSummary:
      return ReceiveSummary(body, flags);
    case MessageType::kPass:
      return absl::OkStatus();
    default:
      break;
  }
  if (rounds_) return rounds_->Receive(type, body);
  if (second_look_) return second_look_->Receive(type, body);
  const absl::Status status = exchanges_.Receive(body);
  if (status.ok() && locator_.TakeLeaves()) stage_ = Stage::kChoosing;
  return status;
}

absl::Status Comparison::EndTurn(MessageType last, bool idle) {
  if (idle && work() == nullptr) {
    return Malformed(last, "idle, but nothing is shipped");
  }
  if (awaiting()) return Malformed(last, "no answer");
  if (second_look_) return second_look_->EndTurn(idle);
  if (!rounds_) return absl::OkStatus();
  const absl::Status status = rounds_->EndTurn(idle);
  if (!status.ok() || stage_ != Stage::kRoundReceived) return status;
  if (!work()->may_end()) {
    return Malformed(MessageType::kSummary, "before all was sent");
  }
  rounds_->EndRound();
  return absl::OkStatus();
}

absl::Status Comparison::Build(Turn* turn) {
  if (verify_.enough) return End(EndReason::kEnough);
  if (second_look_) return BuildSecondLook(turn);
  if (answering()) {
    const absl::Status status = Answer(turn);
    if (!status.ok() || over()) return status;
  }
  if (stage_ == Stage::kRound) {
    const absl::Status status = BuildRound(turn);
    if (!status.ok() || stage_ != Stage::kLocating) return status;
  }
  if (stage_ == Stage::kLocating) {
    exchanges_.Build(turn);
    if (locator_.TakeLeaves()) stage_ = Stage::kChoosing;
  }
  if (stage_ == Stage::kChoosing) {
    const absl::Status status = Choose(turn);
    if (!status.ok() || stage_ != Stage::kRound) return status;
    return BuildRound(turn);  // all was found already
  }
  return absl::OkStatus();
}

// A failure shows again when the batch is read for good.
void Comparison::ReadAhead() {
  if (stage_ != Stage::kBatchSaid || peer_narrows_ || read_ahead_) return;
  absl::StatusOr<LeafBatch> batch =
      LeafBatch::Load(snapshot_.storage(), leaves_, location_.changes(),
                      context_.session->cancelled);
  if (batch.ok()) read_ahead_ = *std::move(batch);
}

absl::Status Comparison::BuildSecondLook(Turn* turn) {
  if (snapshot_.Expired()) return End(EndReason::kExpired);
  const absl::Status status = second_look_->Build(turn);
  if (!status.ok() || !second_look_->complete() || verify_.task == nullptr) {
    return status;
  }
  context_.report->compared = true;
  return End(EndReason::kEnough);
}

absl::Status Comparison::End(EndReason reason) {
  end_ = reason;
  stage_ = Stage::kOver;
  return absl::OkStatus();
}

// --- Summaries, and the whole sets ------------------------------------------

absl::Status Comparison::Answer(Turn* turn) {
  if (stage_ == Stage::kHelloReceived) return AnswerHello(turn);
  if (stage_ == Stage::kBatchReceived) return AnswerBatch(turn);
  if (stage_ == Stage::kFindsReceived) return AnswerFinds(turn);
  if (stage_ == Stage::kRoundReceived) return AnswerRound(turn);
  return AnswerTotal(turn);
}

absl::Status Comparison::AnswerHello(Turn* turn) {
  const Digest& mine = total();
  if (mine == peer_digest_) {
    context_.report->elements_compared += mine.count;
    return SayEqual(turn);
  }
  locating_ |= TooLarge(mine.count) || locator_.SearchPays();
  if (locating_) {
    Locate(0, turn);
    return absl::OkStatus();
  }
  leaves_ = location_.AllLeaves();
  return Differ(turn);
}

absl::Status Comparison::AnswerTotal(Turn* turn) {
  if (total() == peer_digest_ && !abandoned_) return SayEqual(turn);
  if (!NextBatch().empty()) {
    stage_ = Stage::kChoosing;  // this side found more
    return absl::OkStatus();
  }
  if (abandoned_) return End(EndReason::kRefused);
  if (snapshot_.Expired()) return End(EndReason::kExpired);
  if (!locator_.may_locate()) return End(EndReason::kGaveUp);
  Locate(0, turn);
  return absl::OkStatus();
}

// Of the batch after a round, else of everything.
absl::Status Comparison::Summarise(Turn* turn) {
  const absl::Status status = snapshot_.SyncReceived();
  if (!status.ok()) return status;
  Summary summary;
  summary.digest = rounds_ ? rounds_->merged() + BesideBatch() : total();
  if (of_all()) summary.left_out = context_.report->left_out;
  uint8_t flags = rounds_ ? 0 : kFlagTotal;
  if (rounds_ && rounds_->refused()) flags |= kFlagRefused;
  std::string body;
  EncodeSummary(summary, &body);
  turn->Add(MessageType::kSummary, body, flags);
  stage_ = rounds_ ? Stage::kRoundSaid : Stage::kTotalSaid;
  return absl::OkStatus();
}

absl::Status Comparison::ReceiveSummary(std::string_view body, uint8_t flags) {
  Summary summary;
  const absl::Status status = DecodeSummary(body, &summary);
  if (!status.ok()) return status;
  if (!of_all() && summary.left_out > 0) {
    return Malformed(MessageType::kSummary, "pairs left out of a batch");
  }
  if (searching()) StopSearching();
  peer_digest_ = summary.digest - BesideBatch();
  peer_refuses_ = (flags & kFlagRefused) != 0;
  context_.report->peer_left_out = summary.left_out;
  stage_ = rounds_ ? Stage::kRoundReceived : Stage::kTotalReceived;
  return absl::OkStatus();
}

absl::Status Comparison::ReceiveEqual(std::string_view body) {
  const bool of_all = !locating_ || stage_ == Stage::kTotalSaid || wide() ||
                      (stage_ == Stage::kRoundSaid && last());
  if (!of_all && !body.empty()) {
    return Malformed(MessageType::kEqual, "too long");
  }
  const absl::Status status =
      DecodeLeftOut(MessageType::kEqual, body, &context_.report->peer_left_out);
  if (!status.ok()) return status;
  if (stage_ == Stage::kHelloSaid) {
    context_.report->elements_compared += total().count;
  }
  if (of_all) return Prove();
  CloseBatch();
  return absl::OkStatus();
}

// The answer that ends the session.
absl::Status Comparison::SayEqual(Turn* turn) {
  std::string body;
  EncodeLeftOut(context_.report->left_out, &body);
  turn->Add(MessageType::kEqual, body);
  return Prove();
}

absl::Status Comparison::Prove() {
  SessionReport& report = *context_.report;
  stage_ = Stage::kOver;
  if (report.verifying) {
    report.compared = true;
    return absl::OkStatus();
  }
  const absl::Status status = snapshot_.SyncReceived();
  if (!status.ok()) return status;
  report.digests_equal = true;
  report.proven_equal = report.left_out == 0 && report.peer_left_out == 0;
  report.merged = rounds_ ? rounds_->merged() + BesideBatch() : total();
  return absl::OkStatus();
}

// --- The leaves in which they differ ----------------------------------------

void Comparison::Locate(double expected, Turn* turn) {
  const bool first = stage_ == Stage::kHelloReceived;
  if (locator_.Locate(first, expected, turn)) {
    stage_ = total().count == 0 ? Stage::kTotalSaid : Stage::kChoosing;
    return;
  }
  Locating();
}

absl::Status Comparison::ReceiveLocate(std::string_view body, uint8_t flags) {
  bool everything = false;
  absl::Status status;
  if (stage_ == Stage::kRound) status = EndWideRound();
  if (!status.ok()) return status;
  status = locator_.Receive(body, flags, /*first=*/stage_ == Stage::kHelloSaid,
                            &everything);
  if (!status.ok()) return status;
  locating_ = true;
  if (rounds_) CloseWideRounds();
  locator_.Answer(everything);
  if (everything) {
    stage_ = Stage::kChoosing;
  } else {
    Locating();
  }
  return absl::OkStatus();
}

// An exchange that has begun may be done at once.
void Comparison::Locating() {
  stage_ = locator_.TakeLeaves() ? Stage::kChoosing : Stage::kLocating;
}

void Comparison::StopSearching() {
  locator_.Stop();
  stage_ = Stage::kChoosing;
}

// --- The whole set, of which a search has found what differs ----------------

absl::Status Comparison::ProposeFinds(
    const std::vector<LeafDifference>& differences, bool* proposed,
    Turn* turn) {
  std::string body;
  const absl::Status status = found_.Propose(
      differences, context_.options->max_batch_elements, proposed, &body);
  if (!status.ok() || !*proposed) return status;
  turn->Add(MessageType::kBatch, body, kFlagFinds);
  stage_ = Stage::kFindsSaid;
  return found_.exchange_follows() ? status : BeginFoundRound();
}

absl::Status Comparison::ReceiveFinds(std::string_view body) {
  StopSearching();
  const absl::Status status = found_.Receive(body);
  if (!status.ok()) return status;
  if (!found_.exchange_follows()) return BeginFoundRound();
  stage_ = Stage::kFindsReceived;
  return status;
}

absl::Status Comparison::AnswerFinds(Turn* turn) {
  const std::vector<uint32_t> leaves = found_.LeavesToExchange();
  if (TooLarge(location_.Sum(leaves).count) || TooLarge(found_.peer_count())) {
    leaves_ = location_.Narrow(leaves, found_.peer_count(),
                               context_.options->max_batch_elements);
    found_.Drop();
    expected_ = {};
    Propose(turn);
    return absl::OkStatus();
  }
  const std::string failed =
      found_.all_were_found() ? "" : found_.EncodeFailed();
  const Expectation expected = found_.expected();
  OpenWideRounds(leaves);
  if (locator_.locations() > 1) {
    exchanges_.ExpectFew(expected);
  } else {
    exchanges_.ExpectFound(expected);
  }
  return rounds_->Differ(found_.peer_count(), failed, turn);
}

void Comparison::OpenWideRounds(std::vector<uint32_t> leaves) {
  leaves_ = std::move(leaves);
  OpenRounds();
  // The peer has found one element in a leaf, at most, or exchanges them: so a
  // peer that lies cannot make the batch grow without bounds.
  const uint64_t differing = std::min(
      locator_.peer_total(), found_.peer_count() + location_.leaf_count());
  rounds_->Widen(total(), locator_.peer_total(), differing,
                 found_.TakeElements());
  stage_ = Stage::kRound;
}

absl::Status Comparison::BeginFoundRound() {
  OpenWideRounds({});
  return rounds_->BeginFound();
}

absl::Status Comparison::AnswerWideRound(Turn* turn) {
  if (rounds_->Decide(peer_digest_, peer_refuses_) == Rounds::Answer::kEqual) {
    return SayEqual(turn);
  }
  return LocateAgain(turn);
}

absl::Status Comparison::LocateAgain(Turn* turn) {
  const double expected = LeavesLeft();
  CloseWideRounds();
  if (snapshot_.Expired()) return End(EndReason::kExpired);
  if (!locator_.may_locate()) return End(EndReason::kGaveUp);
  Locate(expected, turn);
  return absl::OkStatus();
}

// The peer says so instead of a summary, as it knows that some leaves differ
// still. What it sent before counts.
absl::Status Comparison::EndWideRound() {
  const absl::Status status = rounds_->EndTurn(/*idle=*/true);
  if (!status.ok()) return status;
  if (!work()->may_end()) {
    return Malformed(MessageType::kLocate, "before all was sent");
  }
  rounds_->EndRound();
  return absl::OkStatus();
}

// Some leaves differ still: they are searched for in what is merged by now.
void Comparison::CloseWideRounds() {
  location_.Merge(rounds_->Changes());
  leaves_.clear();
  rounds_.reset();
}

// --- Batches of leaves ------------------------------------------------------

absl::Status Comparison::Choose(Turn* turn) {
  // Never before one batch is done, or sessions that take long to find out
  // where they differ would expire one after the other.
  if (snapshot_.Expired() && context_.report->batches > 0) {
    return End(EndReason::kExpired);
  }
  const std::vector<LeafDifference> differences = locator_.TakeDifferences();
  if (!differences.empty() && MayProposeFinds()) {
    bool proposed = false;
    const absl::Status status = ProposeFinds(differences, &proposed, turn);
    if (!status.ok() || proposed) return status;
  }
  leaves_ = NextBatch();
  if (leaves_.empty()) return Summarise(turn);
  expected_ = location_.Expected(leaves_.size());
  Propose(turn);
  return absl::OkStatus();
}

void Comparison::Propose(Turn* turn) {
  std::string body;
  EncodeBatch({leaves_, location_.Sum(leaves_),
               static_cast<uint64_t>(std::ceil(expected_.differences)),
               static_cast<uint64_t>(expected_.overwritten)},
              &body);
  turn->Add(MessageType::kBatch, body);
  stage_ = Stage::kBatchSaid;
}

absl::Status Comparison::ReceiveBatch(std::string_view body) {
  BatchHead head;
  const absl::Status status = DecodeBatch(body, &head);
  if (!status.ok()) return status;
  if (stage_ == Stage::kFindsSaid) found_.Drop();
  // The batch that was read ahead has more leaves, and so would the next.
  peer_narrows_ |= read_ahead_.has_value();
  read_ahead_.reset();
  if (stage_ == Stage::kBatchSaid && head.leaves.size() >= leaves_.size()) {
    return Malformed(MessageType::kBatch, "not narrower than the one proposed");
  }
  if (head.leaves.back() >= location_.leaf_count()) {
    return Malformed(MessageType::kBatch, "leaves out of range");
  }
  for (const uint32_t leaf : head.leaves) {
    if (location_.IsClosed(leaf)) {
      return Malformed(MessageType::kBatch, "a leaf that is closed");
    }
  }
  if (searching()) {
    StopSearching();
    // So many side by side, from the first one on: all were found.
    const size_t span = head.leaves.back() - head.leaves.front() + size_t{1};
    if (head.leaves.size() == span && span > location_.leaf_count() / kFew) {
      location_.FoundLeaves(location_.AllLeaves(), {});
    }
  }
  leaves_ = std::move(head.leaves);
  expected_.differences = static_cast<double>(
      std::min<uint64_t>(head.expected, kMaxExchangeElements));
  expected_.overwritten = std::min(static_cast<double>(head.overwritten),
                                   expected_.differences / 2);
  peer_digest_ = head.digest;
  stage_ = Stage::kBatchReceived;
  return absl::OkStatus();
}

absl::Status Comparison::AnswerBatch(Turn* turn) {
  if (BatchDigest() == peer_digest_) {
    turn->Add(MessageType::kEqual, "");
    CloseBatch();
    return absl::OkStatus();
  }
  const size_t proposed = leaves_.size();
  leaves_ = location_.Narrow(std::move(leaves_), peer_digest_.count,
                             context_.options->max_batch_elements);
  if (leaves_.size() == proposed) {
    Expect();
    return Differ(turn);
  }
  const double share =
      static_cast<double>(leaves_.size()) / static_cast<double>(proposed);
  expected_ = {share * expected_.differences, share * expected_.overwritten};
  Propose(turn);  // too much for this side: fewer of these leaves
  return absl::OkStatus();
}

void Comparison::Expect() {
  if (expected_.differences > 0) {
    exchanges_.ExpectAbout(expected_, location_.learned());
  } else if (leaves_.size() > location_.leaf_count() / kFew) {
    exchanges_.ExpectMany();
  }
}

absl::Status Comparison::ReceiveDiffers(std::string_view body, uint8_t flags) {
  if (stage_ == Stage::kFindsSaid) return ReceiveDiffersInFinds(body, flags);
  uint64_t peer_count = 0;
  const absl::Status status =
      DecodeCount(MessageType::kDiffers, body, &peer_count);
  if (!status.ok()) return status;
  if (stage_ == Stage::kHelloSaid) leaves_ = location_.AllLeaves();
  if (stage_ != Stage::kRoundSaid) OpenRounds();
  stage_ = Stage::kRound;
  return rounds_->ReceiveDiffers(peer_count, std::nullopt);
}

absl::Status Comparison::ReceiveDiffersInFinds(std::string_view body,
                                               uint8_t flags) {
  absl::Status status;
  if ((flags & kFlagFailed) != 0) {
    status = found_.ReceiveFailed(body);
  } else {
    uint64_t peer_count = 0;
    status = DecodeCount(MessageType::kDiffers, body, &peer_count);
    found_.set_peer_count(peer_count);
  }
  if (!status.ok()) return status;
  const std::vector<uint32_t> leaves = found_.LeavesToExchange();
  if (TooLarge(location_.Sum(leaves).count / 4)) {
    return absl::ResourceExhaustedError(
        "the peer compares more elements at once than this replica can hold; "
        "set ReplicatorOptions::max_session_bytes to similar values on both "
        "replicas");
  }
  const std::optional<uint64_t> own_count = found_.own_count();
  OpenWideRounds(leaves);
  return rounds_->ReceiveDiffers(found_.peer_count(), own_count);
}

absl::Status Comparison::Differ(Turn* turn) {
  if (stage_ != Stage::kRoundReceived) OpenRounds();
  stage_ = Stage::kRound;
  return rounds_->Differ(peer_digest_.count, "", turn);
}

void Comparison::OpenRounds() {
  rounds_.emplace(RoundsContext{.part = context_,
                                .snapshot = &snapshot_,
                                .exchanges = &exchanges_,
                                .verify = &verify_},
                  leaves_, &location_.changes());
  if (read_ahead_)
    rounds_->TakeBatch(*std::exchange(read_ahead_, std::nullopt));
}

absl::Status Comparison::BuildRound(Turn* turn) {
  const absl::Status status = rounds_->Build(turn);
  if (!status.ok() || !rounds_->complete()) return status;
  rounds_->EndRound();
  if (wide() && LeavesLeft() > kSurelyLeft) return LocateAgain(turn);
  return Summarise(turn);
}

absl::Status Comparison::AnswerRound(Turn* turn) {
  if (wide()) return AnswerWideRound(turn);
  switch (rounds_->Decide(peer_digest_, peer_refuses_)) {
    case Rounds::Answer::kEqual:
      if (of_all()) return SayEqual(turn);
      turn->Add(MessageType::kEqual, "");
      break;
    case Rounds::Answer::kRefused:
      if (!locating_) return End(EndReason::kRefused);
      turn->Add(MessageType::kAbandon, "");
      abandoned_ = true;
      break;
    case Rounds::Answer::kGaveUp:
      return End(EndReason::kGaveUp);
    case Rounds::Answer::kExpired:
      return End(EndReason::kExpired);
    case Rounds::Answer::kDiffers:
      return Differ(turn);
  }
  CloseBatch();
  return absl::OkStatus();
}

void Comparison::CloseBatch() {
  if (rounds_) {
    const double differences = rounds_->Differences();
    const Expectation differed = {differences,
                                  exchanges_.overwritten_share() * differences};
    location_.Learn(leaves_.size(), differed);
  }
  location_.Close(leaves_, BatchDigest());
  leaves_.clear();
  rounds_.reset();
  read_ahead_.reset();
  stage_ = Stage::kChoosing;
}

}  // namespace rocksync
