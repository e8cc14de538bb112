#include "replication/session/whole_set_round.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "replication/session/messages.h"

namespace rocksync {
namespace {

// The elements that an exchange leaves unfound for each leaf that it compares,
// if bytes matter, so that ids are short: about one of 600 that differ, of
// which such a leaf has two (measured).
constexpr double kHiddenPerLeaf = 1.0 / 300;

}  // namespace

absl::Status WholeSetRound::Propose(
    const std::vector<LeafDifference>& differences, bool* proposed,
    Turn* turn) {
  std::string body;
  const absl::Status status = found_.Propose(
      differences, MayBeMore(differences),
      parts_->context.options->max_batch_elements, proposed, &body);
  if (!status.ok() || !*proposed) return status;
  turn->Add(MessageType::kLeafBatch, body, kFlagPureLeaves);
  if (!found_.exchange_follows()) return BeginWithoutExchange();
  if (!found_.exchange_begins()) return status;
  Expect();
  Open(found_.LeavesToExchange());
  return rounds_->Begin(found_.peer_count());
}

absl::Status WholeSetRound::ReceiveProposal(std::string_view body) {
  const absl::Status status = found_.Receive(body);
  if (!status.ok()) return status;
  if (!found_.exchange_follows()) return BeginWithoutExchange();
  if (!found_.exchange_begins()) return status;
  const bool runs = found_.peer_count() > 0 && *found_.own_count() > 0;
  if (runs && TooLarge()) return status;
  ExpectSearch();
  const std::optional<uint64_t> own_count = found_.own_count();
  Open(found_.LeavesToExchange());
  return rounds_->ReceiveDiffers(found_.peer_count(), own_count);
}

void WholeSetRound::Drop() {
  found_.Drop();
  compared_.clear();
  rounds_.reset();
}

bool WholeSetRound::TooLarge() const {
  const std::vector<uint32_t> leaves = found_.LeavesToExchange();
  return parts_->TooLarge(parts_->location.Sum(leaves).count) ||
         parts_->TooLarge(found_.peer_count());
}

void WholeSetRound::Refuse() {
  if (found_.exchange_begins()) parts_->exchanges.Skip();
  compared_.clear();
  if (parts_->location.finer()) found_.Drop();
}

std::vector<uint32_t> WholeSetRound::TakeFewer() {
  std::vector<uint32_t> leaves =
      parts_->location.Narrow(found_.LeavesToExchange(), found_.peer_count(),
                              parts_->context.options->max_batch_elements);
  found_.Drop();
  return leaves;
}

absl::Status WholeSetRound::Differ(Turn* turn) {
  const std::string failed =
      found_.all_were_found() ? "" : found_.EncodeFailed();
  Expect();
  Open(found_.LeavesToExchange());
  return rounds_->Differ(found_.peer_count(), failed, turn);
}

absl::Status WholeSetRound::ReceiveDiffers(std::string_view body,
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
  if (parts_->TooLarge(parts_->location.Sum(leaves).count /
                       kMaxPeerBatchRatio)) {
    return absl::ResourceExhaustedError(
        "the peer compares more elements at once than this replica can hold; "
        "update its software, or raise ReplicatorOptions::max_session_bytes "
        "here");
  }
  ExpectSearch();
  const std::optional<uint64_t> own_count = found_.own_count();
  Open(leaves);
  return rounds_->ReceiveDiffers(found_.peer_count(), own_count);
}

void WholeSetRound::Expect() {
  if (!first()) {
    parts_->exchanges.ExpectFew(found_.expected());
  } else {
    parts_->exchanges.ExpectFound(found_.expected());
    ExpectSearch();
  }
}

void WholeSetRound::ExpectSearch() {
  const auto leaves = static_cast<double>(found_.LeavesToExchange().size());
  const bool short_ids = parts_->exchanges.may_send_parities();
  const double left =
      found_.leaves_left() + (short_ids ? kHiddenPerLeaf * leaves : 0);
  if (first() && left > kSurelyLeft) parts_->exchanges.ExpectSearch();
}

absl::Status WholeSetRound::BeginWithoutExchange() {
  Open({});
  return rounds_->BeginFound();
}

// In a leaf that the exchange has compared it has hidden an element, and
// symbols tell that one. In any other leaf that is left several elements differ
// although its symbols looked like one, as they may again.
bool WholeSetRound::MayBeMore(
    const std::vector<LeafDifference>& differences) const {
  if (first()) return false;
  return expected_this_ ||
         !std::all_of(differences.begin(), differences.end(),
                      [this](const LeafDifference& one) {
                        return std::binary_search(compared_.begin(),
                                                  compared_.end(), one.leaf);
                      });
}

void WholeSetRound::Open(std::vector<uint32_t> leaves) {
  compared_ = leaves;
  rounds_ = std::make_unique<Rounds>(parts_->ForRounds(), std::move(leaves),
                                     &parts_->location.changes());
  const uint64_t peer_total = parts_->locator.peer_total();
  // The peer has found at most one element in a leaf, or exchanges the leaf's
  // elements. So a peer that lies cannot make the batch grow without bounds.
  const uint64_t differing =
      std::min(peer_total, found_.peer_count() + parts_->location.leaf_count());
  rounds_->CoverWholeSet(parts_->location.total(), peer_total, differing,
                         found_.TakeElements());
}

absl::Status WholeSetRound::ReceiveEnd() {
  const absl::Status status = rounds_->EndTurn(/*idle=*/true);
  if (!status.ok()) return status;
  if (!rounds_->work()->may_end()) {
    return Malformed(MessageType::kLocate, "before all was sent");
  }
  rounds_->EndRound();
  return absl::OkStatus();
}

double WholeSetRound::leaves_left() const {
  return found_.leaves_left() +
         (rounds_->exchanged() ? parts_->exchanges.PlacesLeft() : 0);
}

bool WholeSetRound::surely_left() const { return leaves_left() > kSurelyLeft; }

void WholeSetRound::Close() {
  expected_this_ = surely_left();
  if (parts_->location.finer()) compared_.clear();
  const MergedChanges changes = rounds_->Changes();
  rounds_.reset();
  parts_->Coarsen(/*all_found=*/false);
  parts_->location.Merge(changes);
}

}  // namespace rocksync
