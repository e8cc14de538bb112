// What the peer's answers and summaries mean.

#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/session_impl.h"

namespace rocksync {

absl::Status SessionImpl::ReceiveEqual(std::string_view body) {
  if (stage_ != Stage::kAwaiting) {
    return Malformed(MessageType::kEqual, "nothing was summarised");
  }
  const bool of_all = scope_ != Scope::kBatch || whole();
  if (!of_all && !body.empty()) {
    return Malformed(MessageType::kEqual, "too long");
  }
  const absl::Status status =
      DecodeLeftOut(MessageType::kEqual, body, &report_.peer_left_out);
  if (!status.ok()) return status;
  if (scope_ == Scope::kHello) {
    report_.elements_compared += location_->total().count;
  }
  if (of_all) return Prove();
  CloseBatch(BatchDigest());
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveAbandon() {
  if (stage_ != Stage::kAwaiting || scope_ != Scope::kBatch || whole() ||
      !batch_) {
    return Malformed(MessageType::kAbandon, "no round of a batch is over");
  }
  abandoned_ = true;
  CloseBatch(BatchDigest());
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveDiffers(std::string_view body) {
  if (stage_ != Stage::kAwaiting || scope_ == Scope::kTotal) {
    return Malformed(MessageType::kDiffers, "no batch was summarised");
  }
  absl::Status status = DecodeCount(MessageType::kDiffers, body, &peer_count_);
  if (!status.ok()) return status;
  if (peer_count_ / 4 > options_.max_batch_elements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the peer compares ", peer_count_,
        " elements at once; set max_batch_elements alike on both sides"));
  }
  if (scope_ == Scope::kHello) {
    peer_total_ = peer_count_;
    leaves_ = location_->AllLeaves();
    scope_ = Scope::kBatch;
  }
  if (batch_) {
    batch_->Compact();
  } else {
    status = LoadBatch();
    if (!status.ok()) return status;
  }
  BeginExchange(Role::kResponder, batch_->hashes(), peer_count_, false);
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveLocate(std::string_view body, uint8_t flags) {
  if (stage_ != Stage::kAwaiting || scope_ == Scope::kBatch) {
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

absl::Status SessionImpl::ReceiveBatch(std::string_view body) {
  const bool narrower =
      stage_ == Stage::kAwaiting && scope_ == Scope::kBatch && !batch_;
  if (!locating_ ||
      !(narrower || stage_ == Stage::kChoosing ||
        (stage_ == Stage::kAwaiting && scope_ == Scope::kTotal))) {
    return Malformed(MessageType::kBatch, "the one before is not over");
  }
  BatchHead head;
  const absl::Status status = DecodeBatch(body, &head);
  if (!status.ok()) return status;
  if (narrower && head.leaves.size() >= leaves_.size()) {
    return Malformed(MessageType::kBatch, "not narrower than the one proposed");
  }
  if (head.leaves.back() >= location_->leaf_count()) {
    return Malformed(MessageType::kBatch, "leaves out of range");
  }
  for (const uint32_t leaf : head.leaves) {
    if (location_->IsSettled(leaf)) {
      return Malformed(MessageType::kBatch, "a leaf that is settled");
    }
  }
  leaves_ = std::move(head.leaves);
  peer_digest_ = head.digest;
  scope_ = Scope::kBatch;
  stage_ = Stage::kAnswering;
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveSummary(std::string_view body, uint8_t flags) {
  const bool total = (flags & kFlagTotal) != 0;
  if (total ? stage_ != Stage::kChoosing || !locating_
            : stage_ != Stage::kShipping) {
    return Malformed(MessageType::kSummary, "nothing is over");
  }
  Summary summary;
  const absl::Status status = DecodeSummary(body, &summary);
  if (!status.ok()) return status;
  if (!total && !whole() && summary.left_out > 0) {
    return Malformed(MessageType::kSummary, "pairs left out of a batch");
  }
  peer_digest_ = summary.digest;
  report_.peer_left_out = summary.left_out;
  peer_unsettled_ = (flags & kFlagUnsettled) != 0;
  scope_ = total ? Scope::kTotal : Scope::kBatch;
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
  report_.why = end.text;
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
    case EndReason::kEnough:
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

}  // namespace rocksync
