#include "replication/session/found_by_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/status/statusor.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/leaf_symbols.h"
#include "replication/session/messages.h"
#include "sketch/element/coding.h"

namespace rocksync {

absl::Status FoundBySearch::Propose(
    const std::vector<LeafDifference>& differences, uint64_t most,
    bool* proposed, std::string* body) {
  const SymbolKey& key = exchanges_->symbol_key();
  absl::StatusOr<Finds> finds = MakeFinds(
      snapshot_->ForRound(nullptr, 0), location_->leaves(), key, differences);
  if (!finds.ok()) return finds.status();
  Drop();
  elements_ = std::move(finds->mine);
  FindsHead head;
  for (const LeafDifference& one : finds->unknown) {
    head.unknown.push_back(one.leaf);
    head.elements += location_->leaves()[one.leaf].count;
  }
  *proposed = head.elements <= most;
  if (!*proposed) return absl::OkStatus();
  expected_ = ExpectInLeaves(finds->unknown, location_->leaf_count());
  head.expected = static_cast<uint64_t>(std::ceil(expected_.differences));
  head.overwritten = static_cast<uint64_t>(expected_.overwritten);
  for (const LeafDifference& one : finds->asked) {
    // Theirs minus mine.
    head.asked.push_back({one.leaf, -one.sum & SumMask(key.bits)});
    asked_.push_back(one.leaf);
  }
  EncodeFinds(head, key.bits, body);
  leaves_ = std::move(head.unknown);
  return absl::OkStatus();
}

absl::Status FoundBySearch::Receive(std::string_view body) {
  FindsHead head;
  const absl::Status status =
      DecodeFinds(body, exchanges_->symbol_key().bits, &head);
  if (!status.ok()) return status;
  const uint32_t leaf_count = location_->leaf_count();
  if ((!head.unknown.empty() && head.unknown.back() >= leaf_count) ||
      (!head.asked.empty() && head.asked.back().leaf >= leaf_count)) {
    return Malformed(MessageType::kBatch, "leaves out of range");
  }
  Drop();
  leaves_ = std::move(head.unknown);
  set_peer_count(head.elements);
  expected_.differences = static_cast<double>(
      std::min<uint64_t>(head.expected, kMaxExchangeElements));
  expected_.overwritten = std::min(static_cast<double>(head.overwritten),
                                   expected_.differences / 2);
  return LookUp(head.asked);
}

absl::Status FoundBySearch::LookUp(
    const std::vector<FindsHead::Question>& asked) {
  for (const FindsHead::Question& one : asked) {
    const absl::StatusOr<std::optional<PlacedElement>> element =
        FindInLeaf(snapshot_->ForRound(nullptr, 0), one.leaf,
                   exchanges_->symbol_key(), one.sum);
    if (!element.ok()) return element.status();
    if (element->has_value()) elements_.push_back(**element);
    asked_.push_back(one.leaf);
    failed_.push_back(exchange_follows() && !element->has_value());
  }
  return absl::OkStatus();
}

std::string FoundBySearch::EncodeAnswer() const {
  std::string body;
  EncodeCount(location_->Sum(LeavesToExchange()).count, &body);
  EncodeFailed(failed_, &body);
  return body;
}

absl::Status FoundBySearch::ReceiveFailed(std::string_view body) {
  if (!GetVarint64(&body, kMaxExchangeElements, &peer_count_)) {
    return Malformed(MessageType::kBatch, "no count");
  }
  const absl::Status status = DecodeFailed(body, asked_.size(), &failed_);
  if (!status.ok()) return status;
  for (const bool failed : failed_) expected_.differences += failed ? 1 : 0;
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

void FoundBySearch::set_peer_count(uint64_t count) {
  peer_count_ = std::min<uint64_t>(count, kMaxExchangeElements);
}

void FoundBySearch::Drop() {
  elements_.clear();
  leaves_.clear();
  asked_.clear();
  failed_.clear();
  expected_ = {};
}

}  // namespace rocksync
