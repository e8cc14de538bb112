#include "replication/reconcile/leaf_parities.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "replication/reconcile/exchange_messages.h"
#include "replication/reconcile/leaf_groups.h"
#include "replication/reconcile/leaf_parity_plan.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/coding.h"
#include "sketch/element/digest.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/symbol_syndromes.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// The first parities are made for this share of the leaves that the coarse
// estimate tells, which is a third off: too many would be sent in vain. A fine
// one is some 6 % off, and taken as it is.
constexpr double kFirstShareOfParities = 1.1;
// The least share of all cells to split at a time, and the fewest: another
// round trip is worth more. What parities are made for beside the number that
// the cells tell.
constexpr double kLeastSplit = 0.08;
constexpr double kFewestSplit = 400;
constexpr double kShareOfTold = 1.02;
// Decoding is not tried with fewer cells than this share of what the odd leaves
// call for, and counts if fewer leaves than this are probably wrong.
constexpr double kHopeless = 0.93;
constexpr double kFewWrong = 1.5;
constexpr uint64_t kLeavesPerUnexplained = 200;
// How often parities may be sent: decoding takes CPU time.
constexpr int kMaxAttempts = 5;
// Bounds on the cells for which a peer can make this side allocate.
constexpr uint64_t kMaxCellsPerLeaf = 2;
constexpr uint64_t kFewestCells = 1 << 12;
// At least this share of the leaves that are expected differ, mostly.
constexpr double kSurelyExpected = 0.65;
// What is left of the groups after so many passes is given up, and before more
// would have to be computed than several times what an honest peer's groups
// take (some 20 a leaf at most).
constexpr uint32_t kMaxPasses = 5;
constexpr uint64_t kMaxWorkPerLeaf = 200;

std::vector<uint8_t> CountBits(std::span<const Digest> leaves) {
  std::vector<uint8_t> bits(leaves.size());
  for (size_t i = 0; i < leaves.size(); ++i) bits[i] = leaves[i].count & 1;
  return bits;
}

// A symbol of `bits` + 1 bits without the last bit of the count.
uint32_t WithoutOdd(uint32_t symbol, int bits) {
  const uint32_t sum = symbol & SumMask(bits + 1);
  return symbol >> bits << (bits - 1) | sum;
}

uint32_t WithOdd(uint32_t rest, bool odd, int bits) {
  const uint32_t sum = rest & SumMask(bits + 1);
  return rest >> (bits - 1) << bits | (odd ? 1u << (bits - 1) : 0) | sum;
}

// Returns syndromes of these groups, of symbols without the last bit of the
// count.
std::vector<uint32_t> RestSyndromes(const SearchedLeaves& leaves,
                                    const SymbolShape& shape,
                                    std::span<const uint32_t> groups,
                                    uint32_t first, uint32_t count) {
  const int bits = shape.bits();
  return GroupSyndromes(
      leaves, shape, groups,
      [&](const Digest& leaf) {
        return WithoutOdd(LeafSymbol(leaf, leaves.symbol_key, bits + 1), bits);
      },
      first, count);
}

}  // namespace

// --- The sender -------------------------------------------------------------

LeafParitySender::LeafParitySender(const SearchedLeaves& leaves,
                                   const SymbolShape& shape)
    : leaves_(leaves), shape_(shape), sent_(shape.groups(), 0) {}

std::string LeafParitySender::Parities(double odd) {
  const auto leaves = static_cast<double>(leaves_.digests.size());
  const std::vector<uint8_t> bits = CountBits(leaves_.digests);
  parities_.emplace(CoupledMembers(bits, leaves_.closed),
                    DeriveCoupledKeys(leaves_.seed),
                    ShapeCoupled(static_cast<uint64_t>(CellsFor(leaves, odd))));
  split_ = 0;
  std::string body(1, static_cast<char>(shape_.group_bits));
  PutVarint64(&body, static_cast<uint64_t>(differing_));
  PutCoupledShape(parities_->shape(), &body);
  parities_->AppendCells(&body);
  return body;
}

