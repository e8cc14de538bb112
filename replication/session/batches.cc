#include "replication/session/batches.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "replication/session/messages.h"

namespace rocksync {

// --- Proposals --------------------------------------------------------------

bool Batches::ProposeNext(Turn* turn) {
  std::vector<uint32_t> leaves = Next();
  if (leaves.empty()) return false;
  const Expectation expected = parts_->location.Expected(leaves.size());
  Propose(std::move(leaves), expected, turn);
  return true;
}

void Batches::Propose(std::vector<uint32_t> leaves, const Expectation& expected,
                      Turn* turn) {
  leaves_ = std::move(leaves);
  expected_ = expected;
  SendProposal(turn);
}

void Batches::SendProposal(Turn* turn) {
  std::string body;
  EncodeLeafBatch({leaves_, parts_->location.Sum(leaves_),
                   static_cast<uint64_t>(std::ceil(expected_.differences)),
                   static_cast<uint64_t>(expected_.overwritten)},
                  &body);
  turn->Add(MessageType::kLeafBatch, body);
}

absl::Status Batches::ReceiveProposal(std::string_view body, bool narrower) {
  LeafBatchHead head;
  const absl::Status status = DecodeLeafBatch(body, &head);
  if (!status.ok()) return status;
  // The batch that was read ahead has too many leaves, and so would the next
  // one.
  peer_narrows_ |= read_ahead_.has_value();
  read_ahead_.reset();
  if (narrower && head.leaves.size() >= leaves_.size()) {
    return Malformed(MessageType::kLeafBatch,
                     "not narrower than the one proposed");
  }
  if (head.leaves.back() >= parts_->location.leaf_count()) {
    return Malformed(MessageType::kLeafBatch, "leaves out of range");
  }
  for (const uint32_t leaf : head.leaves) {
    if (parts_->location.IsClosed(leaf)) {
      return Malformed(MessageType::kLeafBatch, "a leaf that is closed");
    }
  }
  leaves_ = std::move(head.leaves);
  expected_.differences = static_cast<double>(
      std::min<uint64_t>(head.expected, kMaxExchangeElements));
  expected_.overwritten = std::min(static_cast<double>(head.overwritten),
                                   expected_.differences / 2);
  peer_digest_ = head.digest;
  return absl::OkStatus();
}

Batches::Answer Batches::Decide() {
  if (Held() == peer_digest_) return Answer::kEqual;
  const size_t proposed = leaves_.size();
  leaves_ = parts_->location.Narrow(
      std::move(leaves_), peer_digest_.count,
      Most(expected_, Held().count + peer_digest_.count));
  if (leaves_.size() == proposed) {
    Expect();
    return Answer::kDiffers;
  }
  const double share =
      static_cast<double>(leaves_.size()) / static_cast<double>(proposed);
  expected_ = {share * expected_.differences, share * expected_.overwritten};
  return Answer::kFewer;
}

std::vector<uint32_t> Batches::Next() const {
  const Location& location = parts_->location;
  const uint64_t peer_total = parts_->locator.peer_total();
  return location.NextBatch(peer_total,
                            Most(location.Expected(location.leaf_count()),
                                 location.total().count + peer_total));
}

size_t Batches::Most(const Expectation& expected, uint64_t elements) const {
  const double share =
      expected.differences > 0 && elements > 0
          ? expected.differences / static_cast<double>(elements)
          : 1;
  return MaxBatchElements(*parts_->context.options, share);
}

void Batches::Expect() {
  if (expected_.differences > 0) {
    parts_->exchanges.ExpectAbout(expected_, parts_->location.learned());
  } else if (parts_->location.AreMany(leaves_.size())) {
    parts_->exchanges.ExpectMany();
  }
}

void Batches::TakeAllLeaves() {
  leaves_ = parts_->location.AllLeaves();
  only_ = true;
}

// Ignores a failure, which shows again when the batch itself is read.
void Batches::ReadAhead() {
  if (peer_narrows_ || read_ahead_) return;
  absl::StatusOr<LeafBatch> batch = LeafBatch::Load(
      parts_->snapshot.storage(), leaves_, parts_->location.changes(),
      parts_->context.session->cancelled);
  if (batch.ok()) read_ahead_ = *std::move(batch);
}

// --- Rounds -----------------------------------------------------------------

absl::Status Batches::Differ(uint64_t peer_count, Turn* turn) {
  Open();
  return rounds_->Differ(peer_count, "", turn);
}

absl::Status Batches::ReceiveDiffers(std::string_view body) {
  uint64_t peer_count = 0;
  const absl::Status status =
      DecodeCount(MessageType::kDiffers, body, &peer_count);
  if (!status.ok()) return status;
  Open();
  return rounds_->ReceiveDiffers(peer_count, std::nullopt);
}

absl::Status Batches::ReceiveDiffersAgain(std::string_view body) {
  uint64_t count = 0;
  const absl::Status status = DecodeCount(MessageType::kDiffers, body, &count);
  return status.ok() ? rounds_->ReceiveDiffersAgain(count) : status;
}

void Batches::Open() {
  if (rounds_) return;
  rounds_ = std::make_unique<Rounds>(parts_->ForRounds(), leaves_,
                                     &parts_->location.changes());
  if (read_ahead_)
    rounds_->TakeBatch(*std::exchange(read_ahead_, std::nullopt));
}

bool Batches::last() const {
  return rounds_ && !abandoned_ &&
         parts_->location.closed_leaves() + leaves_.size() ==
             parts_->location.leaf_count();
}

Digest Batches::Beside() const {
  return last() ? parts_->location.total() - parts_->location.Sum(leaves_)
                : Digest{};
}

// --- The end of a batch -----------------------------------------------------

void Batches::Close() {
  if (rounds_) {
    const double differences = rounds_->Differences();
    const Expectation differed = {
        differences, parts_->exchanges.overwritten_share() * differences};
    parts_->location.Learn(leaves_.size(), differed);
  }
  parts_->location.Close(leaves_, Held());
  leaves_.clear();
  rounds_.reset();
  read_ahead_.reset();
}

void Batches::Abandon() {
  abandoned_ = true;
  Close();
}

}  // namespace rocksync
