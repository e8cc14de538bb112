#include "replication/reconcile/exchange_key_parities.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "replication/reconcile/exchange_messages.h"
#include "replication/reconcile/exchange_parities.h"
#include "sketch/element/coding.h"
#include "sketch/pinsketch/keyed_set.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// Fewer differing keys, or a smaller share of all keys, cost little in a
// sketch.
constexpr double kFewestDiffering = 150;
constexpr double kSmallShare = 0.001;
// The most surplus per differing key: more obscures too many cells.
constexpr double kMaxSurplusShare = 0.06;
// Plans within this factor of the best are as good; the one with the most
// planes saves round trips.
constexpr double kAsGood = 1.05;
// How many planes the plan assumes for the exchange that finds what is left.
constexpr uint32_t kLaterPlanes = 5;
// The least share of all cells to split at a time.
constexpr double kLeastSplit = 0.12;
// How many messages may follow the first: decoding each takes CPU time.
constexpr int kMaxAttempts = 3;
// Decoding is not tried with fewer cells than this share of the plan's.
constexpr double kHopeless = 0.85;
// Wrong judgements of a plane that are tolerated. Each offers a pair in vain,
// or leaves one to a later plane.
constexpr double kFewErrors = 2;
constexpr double kToleratedShare = 0.01;
constexpr double kToleratedOfSurplus = 0.5;
// Bits that a search for leaves takes for a leaf, pure leaves included
// (measured at 1 000 and 10 000 leaves).
constexpr double kSearchedLeafBits = 28;
constexpr double kMaxOfLeaves = 0.99;
constexpr int kSlack = 10;
// Bounds on the cells of a plane for which a peer can make this side allocate.
constexpr uint64_t kMaxCellsPerElement = 2;
constexpr uint64_t kFewestCells = uint64_t{1} << 16;

double PlanesBits(double n, const DifferingKeys& difference, uint32_t planes) {
  double bits = 0;
  for (uint32_t plane = 0; plane < planes; ++plane) {
    bits += KeyPlaneBits(n, difference.differing, difference.surplus, plane);
  }
  return bits;
}

// Returns the bits that find `left` differing keys in a later exchange.
double LaterBits(double n, double left, int slack) {
  const double sketch = SketchBits(n, 2 * left, slack);
  if (left < kFewestDiffering) return sketch;
  const double rest = left * std::exp2(-static_cast<double>(kLaterPlanes));
  return std::min(sketch, PlanesBits(n, {left, 0}, kLaterPlanes) +
                              SketchBits(n, 2 * rest, slack));
}

CoupledShape ShapePlane(double n, const DifferingKeys& difference,
                        uint32_t plane) {
  return ShapeCoupled(static_cast<uint64_t>(
      KeyPlaneBits(n, difference.differing, difference.surplus, plane)));
}

}  // namespace

KeyParityPlan PlanKeyParities(double n, const DifferingKeys& difference,
                              int slack, double later_bits) {
  const auto [differing, surplus] = difference;
  if (differing < kFewestDiffering || differing < kSmallShare * n ||
      differing / 2 > kMaxParityShare * n ||
      surplus > kMaxSurplusShare * differing) {
    return {};
  }
  std::array<double, kMaxKeyPlanes + 1> bits{};
  for (uint32_t planes = 1; planes <= kMaxKeyPlanes; ++planes) {
    const double left = differing * std::exp2(-static_cast<double>(planes));
    bits[planes] = PlanesBits(n, difference, planes) +
                   LaterBits(n, left + surplus / 2, slack) +
                   later_bits * (left + surplus);
  }
  const double best = *std::min_element(bits.begin() + 1, bits.end());
  uint32_t planes = kMaxKeyPlanes;
  while (bits[planes] > kAsGood * best) --planes;
  return {planes, bits[planes]};
}

bool ReadingAllKeysSaves(double n, double differing_leaves, double leaves) {
  const double share = std::min(differing_leaves / leaves, kMaxOfLeaves);
  const double differing = -leaves * std::log1p(-share);
  const KeyParityPlan all = PlanKeyParities(n, {differing, 0}, kSlack, 0);
  const KeyParityPlan searched =
      PlanKeyParities(n * share, {differing, 0}, kSlack, kSearchedLeafBits);
  if (all.planes == 0) return false;
  const double other = searched.planes > 0
                           ? searched.bits
                           : SketchBits(n * share, 2 * differing, kSlack);
  const double saved =
      (kSearchedLeafBits * differing_leaves + other - all.bits) / 8;
  return saved * kElementsPerByte > n * (1 - share);
}

