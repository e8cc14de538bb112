#include "replication/session/leaf_locator.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "replication/reconcile/exchange_parities.h"
#include "sketch/element/element.h"

namespace rocksync {
namespace {

// Sets of fewer elements are compared without a search for leaves: their leaves
// have few elements or none, so a search would not read much less.
constexpr uint64_t kFewestSearched = uint64_t{1} << 17;
// Share of differing leaves beyond which a search, over sets that fit into
// memory, takes more bytes than it saves reading.
constexpr double kMaxLeavesInMemory = 1.0 / 16;

}  // namespace

bool LeafLocator::SearchPays() const {
  const auto [less, more] = std::minmax({total(), peer_total_});
  return exchanges_->searches() && more >= kFewestSearched &&
         less >= more / 2 && !ReadingAllPays();
}

bool LeafLocator::ReadingAllPays() const {
  const auto [less, more] = std::minmax({total(), peer_total_});
  return exchanges_->may_send_parities() &&
         ReadingAllSaves(static_cast<double>(less), static_cast<double>(more),
                         location_->leaf_count());
}

bool LeafLocator::Locate(bool first, double expected, Turn* turn) {
  const uint64_t mine = total();
  const bool everything =
      first && (mine == 0 || peer_total_ == 0 || ReadingAllPays());
  std::string body;
  EncodeCount(mine, &body);
  searching_ = !everything && exchanges_->searches();
  turn->Add(MessageType::kLocate, body,
            everything ? kFlagEverything : (searching_ ? kFlagSearch : 0));
  ++locations_;
  if (everything) {
    FindAll();
  } else {
    BeginExchange(Role::kInitiator, expected);
  }
  return everything;
}

absl::Status LeafLocator::Receive(std::string_view body, uint8_t flags,
                                  bool first, bool* everything) {
  if (!may_locate()) return Malformed(MessageType::kLocate, "too often");
  *everything = (flags & kFlagEverything) != 0;
  if (*everything && !first) {
    return Malformed(MessageType::kLocate, "too late for everything");
  }
  const bool search = (flags & kFlagSearch) != 0;
  if (search && (*everything || !exchanges_->searches())) {
    return Malformed(MessageType::kLocate, "a search where there is none");
  }
  const absl::Status status =
      DecodeCount(MessageType::kLocate, body, &peer_total_);
  if (!status.ok()) return status;
  searching_ = search;
  ++locations_;
  return status;
}

void LeafLocator::Answer(bool everything) {
  if (everything) {
    FindAll();
  } else {
    BeginExchange(Role::kResponder, 0);
  }
}

void LeafLocator::FindAll() {
  if (total() == 0 || peer_total_ == 0) {
    location_->FoundAll();
  } else {
    location_->FoundLeaves(location_->AllLeaves(), {});
  }
}

void LeafLocator::BeginExchange(Role role, double expected) {
  if (searching_) {
    const bool in_memory = !TooLarge(total()) && !TooLarge(peer_total_);
    exchanges_->BeginSearch(
        role, location_->leaves(), location_->closed(),
        role == Role::kInitiator ? total() : peer_total_, expected,
        in_memory ? kMaxLeavesInMemory : kMaxLeavesSearched);
  } else {
    const std::span<const ElementHash> elements = location_->Elements();
    exchanges_->Begin(role, elements, {}, elements.size(), /*again=*/false);
  }
}

bool LeafLocator::TakeLeaves() {
  std::optional<Candidates> leaves = exchanges_->TakeCandidates();
  if (!leaves) return false;
  if (searching_) {
    differences_ = std::move(leaves->by_leaf);
    location_->FoundLeaves(std::move(leaves->missing_there), leaves->expected);
  } else {
    location_->Found(leaves->missing_there);
  }
  return true;
}

void LeafLocator::Stop(const std::vector<uint32_t>& batch) {
  exchanges_->Stop();
  const bool all = location_->AreMany(batch.size()) &&
                   batch.size() == batch.back() - batch.front() + size_t{1};
  location_->FoundLeaves(all ? location_->AllLeaves() : std::vector<uint32_t>(),
                         {});
}

}  // namespace rocksync