std::string LeafParitySender::First(double differing, bool finely) {
  differing_ = differing;
  return Parities(
      (finely ? 1 : kFirstShareOfParities) *
      OddLeaves(static_cast<double>(leaves_.digests.size()), differing));
}

bool LeafParitySender::Next(uint64_t odd, LeafSearchKind* kind,
                            std::string* body) {
  const auto leaves = static_cast<double>(leaves_.digests.size());
  const double told = static_cast<double>(odd) * kShareOfTold;
  if (odd == 0 || told > kMaxParityShare * leaves ||
      ++attempts_ == kMaxAttempts) {
    return false;
  }
  const CoupledShape& shape = parities_->shape();
  const double cells = shape.cells;
  const double needed =
      std::ceil(CellsFor(leaves, told) / shape.segments()) - cells;
  const double least =
      std::ceil(std::max(kLeastSplit * cells, kFewestSplit / shape.segments()));
  double wanted = std::max(needed, split_ + least);
  if (needed <= cells && split_ < cells) wanted = std::min(wanted, cells);
  if (wanted > cells) {
    *kind = LeafSearchKind::kParities;
    *body = Parities(told);
    return true;
  }
  *kind = LeafSearchKind::kSplits;
  const auto to = static_cast<uint32_t>(wanted);
  PutVarint64(body, to);
  parities_->AppendSplits(split_, to, body);
  split_ = to;
  return true;
}

absl::Status LeafParitySender::TakeRequest(std::string_view request,
                                           std::string* rest) {
  std::vector<uint32_t> wanted;
  const absl::Status status = GetOfEach(request, sent_, &wanted);
  if (!status.ok()) return status;
  std::vector<uint32_t> groups;
  uint32_t first = kMaxGroupSyndromes;
  uint32_t end = 0;
  for (uint32_t group = 0; group < wanted.size(); ++group) {
    if (wanted[group] == 0) continue;
    groups.push_back(group);
    first = std::min(first, sent_[group]);
    end = std::max(end, wanted[group]);
  }
  const std::vector<uint32_t> all =
      RestSyndromes(leaves_, shape_, groups, first, end - first);
  BitWriter writer(rest);
  for (size_t i = 0; i < groups.size(); ++i) {
    uint32_t& sent = sent_[groups[i]];
    for (; sent < wanted[groups[i]]; ++sent) {
      writer.Put(all[i * (end - first) + sent - first], shape_.bits());
    }
  }
  return absl::OkStatus();
}

// --- The receiver -----------------------------------------------------------

absl::Status LeafParityReceiver::TakeParities(std::string_view body,
                                              int least_bits) {
  const auto leaves = static_cast<uint32_t>(leaves_.digests.size());
  SymbolShape shape{.leaves = leaves, .least_bits = least_bits};
  absl::Status status = GetGroupBits(&body, &shape);
  if (!status.ok()) return status;
  if (odd_known_ || attempts_++ == kMaxAttempts) {
    return BadSearch("parities of leaves too often");
  }
  if (shape.bits() >= kMaxSymbolBits) return BadSearch("groups too large");
  if (shape.group_bits > 0 && shape.places() < kFewestPlaces) {
    return BadSearch("groups too small");
  }
  if (!GetVarint64(&body, leaves, &expected_)) {
    return BadSearch("not a number of leaves");
  }
  CoupledShape cells;
  status =
      GetCoupledShape(&body, kFewestCells + kMaxCellsPerLeaf * leaves, &cells);
  if (!status.ok()) return status;
  if (body.size() != CoupledBytes(cells.total_cells())) {
    return BadSearch("parities of a wrong size");
  }
  shape_ = shape;
  const std::vector<uint8_t> bits = CountBits(leaves_.digests);
  decoder_ =
      std::make_unique<CoupledDecoder>(CoupledMembers(bits, leaves_.closed),
                                       DeriveCoupledKeys(leaves_.seed), cells);
  if (!decoder_->TakeCells(body)) return BadSearch("spare bits after parities");
  DecodeOdd();
  return absl::OkStatus();
}

