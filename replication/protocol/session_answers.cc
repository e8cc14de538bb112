// What a session says to a summary of the peer's, and what it summarises
// itself. Proofs are made here.

#include <utility>

#include "replication/protocol/session_impl.h"

namespace rocksync {
namespace {

// Rounds in a row that bring no candidate to light, although the digests
// differ. A filter of rate 1/2 hides one difference so often with probability
// 2^-20. If a side has refused something, one such round is enough.
constexpr uint32_t kMaxIdleRounds = 20;

}  // namespace

absl::Status SessionImpl::Answer() {
  switch (scope_) {
    case Scope::kHello:
      return AnswerHello();
    case Scope::kTotal:
      return AnswerTotal();
    case Scope::kBatch:
      return batch_ ? AnswerRound() : AnswerBatch();
  }
  return absl::InternalError("unreachable");
}

absl::Status SessionImpl::AnswerTotal() {
  if (location_->total() == peer_digest_ && !abandoned_) {
    return SayEqual();
  }
  if (!location_->NextBatch(peer_total_, options_.max_batch_elements).empty()) {
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

// The peer opened a leaf batch.
absl::Status SessionImpl::AnswerBatch() {
  const Digest mine = BatchDigest();
  if (mine == peer_digest_) {
    turn_->Add(MessageType::kEqual, "");
    CloseBatch(mine);
    return absl::OkStatus();
  }
  const size_t proposed = leaves_.size();
  leaves_ = location_->Narrow(std::move(leaves_), peer_digest_.count,
                              options_.max_batch_elements);
  if (leaves_.size() == proposed) return Differ();
  Propose();  // too much for this side: fewer of these leaves
  return absl::OkStatus();
}

// A round of the batch is over.
absl::Status SessionImpl::AnswerRound() {
  const Digest mine = batch_->merged();
  if (mine == peer_digest_) {
    if (whole()) return SayEqual();
    turn_->Add(MessageType::kEqual, "");
    CloseBatch(mine);
    return absl::OkStatus();
  }
  if ((unsettled_ || peer_unsettled_) && idle_rounds_ > 0) {
    if (whole()) {
      Finish(EndReason::kUnsettled);
    } else {
      turn_->Add(MessageType::kAbandon, "");
      abandoned_ = true;
      CloseBatch(mine);
    }
    return absl::OkStatus();
  }
  if (idle_rounds_ >= kMaxIdleRounds || batch_rounds_ >= options_.max_rounds) {
    Finish(EndReason::kGaveUp);
    return absl::OkStatus();
  }
  if (Expired()) {
    Finish(EndReason::kExpired);
    return absl::OkStatus();
  }
  batch_->Compact();
  return Differ();
}

absl::Status SessionImpl::Differ() {
  if (peer_digest_.count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError("the peer's part is too large");
  }
  if (!batch_) {
    const absl::Status status = LoadBatch();
    if (!status.ok()) return status;
  }
  std::string body;
  EncodeCount(batch_->hashes().size(), &body);
  turn_->Add(MessageType::kDiffers, body);
  scope_ = Scope::kBatch;
  peer_count_ = peer_digest_.count;
  BeginExchange(Role::kInitiator, batch_->hashes(), peer_count_, false);
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
  if (scope == Scope::kBatch && unsettled_) flags |= kFlagUnsettled;
  Summary summary;
  summary.digest = scope == Scope::kTotal ? location_->total() : BatchDigest();
  if (scope == Scope::kTotal || whole()) summary.left_out = report_.left_out;
  std::string body;
  EncodeSummary(summary, &body);
  turn_->Add(MessageType::kSummary, body, flags);
  scope_ = scope;
  stage_ = Stage::kAwaiting;
  return absl::OkStatus();
}

// The answer that ends the session.
absl::Status SessionImpl::SayEqual() {
  std::string body;
  EncodeLeftOut(report_.left_out, &body);
  turn_->Add(MessageType::kEqual, body);
  return Prove();
}

absl::Status SessionImpl::Prove() {
  if (report_.verifying) {
    report_.compared = true;
    stage_ = Stage::kOver;
    return absl::OkStatus();
  }
  const absl::Status status = MakeDurable();
  if (!status.ok()) return status;
  report_.digests_equal = true;
  report_.proven_equal = report_.left_out == 0 && report_.peer_left_out == 0;
  report_.merged = scope_ == Scope::kBatch ? BatchDigest() : location_->total();
  stage_ = Stage::kOver;
  return absl::OkStatus();
}

// What a proof says this side holds is durable: the snapshot, what was applied,
// and what superseded a pair that came.
absl::Status SessionImpl::MakeDurable() {
  if (report_.verifying)
    return absl::OkStatus();  // proves nothing, writes none
  if (synced_pairs_ == report_.pairs_received) return absl::OkStatus();
  synced_pairs_ = report_.pairs_received;
  return context_.storage->Sync();
}

bool SessionImpl::Expired() const {
  return context_.now_ms() - started_ms_ > options_.max_snapshot_age_ms;
}

}  // namespace rocksync