double KeyElementsLeft(double found, uint64_t planes, double surplus) {
  const double parts =
      std::exp2(static_cast<double>(std::min<uint64_t>(planes, kMaxKeyPlanes)));
  return 2 * found / std::max(parts - 1, 1.0) + surplus;
}

// --- The sender -------------------------------------------------------------

std::string KeyParitySender::First(const DifferingKeys& difference,
                                   uint32_t planes, bool last) {
  std::string body;
  PutHead(difference, last, 0, &body);
  AppendPlanes(difference, planes, &body);
  return body;
}

bool KeyParitySender::Next(const DifferingKeys& difference, bool decoded,
                           uint32_t planes, std::string* body) {
  if (++attempts_ > kMaxAttempts) return false;
  const uint32_t split = decoded ? 0 : Split(difference);
  if (!decoded && split == 0) {
    planes_ = 0;
    split_ = 0;
  }
  PutHead(difference, /*last=*/true, split, body);
  if (split > 0) first_->AppendSplits(split_, split_ + split, body);
  split_ += split;
  AppendPlanes(difference, planes, body);
  return true;
}

// Returns 0 if the plane has to be replaced.
uint32_t KeyParitySender::Split(const DifferingKeys& difference) const {
  const double cells = first_->shape().cells;
  const double wanted =
      KeyPlaneBits(theirs_, difference.differing, difference.surplus, 0) /
      first_->shape().segments();
  const double more = std::max(std::ceil(wanted - cells),
                               split_ + std::ceil(kLeastSplit * cells));
  return more > cells ? 0 : static_cast<uint32_t>(more) - split_;
}

void KeyParitySender::PutHead(const DifferingKeys& difference, bool last,
                              uint32_t split, std::string* body) const {
  PutVarint64(body,
              2 * static_cast<uint64_t>(difference.surplus) + (last ? 0 : 1));
  PutVarint64(body, split);
}

void KeyParitySender::AppendPlanes(const DifferingKeys& difference,
                                   uint32_t planes, std::string* body) {
  const MappingKey bits = DeriveMapping(mine_.seed, kKeyBitsPurpose, 0);
  for (; planes_ < planes; ++planes_) {
    const CoupledShape shape = ShapePlane(theirs_, difference, planes_);
    CoupledParities parities(
        CoupledMembers(mine_.elements, mine_.positions, bits, planes_),
        DerivePlaneKeys(mine_.seed, planes_), shape);
    PutCoupledShape(shape, body);
    parities.AppendCells(body);
    if (planes_ == 0) first_.emplace(std::move(parities));
  }
  sent_bits_ += 8 * static_cast<double>(body->size());
}

// --- The receiver -----------------------------------------------------------

CoupledMembers KeyParityReceiver::Members(uint32_t plane) const {
  return {mine_.elements, mine_.positions,
          DeriveMapping(mine_.seed, kKeyBitsPurpose, 0), plane};
}

absl::Status KeyParityReceiver::Take(std::string_view body) {
  uint64_t head = 0;
  uint64_t split = 0;
  if (!GetVarint64(&body, 2 * kMaxKeyedElements + 1, &head) ||
      !GetVarint64(&body, kMaxSegmentCells, &split)) {
    return absl::InvalidArgumentError("parities of keys truncated");
  }
  if (complete() || attempts_++ > kMaxAttempts) {
    return absl::InvalidArgumentError("parities of keys too often");
  }
  more_follows_ = head % 2 != 0;
  surplus_ = static_cast<double>(std::min(head / 2, peer_count_));
  if (decoded_ == 0 && split == 0) {
    planes_.clear();
    first_.reset();
  }
  absl::Status status = ReceiveSplits(split, &body);
  while (status.ok() && !body.empty()) status = ReceivePlane(&body);
  if (!status.ok()) return status;
  if (planes_.empty()) {
    return absl::InvalidArgumentError("parities of keys without a plane");
  }
  if (decoded_ == 0 && first_ == nullptr) {
    first_ = std::make_unique<CoupledDecoder>(
        Members(0), DerivePlaneKeys(mine_.seed, 0), planes_.front().shape);
    if (!first_->TakeCells(planes_.front().bits)) {
      return absl::InternalError("parities were of the right size");
    }
  }
  Decode();
  return absl::OkStatus();
}