absl::Status LeafParityReceiver::TakeSplits(std::string_view body) {
  if (decoder_ == nullptr || attempts_++ == kMaxAttempts) {
    return BadSearch("unexpected splits");
  }
  uint64_t to = 0;
  if (!GetVarint64(&body, kMaxSegmentCells, &to) ||
      !decoder_->ReceiveSplits(static_cast<uint32_t>(to), body)) {
    return BadSearch("split cells of a wrong size");
  }
  DecodeOdd();
  return absl::OkStatus();
}

void LeafParityReceiver::DecodeOdd() {
  const auto leaves = static_cast<double>(leaves_.digests.size());
  const double odd = decoder_->EstimateDifferences();
  // Nothing can be told where about half of the cells or of the leaves are odd.
  odd_ = odd < leaves / 2 ? static_cast<uint64_t>(std::ceil(odd)) : 0;
  const double cells = static_cast<double>(decoder_->shape().segments()) *
                       (decoder_->shape().cells + decoder_->split());
  if (odd_ == 0 && odd > 0) return;
  if (cells < kHopeless * CellsFor(leaves, odd)) return;
  const CoupledDecoder::Outcome outcome = decoder_->Decode(odd, 0);
  // Where nothing is noise what is found explains each cell, but for a few
  // leaves of many.
  const uint64_t found = outcome.missing.size();
  if (outcome.expected_errors > kFewWrong ||
      outcome.unexplained_cells > found / kLeavesPerUnexplained) {
    return;
  }
  odd_ = outcome.missing.size();
  odd_known_ = true;
  decoder_.reset();
  OpenGroups(outcome.missing);
}

void LeafParityReceiver::OpenGroups(const std::vector<uint32_t>& odd) {
  // Leaves of overwritten keys are not odd: the sender's estimate counts them.
  const auto known = static_cast<double>(odd.size());
  const double others =
      std::max(OtherLeaves(shape_.leaves, known),
               kSurelyExpected * static_cast<double>(expected_) - known);
  others_a_group_ = others / shape_.groups();
  const uint32_t first =
      FirstOthers(others_a_group_, shape_.groups(), shape_.bits());
  open_.resize(shape_.groups());
  for (uint32_t group = 0; group < shape_.groups(); ++group) {
    open_[group].group = group;
    open_[group].others = first;
  }
  const uint32_t places = shape_.places();
  for (const uint32_t leaf : odd) {
    open_[leaf / places].odd.push_back(leaf % places);
  }
  GiveUpSome();
}

void LeafParityReceiver::GiveUpSome() {
  // Decoding takes about the square of the syndromes.
  for (const OpenGroup& open : open_) {
    work_ += uint64_t{open.wanted()} * open.wanted();
  }
  const bool too_much =
      passes_ == kMaxPasses || work_ > kMaxWorkPerLeaf * shape_.leaves;
  std::erase_if(open_, [&](const OpenGroup& open) {
    const bool hopeless =
        too_much || open.wanted() > kMaxGroupSyndromes ||
        open.wanted() > 2 * std::max(shape_.places(), kFewestPlaces);
    if (hopeless) given_up_.push_back(open.group);
    return hopeless;
  });
}

uint32_t LeafParityReceiver::OpenGroup::wanted() const {
  return static_cast<uint32_t>(odd.size()) + SpareSyndromes(others);
}

LeafSearchKind LeafParityReceiver::Reply(std::string* body) const {
  if (!odd_known_) {
    PutVarint64(body, odd_);
    return LeafSearchKind::kOdd;
  }
  std::vector<uint32_t> wanted(shape_.groups(), 0);
  for (const OpenGroup& open : open_) wanted[open.group] = open.wanted();
  PutOfEach(wanted, body);
  return LeafSearchKind::kOfEach;
}

