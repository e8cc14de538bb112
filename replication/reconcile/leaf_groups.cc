#include "replication/reconcile/leaf_groups.h"

#include <algorithm>
#include <utility>

#include "replication/reconcile/exchange_messages.h"
#include "sketch/pinsketch/field.h"
#include "sketch/planning/sketch_schedule.h"

namespace rocksync {
namespace {

// After this many passes what is left of the groups is given up, and after
// fewer if none of kManyGroups or more has decoded: the estimate, which mostly
// tells many leaves from very many, was far too low.
constexpr uint32_t kMaxSearchPasses = 6;
constexpr uint32_t kMaxPassesInVain = 4;
constexpr uint32_t kManyGroups = 8;
// A pass that is sized by fine parities alone takes this share of their
// estimate: the next pass knows better.
constexpr double kShareOfFine = 0.95;
// Of so many groups some fail in the second pass, whatever is asked for: so it
// leaves more to the third, which decodes all but one in two hundred.
constexpr uint32_t kThirdPassFrom = 64;
constexpr double kShareOfSecondPass = 0.85;
constexpr double kShareOfThirdPass = 0.995;
// Groups of which none decodes after more was asked for twice get so many times
// their pairs.
constexpr double kGrowthLater = 1.8;

}  // namespace

std::vector<uint32_t> GroupSyndromes(
    const SearchedLeaves& leaves, const SymbolShape& shape,
    std::span<const uint32_t> groups,
    absl::FunctionRef<uint32_t(const Digest&)> symbol, uint32_t first,
    uint32_t count) {
  const uint32_t places = shape.places();
  std::vector<uint32_t> symbols;
  symbols.reserve(groups.size() * places);
  for (const uint32_t group : groups) {
    for (uint32_t leaf = group * places; leaf < (group + 1) * places; ++leaf) {
      symbols.push_back(0);
      if (!leaves.closed[leaf]) symbols.back() = symbol(leaves.digests[leaf]);
    }
  }
  return SymbolSyndromes(Field(shape.bits()), symbols, places, first, count);
}

bool AnyClosed(const SearchedLeaves& leaves, uint32_t first,
               std::span<const SymbolDifference> differences) {
  return std::any_of(differences.begin(), differences.end(),
                     [&](const SymbolDifference& one) {
                       return leaves.closed[first + one.place];
                     });
}

LeafGroups::LeafGroups(const SearchedLeaves& leaves, const SymbolShape& shape,
                       Prefer prefer)
    : leaves_(leaves), hurry_(prefer == Prefer::kRoundTrips), shape_(shape) {
  Cut(/*group_bits=*/0);
}

void LeafGroups::Cut(int group_bits) {
  shape_.group_bits = group_bits;
  pairs_ = 0;
  open_.assign(shape_.groups(), {});
  for (uint32_t group = 0; group < shape_.groups(); ++group) {
    open_[group].group = group;
  }
}

std::vector<uint32_t> LeafGroups::Syndromes(uint32_t first,
                                            uint32_t count) const {
  std::vector<uint32_t> groups;
  groups.reserve(open_.size());
  for (const OpenGroup& open : open_) groups.push_back(open.group);
  return GroupSyndromes(
      leaves_, shape_, groups,
      [&](const Digest& leaf) {
        return LeafSymbol(leaf, leaves_.symbol_key, shape_.bits());
      },
      first, count);
}

// --- The side that sends ----------------------------------------------------

void LeafGroups::Send(uint32_t pairs, std::string* out) {
  PackSums(Syndromes(2 * pairs_, 2 * (pairs - pairs_)), shape_.bits(), out);
  pairs_ = pairs;
}

absl::Status LeafGroups::TakeRequest(std::string_view request,
                                     std::string* rest) {
  MoreSyndromes more;
  const absl::Status status = GetMore(request, open_.size(), pairs_, &more);
  if (!status.ok()) return status;
  std::vector<OpenGroup> open;
  for (size_t i = 0; i < open_.size(); ++i) {
    if (more.open[i]) open.push_back(std::move(open_[i]));
  }
  open_ = std::move(open);
  Send(more.pairs, rest);
  return absl::OkStatus();
}

// --- The side that decodes --------------------------------------------------

void LeafGroups::TakeProbe(std::span<const uint32_t> theirs) {
  Add(theirs);
  Decode(/*spare=*/1);
}

void LeafGroups::Take(std::span<const uint32_t> theirs) {
  Add(theirs);
  const std::vector<uint32_t> decoded = Decode(/*spare=*/0);
  if (open_.empty()) return;
  if (!InVain()) {
    Ask(decoded);
    return;
  }
  for (const OpenGroup& open : open_) given_up_.push_back(open.group);
  open_.clear();
}

absl::Status LeafGroups::TakeRest(std::string_view body) {
  std::vector<uint32_t> theirs;
  const absl::Status status =
      GetSyndromes(body, shape_.bits(), open_.size(), pairs_, &theirs);
  if (!status.ok()) return status;
  if (theirs.size() != 2 * open_.size() * (more_.pairs - pairs_)) {
    return BadSearch("not as many syndromes as were asked for");
  }
  Take(theirs);
  return absl::OkStatus();
}

void LeafGroups::Add(std::span<const uint32_t> theirs) {
  const auto count = static_cast<uint32_t>(theirs.size() / open_.size());
  const std::vector<uint32_t> mine = Syndromes(2 * pairs_, count);
  for (size_t i = 0; i < open_.size(); ++i) {
    for (size_t j = i * count; j < (i + 1) * count; ++j) {
      open_[i].syndromes.push_back(mine[j] ^ theirs[j]);
    }
  }
  pairs_ += count / 2;
}

std::vector<uint32_t> LeafGroups::Decode(uint32_t spare) {
  const Field field(shape_.bits());
  std::vector<uint32_t> decoded;
  std::vector<OpenGroup> failed;
  more_ = {};
  for (OpenGroup& open : open_) {
    std::vector<SymbolDifference> differences;
    // The syndromes of many differences would decode to wrong ones too often
    // if none were to spare.
    const bool took =
        DecodeSymbols(field, open.syndromes, shape_.places(), &differences) &&
        differences.size() + spare <= pairs_ &&
        TakeGroup(open.group, differences);
    more_.open.push_back(!took);
    if (took) {
      decoded.push_back(static_cast<uint32_t>(differences.size()));
    } else {
      failed.push_back(std::move(open));
    }
  }
  open_ = std::move(failed);
  ++passes_;
  return decoded;
}

bool LeafGroups::TakeGroup(uint32_t group,
                           std::span<const SymbolDifference> differences) {
  const uint32_t first = group * shape_.places();
  if (AnyClosed(leaves_, first, differences)) return false;
  for (const SymbolDifference& one : differences) {
    differences_.push_back({first + one.place, one.value});
  }
  return true;
}

bool LeafGroups::InVain() const {
  const bool none = passes_ > kMaxPassesInVain &&
                    open_.size() == shape_.groups() &&
                    shape_.groups() >= kManyGroups;
  return none || passes_ > kMaxSearchPasses || pairs_ == kMaxSyndromePairs;
}

void LeafGroups::AskForFirst() {
  more_.open.assign(open_.size(), true);
  Ask({});
}

// `decoded` are the sizes of the groups that the last pass decoded.
void LeafGroups::Ask(std::span<const uint32_t> decoded) {
  const bool single = shape_.group_bits == 0;
  const uint32_t left = passes_ < kPasses ? kPasses - passes_ : 1;
  double share = ShareToDecode(left, hurry_);
  if (!hurry_ && shape_.groups() >= kThirdPassFrom) {
    share = asked_ > 0 ? kShareOfThirdPass : kShareOfSecondPass;
  }
  uint32_t wanted =
      NextSums(pairs_, decoded, static_cast<uint32_t>(open_.size()), share,
               hurry_, single, kShareOfFine * expected_ / shape_.groups());
  // Groups of which none has decoded tell only that they failed. The more often
  // they do, the less the estimate is worth.
  const bool none = open_.size() == shape_.groups();
  if (none && asked_ > 1) {
    wanted = std::max(wanted, static_cast<uint32_t>(kGrowthLater * pairs_));
  }
  ++asked_;
  more_.pairs = std::min(wanted, kMaxSyndromePairs);
}

std::string LeafGroups::Request() const {
  std::string body;
  PutMore(more_, &body);
  return body;
}

}  // namespace rocksync
