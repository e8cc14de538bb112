#include "replication/session/leaf_locator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/finer_leaves.h"
#include "sketch/element/coding.h"
#include "sketch/element/element.h"

namespace rocksync {
namespace {

// Sets of fewer elements are compared without a search for leaves: their leaves
// have few elements or none, so a search would not read much less.
constexpr uint64_t kFewestSearched = uint64_t{1} << 17;
// Share of differing leaves beyond which a search, over sets that fit into
// memory, takes more bytes than it saves reading.
constexpr double kMaxLeavesInMemory = 1.0 / 16;

// Sessions with less memory do without parities of leaves.
constexpr size_t kFewestForParities = size_t{1} << 17;
// Finer leaves save two round trips a batch and some bytes, and read everything
// twice. So they have to save that many batches.
constexpr double kFewestBatches = 4;
// Finer leaves take as much memory as elements, and a little more.
constexpr double kFinerShare = 0.8;
// As many finer leaves are taken for each element of a batch where the peer
// asks for them, and in tests of eager parities.
constexpr uint64_t kMostLeaves = 1;
constexpr uint64_t kEagerLeaves = 8;
// Parities of leaves do not show overwritten keys.
constexpr double kMaxOverwritten = 0.05;

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

void LeafLocator::BeginExchange(Role role, double expected, bool finer) {
  if (!searching_) {
    const std::span<const ElementHash> elements = location_->Elements();
    exchanges_->Begin(role, elements, {}, elements.size(), /*again=*/false);
    return;
  }
  const bool in_memory = !TooLarge(total()) && !TooLarge(peer_total_);
  const bool eager = context_.options->eager_parities;
  const uint64_t initiator = role == Role::kInitiator ? total() : peer_total_;
  exchanges_->BeginSearch(
      role, location_->leaves(), location_->closed(),
      {.per_leaf = initiator / location_->leaf_count(),
       .expected = expected,
       .most = in_memory ? kMaxLeavesInMemory : kMaxLeavesSearched,
       .parities = finer || eager ||
                   context_.options->max_batch_elements >= kFewestForParities,
       .at_once = finer,
       .eager = eager});
}

int LeafLocator::FinerBits(double* expected) const {
  const Expectation all = location_->Expected(location_->leaf_count());
  const bool eager = context_.options->eager_parities;
  SidesThatDiffer sides = {.mine = static_cast<double>(total()),
                           .theirs = static_cast<double>(peer_total_),
                           .differences = all.differences};
  const double both = sides.mine + sides.theirs;
  if (eager && sides.differences < 1) sides.differences = both / 8;
  const double batch = static_cast<double>(
      MaxBatchElements(*context_.options, sides.differences / both));
  const bool few = std::max(sides.mine, sides.theirs) < kFewestBatches * batch;
  if ((few && !eager) || !searching_ || locations_ != 1 ||
      location_->closed_leaves() > 0 || !exchanges_->may_send_parities() ||
      all.overwritten > kMaxOverwritten * all.differences) {
    return 0;
  }
  *expected = sides.differences;
  const double most =
      kFinerShare * static_cast<double>(context_.options->max_batch_elements);
  const int bits = std::countr_zero(location_->leaf_count());
  if (!eager) return ChooseFinerBits(bits, most, sides);
  return MayTellLeaves(*expected, 2 << bits) ? bits + 1 : 0;
}

bool LeafLocator::TooFine(int bits) const {
  const size_t most = context_.options->max_batch_elements;
  return uint64_t{1} << bits >
         (context_.options->eager_parities ? kEagerLeaves : kMostLeaves) * most;
}

void LeafLocator::LocateFiner(double expected, Turn* turn) {
  std::string body;
  EncodeCount(total(), &body);
  PutFixed8(&body,
            static_cast<uint8_t>(std::countr_zero(location_->leaf_count())));
  turn->Add(MessageType::kLocate, body, kFlagFiner);
  ++locations_;
  searching_ = true;
  BeginExchange(Role::kInitiator, LeavesWith(expected, location_->leaf_count()),
                /*finer=*/true);
}

absl::Status LeafLocator::ReceiveFiner(std::string_view body, int* bits) {
  uint8_t told = 0;
  const int coarse = std::countr_zero(location_->leaf_count());
  if (locations_ != 1 || location_->closed_leaves() > 0 ||
      !exchanges_->may_send_parities()) {
    return Malformed(MessageType::kLocate, "finer leaves out of turn");
  }
  if (!GetVarint64(&body, &peer_total_) || !GetFixed8(&body, &told) ||
      !body.empty() || told <= coarse || told > kMaxFinerBits) {
    return Malformed(MessageType::kLocate, "finer leaves of a wrong size");
  }
  *bits = told;
  searching_ = true;
  ++locations_;
  return absl::OkStatus();
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