absl::Status KeyParityReceiver::ReceiveSplits(uint64_t count,
                                              std::string_view* body) {
  if (count == 0) return absl::OkStatus();
  if (first_ == nullptr || count > first_->shape().cells - first_->split()) {
    return absl::InvalidArgumentError("cells of keys split out of order");
  }
  const uint64_t size = CoupledBytes(count * first_->shape().segments());
  const auto to = static_cast<uint32_t>(first_->split() + count);
  if (body->size() < size ||
      !first_->ReceiveSplits(to, body->substr(0, size))) {
    return absl::InvalidArgumentError("split cells of a wrong size");
  }
  body->remove_prefix(size);
  return absl::OkStatus();
}

absl::Status KeyParityReceiver::ReceivePlane(std::string_view* body) {
  if (planes_.size() == kMaxKeyPlanes) {
    return absl::InvalidArgumentError("too many planes");
  }
  Plane plane;
  const uint64_t most =
      kFewestCells +
      kMaxCellsPerElement * (mine_.elements.size() + peer_count_);
  const absl::Status status = GetCoupledShape(body, most, &plane.shape);
  if (!status.ok()) return status;
  const uint64_t size = CoupledBytes(plane.shape.total_cells());
  if (body->size() < size) {
    return absl::InvalidArgumentError("parities of a wrong size");
  }
  plane.bits = body->substr(0, size);
  const auto spare = static_cast<int>(8 * size - plane.shape.total_cells());
  if (spare > 0 && static_cast<uint8_t>(plane.bits.back()) >> (8 - spare)) {
    return absl::InvalidArgumentError("spare bits after parities");
  }
  body->remove_prefix(size);
  planes_.push_back(std::move(plane));
  return absl::OkStatus();
}

void KeyParityReceiver::Decode() {
  if (decoded_ == 0) {
    if (!DecodeFirst()) return;
    first_.reset();
    decoded_ = 1;
    differing_ = 2 * found_.size();
  }
  while (decoded_ < planes_.size() && DecodePlane(decoded_)) ++decoded_;
}

// Half of the keys that differ show in the first plane.
bool KeyParityReceiver::DecodeFirst() {
  const double n = static_cast<double>(mine_.elements.size());
  const double showing = std::min(first_->EstimateDifferences(), n);
  const double differing = std::clamp(2 * showing - surplus_, 1.0, n);
  differing_ = static_cast<uint64_t>(differing);
  const double cells = static_cast<double>(first_->shape().segments()) *
                       (first_->shape().cells + first_->split());
  if (cells < kHopeless * KeyPlaneBits(n, differing, surplus_, 0)) return false;
  return Add(first_->Decode(differing / 2, surplus_ / 2));
}

bool KeyParityReceiver::DecodePlane(uint32_t plane) {
  CoupledDecoder decoder(Members(plane), DerivePlaneKeys(mine_.seed, plane),
                         planes_[plane].shape);
  if (!decoder.TakeCells(planes_[plane].bits)) return false;
  const double known = static_cast<double>(found_.size());
  const double open = known / (std::exp2(static_cast<double>(plane)) - 1);
  return Add(decoder.Decode((known + open) / 2, surplus_ / 2, found_));
}

// Returns false if too much of the outcome is probably wrong.
bool KeyParityReceiver::Add(const CoupledDecoder::Outcome& outcome) {
  const double tolerated =
      std::max({kFewErrors,
                kToleratedShare * static_cast<double>(outcome.missing.size()),
                kToleratedOfSurplus * surplus_});
  if (outcome.expected_errors > tolerated) return false;
  std::vector<uint32_t> all;
  std::set_union(found_.begin(), found_.end(), outcome.missing.begin(),
                 outcome.missing.end(), std::back_inserter(all));
  found_ = std::move(all);
  return true;
}

}  // namespace rocksync
