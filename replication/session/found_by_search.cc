#include "replication/session/found_by_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_symbols.h"
#include "replication/session/messages.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// Returns the number of the peer's elements in a leaf in which this side has
// `mine`. `count`: the difference of the two numbers, mod 4; if it is two,
// either side may have two more.
uint64_t PeerCount(uint64_t mine, uint8_t count) {
  if (count == kOneMoreHere) return std::max<uint64_t>(mine, 1) - 1;
  if (count == kOneMoreThere) return mine + 1;
  return count != 0 && mine < 2 ? mine + 2 : mine;
}

}  // namespace

absl::Status FoundBySearch::Propose(
    const std::vector<LeafDifference>& differences, bool of_all, uint64_t most,
    bool* proposed, std::string* body) {
  const SymbolKey& key = exchanges_->symbol_key();
  absl::StatusOr<PureLeaves> finds = PureLeaves{{}, {}, differences};
  if (!of_all) {
    finds = ReadPureLeaves(snapshot_->ForRound(nullptr, 0), location_->leaves(),
                           location_->changes(), key, differences);
    if (!finds.ok()) return finds.status();
  }
  Drop();
  ExpectLeft(static_cast<double>(differences.size()));
  elements_ = std::move(finds->mine);
  PureLeavesHead head;
  for (const LeafDifference& one : finds->unknown) {
    const uint64_t mine = location_->leaves()[one.leaf].count;
    head.unknown.push_back(one.leaf);
    head.elements += mine;
    head.theirs += PeerCount(mine, one.count);
  }
  *proposed = head.elements <= most;
  if (!*proposed) return absl::OkStatus();
  expected_ = ExpectInLeaves(finds->unknown, location_->leaf_count());
  head.expected = static_cast<uint64_t>(std::ceil(expected_.differences));
  head.overwritten = static_cast<uint64_t>(expected_.overwritten);
  for (const LeafDifference& one : finds->asked) {
    // The peer needs theirs minus mine.
    head.asked.push_back({one.leaf, -one.sum & SumMask(key.bits)});
    asked_.push_back(one.leaf);
  }
  EncodePureLeaves(head, key.bits, Range(), body);
  exchange_begins_ = head.asked.empty() && !head.unknown.empty();
  if (exchange_begins_) set_peer_count(head.theirs);
  leaves_ = std::move(head.unknown);
  return absl::OkStatus();
}

absl::Status FoundBySearch::Receive(std::string_view body) {
  PureLeavesHead head;
  const absl::Status status =
      DecodePureLeaves(body, exchanges_->symbol_key().bits, Range(), &head);
  if (!status.ok()) return status;
  const uint32_t leaf_count = location_->leaf_count();
  if ((!head.unknown.empty() && head.unknown.back() >= leaf_count) ||
      (!head.asked.empty() && head.asked.back().leaf >= leaf_count)) {
    return Malformed(MessageType::kLeafBatch, "leaves out of range");
  }
  Drop();
  // The peer does not say where it has found elements of its own: here these
  // are taken to be as many as those that it asks for.
  ExpectLeft(static_cast<double>(head.unknown.size() + 2 * head.asked.size()));
  exchange_begins_ = head.asked.empty() && !head.unknown.empty();
  if (exchange_begins_) {
    own_count_ = std::min<uint64_t>(head.theirs, kMaxExchangeElements);
  }
  leaves_ = std::move(head.unknown);
  set_peer_count(head.elements);
  expected_.differences = static_cast<double>(
      std::min<uint64_t>(head.expected, kMaxExchangeElements));
  expected_.overwritten = std::min(static_cast<double>(head.overwritten),
                                   expected_.differences / 2);
  return LookUp(head.asked);
}

absl::Status FoundBySearch::LookUp(
    const std::vector<PureLeavesHead::Question>& asked) {
  for (const PureLeavesHead::Question& one : asked) {
    const absl::StatusOr<std::optional<PlacedElement>> element =
        FindInLeaf(snapshot_->ForRound(nullptr, 0), one.leaf,
                   location_->changes(), exchanges_->symbol_key(), one.sum);
    if (!element.ok()) return element.status();
    if (element->has_value()) elements_.push_back(**element);
    const bool failed = exchange_follows() && !element->has_value();
    asked_.push_back(one.leaf);
    failed_.push_back(failed);
    if (!failed) continue;
    // The counts differ by one mod 4: the peer most likely has one element less
    // than this side.
    set_peer_count(peer_count_ +
                   std::max<uint64_t>(location_->leaves()[one.leaf].count, 1) -
                   1);
    expected_.differences += 1;
  }
  return absl::OkStatus();
}

uint32_t FoundBySearch::Range() const {
  return std::max(kLeafCount, location_->leaf_count());
}

std::string FoundBySearch::EncodeFailed() const {
  std::string body;
  rocksync::EncodeFailed({.sender = location_->Sum(LeavesToExchange()).count,
                          .receiver = peer_count_,
                          .failed = failed_},
                         &body);
  return body;
}

absl::Status FoundBySearch::ReceiveFailed(std::string_view body) {
  FailedPureLeaves finds;
  const absl::Status status = DecodeFailed(body, asked_.size(), &finds);
  if (!status.ok()) return status;
  set_peer_count(finds.sender);
  own_count_ = std::min<uint64_t>(finds.receiver, kMaxExchangeElements);
  failed_ = std::move(finds.failed);
  return absl::OkStatus();
}

std::vector<uint32_t> FoundBySearch::LeavesToExchange() const {
  std::vector<uint32_t> leaves = leaves_;
  for (size_t i = 0; i < asked_.size(); ++i) {
    if (i < failed_.size() && failed_[i]) leaves.push_back(asked_[i]);
  }
  std::sort(leaves.begin(), leaves.end());
  return leaves;
}

// With `mean` differing elements a leaf, a share of mean^2 / 6 of the leaves
// that differ has three by chance. An element that fits these is taken for the
// only one.
void FoundBySearch::ExpectLeft(double differing) {
  const double leaves = location_->leaf_count();
  const double mean = differing / leaves;
  const double fitting =
      2 * (static_cast<double>(location_->total().count) / leaves) /
      (SumMask(exchanges_->symbol_key().bits) + 1.0);
  leaves_left_ = differing * mean * mean / 6 * std::min(fitting, 1.0);
}

void FoundBySearch::set_peer_count(uint64_t count) {
  peer_count_ = std::min<uint64_t>(count, kMaxExchangeElements);
}

void FoundBySearch::Drop() {
  elements_.clear();
  leaves_.clear();
  asked_.clear();
  failed_.clear();
  exchange_begins_ = false;
  own_count_.reset();
  expected_ = {};
}

}  // namespace rocksync