absl::Status LeafParityReceiver::TakeEach(std::string_view body) {
  if (!odd_known_ || open_.empty()) return BadSearch("unexpected syndromes");
  const int bits = shape_.bits();
  uint64_t count = 0;
  uint32_t end = 0;
  std::vector<uint32_t> groups;
  for (const OpenGroup& open : open_) {
    count += open.wanted() - open.syndromes.size();
    end = std::max(end, open.wanted());
    groups.push_back(open.group);
  }
  if (body.size() != (count * bits + 7) / 8) {
    return BadSearch("not as many syndromes as were asked for");
  }
  const std::vector<uint32_t> mine =
      RestSyndromes(leaves_, shape_, groups, 0, end);
  BitReader reader(body);
  size_t row = 0;
  for (OpenGroup& open : open_) {
    const uint32_t* const own = &mine[row++ * end];
    while (open.syndromes.size() < open.wanted()) {
      uint64_t theirs = 0;
      if (!reader.Get(bits, &theirs)) return BadSearch("truncated syndromes");
      open.syndromes.push_back(static_cast<uint32_t>(theirs) ^
                               own[open.syndromes.size()]);
    }
  }
  if (!reader.AtEnd()) return BadSearch("spare bits after syndromes");
  DecodeGroups();
  ++passes_;
  GiveUpSome();
  return absl::OkStatus();
}

void LeafParityReceiver::DecodeGroups() {
  std::vector<std::vector<SymbolDifference>> decoded(open_.size());
  std::vector<bool> failed(open_.size());
  for (size_t i = 0; i < open_.size(); ++i) {
    failed[i] = !DecodeGroup(open_[i], &decoded[i]);
  }
  // Where most fail, keys were overwritten, and a group that needs all its
  // syndromes is probably one of those that need more. How many decode tells
  // how many others there are.
  const bool most_fail =
      2 * std::count(failed.begin(), failed.end(), true) > std::ssize(open_);
  std::vector<OpenGroup> open;
  for (size_t i = 0; i < open_.size(); ++i) {
    OpenGroup& group = open_[i];
    const size_t most = group.odd.size() + group.others;
    if (failed[i] || (most_fail && decoded[i].size() == most)) {
      open.push_back(std::move(group));
    } else {
      TakeGroup(group, decoded[i]);
    }
  }
  if (!open.empty()) {
    const auto all = static_cast<double>(open_.size());
    const double share =
        (all - static_cast<double>(open.size()) + 0.5) / (all + 1);
    const uint32_t below = open.front().others + (most_fail ? 0 : 1);
    others_a_group_ = std::max(others_a_group_, MeanOthers(below, share));
  }
  const uint32_t first = FirstOthers(
      others_a_group_, static_cast<double>(open.size()), shape_.bits());
  for (OpenGroup& group : open) {
    group.others = most_fail ? std::max(group.others + 1, first)
                             : MoreOthers(group.others, others_a_group_);
  }
  open_ = std::move(open);
}

bool LeafParityReceiver::DecodeGroup(
    const OpenGroup& open, std::vector<SymbolDifference>* decoded) const {
  return DecodeSymbols(Field(shape_.bits()), open.syndromes, shape_.places(),
                       open.odd, decoded) &&
         !AnyClosed(leaves_, open.group * shape_.places(), *decoded);
}

void LeafParityReceiver::TakeGroup(
    const OpenGroup& open, const std::vector<SymbolDifference>& decoded) {
  const uint32_t first = open.group * shape_.places();
  for (const SymbolDifference& one : decoded) {
    const bool odd =
        std::binary_search(open.odd.begin(), open.odd.end(), one.place);
    differences_.push_back(
        {first + one.place, WithOdd(one.value, odd, shape_.bits())});
  }
}

}  // namespace rocksync
