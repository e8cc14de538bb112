#include "replication/reconcile/exchange_parities.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sketch/element/coding.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// The least share of missing elements for parities, beside kLeastLack.
constexpr double kSmallShare = 0.0005;
// The most surplus per missing element: more obscures too many cells.
constexpr double kMaxSurplusShare = 0.06;
// The least share of the cells to split at a time, and how often cells are
// split: smaller splits make no difference, and each costs a round trip.
constexpr double kLeastSplit = 0.12;
constexpr int kMaxSplits = 3;
// Decoding is not tried with fewer cells than this share of the plan's.
constexpr double kHopeless = 0.9;
// About how many bits a wrong judgement costs: it hides an element until the
// sketch, or offers a pair in vain. Such errors are tolerated as long as more
// parities would cost more.
constexpr double kErrorBits = 500;
constexpr double kFewErrors = 8;
constexpr double kToleratedShare = 0.2;
// Bounds on the cells that a peer can make this side allocate.
constexpr uint64_t kMaxCellsPerElement = 2;
constexpr uint64_t kFewestCells = uint64_t{1} << 16;
// Bits that a search for leaves takes for each element that only one side has,
// its name included (measured at 10 to 20 elements a leaf).
constexpr double kSearchBits = 27;
constexpr int kSlack = 10;

}  // namespace

double ParityPlanBits(double mine, double theirs, double surplus, int slack) {
  const double missing = theirs - mine + surplus;
  if (theirs - mine < static_cast<double>(kLeastLack) ||
      missing < kSmallShare * theirs || missing > kMaxParityShare * theirs ||
      surplus > kMaxSurplusShare * missing) {
    return std::numeric_limits<double>::infinity();
  }
  return ParityBits(theirs, missing, surplus) +
         SketchBits(theirs, std::max(surplus, 1.0), slack);
}

bool ReadingAllSaves(double less, double more, double leaves) {
  const double missing = more - less;
  const double saved =
      (kSearchBits * missing - ParityPlanBits(less, more, 0, kSlack)) / 8;
  const double searched = -std::expm1(-missing / leaves);  // of the leaves
  return saved * kElementsPerByte > more * (1 - searched);
}

ParitySender::ParitySender(std::span<const ElementHash> elements,
                           const std::vector<bool>& closed,
                           const CoupledKeys& keys, double theirs,
                           double surplus)
    : mine_(static_cast<double>(elements.size())),
      theirs_(theirs),
      parities_(elements, closed, keys,
                ShapeCoupled(static_cast<uint64_t>(
                    ParityBits(theirs, theirs - mine_ + surplus, surplus)))) {}

std::string ParitySender::First() const {
  std::string body;
  PutCoupledShape(parities_.shape(), &body);
  parities_.AppendCells(&body);
  return body;
}

bool ParitySender::Next(double surplus, double other_bits, int slack,
                        std::string* body) {
  const double all = ParityPlanBits(mine_, theirs_, surplus, slack);
  const double sent = static_cast<double>(parities_.shape().segments()) *
                      (parities_.shape().cells + split_);
  if (!(all - sent < other_bits) || splits_++ == kMaxSplits ||
      split_ == parities_.shape().cells) {
    return false;
  }
  const double bits = ParityBits(theirs_, theirs_ - mine_ + surplus, surplus);
  const double cells = parities_.shape().cells;
  const double least = split_ + std::ceil(kLeastSplit * cells);
  const double wanted =
      bits / static_cast<double>(parities_.shape().segments()) - cells;
  const uint32_t to =
      static_cast<uint32_t>(std::min(std::max(wanted, least), cells));
  PutVarint64(body, to);
  parities_.AppendSplits(split_, to, body);
  split_ = to;
  return true;
}

absl::Status ParityReceiver::First(std::string_view body,
                                   std::span<const ElementHash> elements,
                                   const std::vector<bool>& closed,
                                   const CoupledKeys& keys,
                                   uint64_t peer_count) {
  CoupledShape shape;
  const uint64_t most =
      kFewestCells + kMaxCellsPerElement * (elements.size() + peer_count);
  const absl::Status status = GetCoupledShape(&body, most, &shape);
  if (!status.ok()) return status;
  if (body.size() != CoupledBytes(shape.total_cells())) {
    return absl::InvalidArgumentError("parities of a wrong size");
  }
  if (elements.size() <= peer_count) {
    return absl::InvalidArgumentError("parities from the larger side");
  }
  decoder_ = std::make_unique<CoupledDecoder>(elements, closed, keys, shape);
  if (!decoder_->TakeCells(body)) {
    return absl::InvalidArgumentError("spare bits after parities");
  }
  mine_ = static_cast<double>(elements.size());
  lack_ = mine_ - static_cast<double>(peer_count);
  cells_ = static_cast<double>(shape.total_cells());
  Decode();
  return absl::OkStatus();
}

absl::Status ParityReceiver::Next(std::string_view body) {
  if (splits_++ == kMaxSplits) {  // decoding takes CPU time
    return absl::InvalidArgumentError("cells split too often");
  }
  uint64_t to = 0;
  const uint32_t before = decoder_->split();
  if (!GetVarint64(&body, kMaxSegmentCells, &to) ||
      !decoder_->ReceiveSplits(static_cast<uint32_t>(to), body)) {
    return absl::InvalidArgumentError("split cells of a wrong size");
  }
  cells_ += static_cast<double>(to - before) * decoder_->shape().segments();
  Decode();
  return absl::OkStatus();
}

void ParityReceiver::Decode() {
  const double differences =
      std::clamp(decoder_->EstimateDifferences(), lack_, 2 * mine_);
  const double surplus = (differences - lack_) / 2;
  surplus_ = static_cast<uint64_t>(surplus);
  if (cells_ < kHopeless * ParityBits(mine_, lack_ + surplus, surplus)) return;
  outcome_ = decoder_->Decode(lack_ + surplus, surplus);
  decoded_ = outcome_.expected_errors <=
             std::max(kFewErrors, kToleratedShare * cells_ / kErrorBits);
}

}  // namespace rocksync
