#include "replication/reconcile/leaf_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_key_parities.h"
#include "replication/reconcile/exchange_messages.h"
#include "replication/reconcile/leaf_estimate.h"
#include "replication/reconcile/leaf_parity_plan.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/coding.h"
#include "sketch/pinsketch/field.h"
#include "sketch/planning/sketch_schedule.h"

namespace rocksync {
namespace {

// A single group takes the fewest bytes for up to kSingleGroup differing
// leaves; for more, groups of about 16 to 32 do, and are quicker to decode.
constexpr double kSingleGroup = 24;
constexpr double kLeastPerGroup = 16;
constexpr double kMaxPerGroup = 96;
// At first, groups get this share of the pairs that the estimate asks for.
// Pairs that are sent in vain, because the estimate is too high, cost more than
// a second pass, which knows from the decoded groups how many the others need.
constexpr double kFirstShare = 0.8;
constexpr double kFirstShareOfSingle = 0.9;
// The probe is made for this many standard deviations more leaves than are
// expected, if it is known about how many differ.
constexpr double kProbeDeviations = 3.5;
constexpr double kMaxOfProbe = 250;
// Standard errors of the estimate (see difference_estimate.h): usually, and if
// round trips matter.
constexpr double kLeafEstimateError = 0.35;
constexpr double kHurriedEstimateError = 0.18;
// After this many passes what is left of the groups counts as found.
constexpr uint32_t kMaxSearchPasses = 6;
// Groups count as found after this many passes if none of kManyGroups or more
// has decoded: the estimate, which mostly tells many leaves from very many, was
// far too low.
constexpr uint32_t kMaxPassesInVain = 4;
constexpr uint32_t kManyGroups = 8;
// An estimate above the leaves that are searched for is doubted up to this many
// times as many.
constexpr double kSurelyMore = 2;
// For fewer leaves a fine estimate costs more than it saves.
constexpr uint64_t kFewestToEstimateFinely = 1024;
// A pass that is sized by fine parities alone takes this share of their
// estimate: the next pass knows better.
constexpr double kShareOfFine = 0.95;
// Of so many groups some fail in the second pass, whatever is asked for: so it
// leaves more to the third, which decodes all but one in two hundred.
constexpr uint32_t kThirdPassFrom = 64;
constexpr double kShareOfSecondPass = 0.85;
constexpr double kShareOfThirdPass = 0.995;
// The pairs of syndromes that groups take, for each leaf that differs, and the
// fine parities that come with them (measured).
constexpr double kPairsToDecode = 1.2;
// A single group that failed for the third time gets so many times its pairs.
constexpr double kGrowthLater = 1.8;
// At this share of differing leaves or more, the number of overwritten keys
// does not follow from it.
constexpr double kMaxToEstimate = 0.5;
// The same for new keys, by a fine estimate.
constexpr double kMaxToEstimateNew = 0.9;

// Returns the pairs of syndromes of each group in the first pass, for `mean`
// differing leaves in a group.
uint32_t FirstPairs(double mean, Prefer prefer, bool single) {
  const bool hurry = prefer == Prefer::kRoundTrips;
  const double error = hurry ? kHurriedEstimateError : kLeafEstimateError;
  const double spread = single ? error * mean : std::sqrt(mean);
  const double pairs = hurry    ? mean * (1 + error) + 2 * spread
                       : single ? mean * kFirstShareOfSingle
                                : mean * kFirstShare + spread / 2;
  return std::min(static_cast<uint32_t>(std::ceil(pairs)) + 1,
                  kMaxSyndromePairs);
}

// Returns the pairs of syndromes of a probe: hardly ever too few, if it is
// known about how many leaves differ.
uint32_t ProbePairs(double expected) {
  const double pairs = expected + kProbeDeviations * std::sqrt(expected);
  return kProbeSyndromePairs +
         static_cast<uint32_t>(std::ceil(std::min(pairs, kMaxOfProbe)));
}

}  // namespace

LeafSearch::LeafSearch(Role role, const LeafSearchOptions& options,
                       const MappingSeed& seed, std::span<const Digest> leaves,
                       const std::vector<bool>& closed)
    : role_(role),
      prefer_(options.prefer),
      seed_(seed),
      symbol_key_(DeriveMapping(seed, kLeafSymbolPurpose, 0)),
      leaves_(leaves),
      closed_(closed),
      most_(options.most),
      may_send_key_parities_(options.may_send_key_parities),
      parities_(options.parities),
      at_once_(options.at_once),
      eager_(options.eager),
      per_leaf_(options.per_leaf),
      estimator_(seed, leaves, &closed_, options.prefer) {
  shape_.leaves = static_cast<uint32_t>(leaves.size());
  shape_.least_bits =
      SymbolBitsToTell(options.per_leaf, options.prefer == Prefer::kRoundTrips);
  Cut(/*group_bits=*/0);
  if (role_ == Role::kResponder) return;
  if (at_once_ || (options.expected > (eager_ ? 1 : kMaxOfProbe) && parities_ &&
                   prefer_ == Prefer::kBytes)) {
    in_place_of_probe_ =
        SendParities({.differing = options.expected, .fine = at_once_});
  }
  if (!in_place_of_probe_) SendProbe(options.expected);
}

void LeafSearch::SendProbe(double expected) {
  pairs_ = ProbePairs(expected);
  std::string body;
  PutProbe(MySyndromes(0, 2 * pairs_), shape_.bits(),
           prefer_ == Prefer::kRoundTrips ? estimator_.Make() : "", &body);
  Send(LeafSearchKind::kProbe, body);
}

bool LeafSearch::NextPayload(std::string* out) {
  if (outgoing_.empty()) return false;
  out->append(outgoing_);
  outgoing_.clear();
  return true;
}

void LeafSearch::Send(LeafSearchKind kind, std::string_view body) {
  outgoing_.assign(1, static_cast<char>(kind));
  outgoing_.append(body);
  report_.sketch_bytes += outgoing_.size();
}

absl::Status LeafSearch::Receive(std::string_view payload) {
  if (done_ || !outgoing_.empty()) return BadSearch("out of turn");
  if (payload.empty()) return BadSearch("empty payload");
  report_.sketch_bytes += payload.size();
  const auto kind = static_cast<LeafSearchKind>(payload[0]);
  const std::string_view body = payload.substr(1);
  switch (kind) {
    case LeafSearchKind::kProbe:
      return ReceiveProbe(body);
    case LeafSearchKind::kEstimate:
      return ReceiveEstimate(body);
    case LeafSearchKind::kSyndromes:
      return ReceiveSums(body);
    case LeafSearchKind::kMore:
      return ReceiveMore(body);
    case LeafSearchKind::kRest:
      return ReceiveRest(body);
    case LeafSearchKind::kOdd:
      return ReceiveOdd(body);
    case LeafSearchKind::kOfEach:
      return ReceiveOfEach(body);
    case LeafSearchKind::kParities:
    case LeafSearchKind::kSplits:
    case LeafSearchKind::kEach:
      return ReceiveParities(kind, body);
  }
  return BadSearch("unknown kind");
}

// --- The probe, and the estimate --------------------------------------------

absl::Status LeafSearch::ReceiveProbe(std::string_view body) {
  if (role_ != Role::kResponder || pairs_ > 0 || at_once_) {
    return BadSearch("unexpected probe");
  }
  DropParities();
  std::vector<uint32_t> theirs;
  std::string_view parities;
  const bool at_once = prefer_ == Prefer::kRoundTrips;
  const absl::Status status =
      GetProbe(body, shape_.bits(), at_once ? estimator_.bytes() : 0, &theirs,
               &parities);
  if (!status.ok()) return status;
  pairs_ = static_cast<uint32_t>(theirs.size() / 2);
  Decode(theirs, 0);
  if (open_.empty()) {
    report_.plan = "probe of leaves";
    Finish();
  } else if (!at_once) {
    Send(LeafSearchKind::kEstimate, estimator_.Make());
  } else {
    SendSums(estimator_.Compare(parities));
  }
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveEstimate(std::string_view parities) {
  if (role_ != Role::kInitiator || part_ != Part::kUnknown ||
      prefer_ == Prefer::kRoundTrips) {
    return BadSearch("unexpected estimate");
  }
  if (parities.size() != estimator_.bytes()) {
    return BadSearch("not as many parities as leaves need");
  }
  SendSums(estimator_.Compare(parities));
  return absl::OkStatus();
}

// --- Syndromes: one side sends, the other decodes ----------------------------

void LeafSearch::Cut(int group_bits) {
  shape_.group_bits = group_bits;
  symbol_bits_ = shape_.bits();
  open_.assign(shape_.groups(), {});
  for (uint32_t group = 0; group < shape_.groups(); ++group) {
    open_[group].group = group;
  }
}

std::vector<uint32_t> LeafSearch::MySyndromes(uint32_t first,
                                              uint32_t count) const {
  const Field field(shape_.bits());
  const uint32_t places = shape_.places();
  std::vector<uint32_t> symbols;
  symbols.reserve(open_.size() * places);
  for (const OpenGroup& open : open_) {
    for (uint32_t place = 0; place < places; ++place) {
      const uint32_t leaf = open.group * places + place;
      symbols.push_back(closed_[leaf] ? 0
                                      : LeafSymbol(leaves_[leaf], symbol_key_,
                                                   shape_.bits()));
    }
  }
  return SymbolSyndromes(field, symbols, places, first, count);
}

int LeafSearch::ChooseGroupBits(double differing) const {
  if (differing <= kSingleGroup) return 0;
  SymbolShape shape = shape_;
  const auto groups = static_cast<uint32_t>(differing / kLeastPerGroup);
  shape.group_bits = std::bit_width(groups) - 1;
  // Larger groups without longer symbols need fewer pairs to spare.
  while (shape.group_bits > 0 &&
         2 * differing <= kMaxPerGroup * shape.groups()) {
    SymbolShape larger = shape;
    --larger.group_bits;
    if (larger.bits() > shape.bits()) break;
    shape = larger;
  }
  return shape.group_bits;
}

bool LeafSearch::ReadingAllPays(const LeafEstimate& estimate) const {
  return may_send_key_parities_ && estimate.overwritten &&
         ReadingAllKeysSaves(static_cast<double>(per_leaf_) * shape_.leaves,
                             estimate.differing, shape_.leaves);
}

void LeafSearch::SendSums(const LeafEstimate& estimate) {
  const double differing = estimate.differing;
  const double most = most_ * shape_.leaves;
  const bool doubtful = differing > most;
  // Of twice as many leaves fine parities tell well where the estimate is far
  // too low, as it is more often where nearly all differ.
  const auto expected = std::min<uint64_t>(
      static_cast<uint64_t>(std::llround(doubtful ? 2 * differing : differing)),
      shape_.leaves);
  part_ = Part::kSends;
  report_.estimated_differences = differing;
  // Where so many leaves differ the fine parities travel alone; what comes next
  // follows from them, and if that is an exchange over all, it knows how much
  // differs.
  const bool finely = expected >= kFewestToEstimateFinely;
  const int group_bits = ChooseGroupBits(doubtful ? most / 2 : differing);
  overwritten_ = estimate.overwritten;
  // The other side does not know of overwritten keys, and would search for them
  // unless it finds far too many.
  const bool surely_more = differing > kSurelyMore * most;
  if ((ReadingAllPays(estimate) && !surely_more) ||
      (doubtful && (!finely || group_bits == 0))) {
    GiveUp(estimate);
    return;
  }
  if (!doubtful && ParitiesSave(estimate, group_bits) &&
      SendParities(estimate)) {
    return;
  }
  // The initiator continues a single group after the syndromes of its probe.
  const bool extends = group_bits == 0 && role_ == Role::kInitiator;
  const uint32_t known = extends ? pairs_ : 0;
  Cut(group_bits);
  pairs_ = doubtful
               ? 0
               : std::max(known + 1, FirstPairs(differing / shape_.groups(),
                                                prefer_, group_bits == 0));
  std::string body(1, static_cast<char>(group_bits));
  if (group_bits > 0) {
    PutVarint64(&body, finely ? expected : 0);
    if (finely) body += estimator_.MakeFine(expected);
  }
  PackSums(MySyndromes(2 * known, 2 * (pairs_ - known)), shape_.bits(), &body);
  report_.plan = absl::StrCat(
      "leaves: estimate ", static_cast<uint64_t>(std::llround(differing)), ", ",
      shape_.groups(), " groups of ", shape_.bits(), " bits, ", pairs_);
  Send(LeafSearchKind::kSyndromes, body);
}

absl::Status LeafSearch::ReceiveSums(std::string_view body) {
  DropParities();
  const bool due = role_ == Role::kResponder ||
                   (prefer_ == Prefer::kRoundTrips && pairs_ > 0);
  if (!due || pairs_ == 0 || part_ != Part::kUnknown) {
    return BadSearch("unexpected syndromes");
  }
  SymbolShape shape = shape_;
  absl::Status status = GetGroupBits(&body, &shape);
  if (!status.ok()) return status;
  if (shape.group_bits > 0) {
    uint64_t expected = 0;
    std::string_view parities;
    status = GetFineParities(&body, shape.leaves, &expected, &parities);
    if (!status.ok()) return status;
    if (expected > 0) finely_ = estimator_.CompareFine(expected, parities);
  }
  if (asked_parities_ && shape.group_bits == 0) {
    return BadSearch("a single group in place of parities");
  }
  // The responder has the probe's syndromes of a single group already.
  const bool extends = shape.group_bits == 0 && role_ == Role::kResponder;
  const uint32_t known = extends ? pairs_ : 0;
  std::vector<uint32_t> theirs;
  if (shape.group_bits == 0 || !body.empty()) {
    status = GetSyndromes(body, shape.bits(), shape.groups(), known, &theirs);
    if (!status.ok()) return status;
  }
  part_ = Part::kDecodes;
  if (!extends) Cut(shape.group_bits);
  const uint32_t of_probe = pairs_;
  pairs_ = known + static_cast<uint32_t>(theirs.size() / shape.groups() / 2);
  report_.plan = absl::StrCat("leaves: ", shape.groups(), " groups of ",
                              shape.bits(), " bits, ", pairs_);
  const double most = most_ * shape_.leaves;
  const bool far_more = finely_.differing > kSurelyMore * most;
  if (!theirs.empty() && !far_more) {
    Decode(theirs, 2 * known);
  } else if (theirs.empty() && AskForParities()) {
    pairs_ = of_probe;
    return absl::OkStatus();
  } else if (theirs.empty() && finely_.differing > 0 &&
             finely_.differing <= most) {
    more_.open.assign(open_.size(), true);
    AskForMore({});
  } else {
    GiveUp(finely_);
    return absl::OkStatus();
  }
  Finish();
  return absl::OkStatus();
}

void LeafSearch::Decode(std::span<const uint32_t> theirs, uint32_t first) {
  const auto count = static_cast<uint32_t>(theirs.size() / open_.size());
  const std::vector<uint32_t> mine = MySyndromes(first, count);
  const Field field(shape_.bits());
  std::vector<OpenGroup> failed;
  std::vector<uint32_t> sizes;
  more_ = {};
  for (size_t i = 0; i < open_.size(); ++i) {
    OpenGroup& open = open_[i];
    for (size_t j = i * count; j < (i + 1) * count; ++j) {
      open.syndromes.push_back(mine[j] ^ theirs[j]);
    }
    std::vector<SymbolDifference> differences;
    // The result of a probe is used only with a pair to spare: the syndromes of
    // many differences would decode to wrong ones too often.
    const bool probe = part_ == Part::kUnknown;
    if (DecodeSymbols(field, open.syndromes, shape_.places(), &differences) &&
        (!probe || differences.size() < pairs_) &&
        TakeGroup(open.group, differences)) {
      sizes.push_back(static_cast<uint32_t>(differences.size()));
      more_.open.push_back(false);
    } else {
      failed.push_back(std::move(open));
      more_.open.push_back(true);
    }
  }
  open_ = std::move(failed);
  ++passes_;
  if (part_ != Part::kDecodes || open_.empty()) return;
  const bool in_vain = passes_ > kMaxPassesInVain &&
                       open_.size() == shape_.groups() &&
                       shape_.groups() >= kManyGroups;
  if (passes_ > kMaxSearchPasses || pairs_ == kMaxSyndromePairs || in_vain) {
    for (const OpenGroup& open : open_) TakeWhole(open.group);
    open_.clear();
    return;
  }
  AskForMore(sizes);
}

// Sets `more_`. `decoded` are the sizes of the groups that the last pass
// decoded.
void LeafSearch::AskForMore(std::span<const uint32_t> decoded) {
  const bool hurry = prefer_ == Prefer::kRoundTrips;
  const uint32_t left = passes_ < kPasses ? kPasses - passes_ : 1;
  double share = ShareToDecode(left, hurry);
  if (!hurry && shape_.groups() >= kThirdPassFrom) {
    share = asked_ > 0 ? kShareOfThirdPass : kShareOfSecondPass;
  }
  uint32_t wanted =
      NextSums(pairs_, decoded, static_cast<uint32_t>(open_.size()), share,
               hurry, shape_.group_bits == 0,
               kShareOfFine * finely_.differing / shape_.groups());
  // A single group tells only that it failed. The more often it does, the less
  // the estimate is worth.
  if (shape_.group_bits == 0 && asked_ > 1) {
    wanted = std::max(wanted, static_cast<uint32_t>(kGrowthLater * pairs_));
  }
  ++asked_;
  more_.pairs = std::min(wanted, kMaxSyndromePairs);
}

bool LeafSearch::TakeGroup(uint32_t group,
                           std::span<const SymbolDifference> differences) {
  const uint32_t first = group * shape_.places();
  for (const SymbolDifference& one : differences) {
    if (closed_[first + one.place]) return false;
  }
  for (const SymbolDifference& one : differences) {
    const LeafDifference found = Explain(first + one.place, one.value);
    differences_.push_back(found);
    found_.push_back(found.leaf);
  }
  return true;
}

LeafDifference LeafSearch::Explain(uint32_t leaf, uint32_t value) const {
  const int bits = symbol_bits_;
  const uint32_t mine = LeafSymbol(leaves_[leaf], symbol_key_, bits);
  const uint32_t theirs = mine ^ value;
  const uint32_t counts = (mine >> (bits - 2)) - (theirs >> (bits - 2));
  return {.leaf = leaf,
          .count = static_cast<uint8_t>(counts & 3),
          .sum = (mine - theirs) & SumMask(bits)};
}

void LeafSearch::TakeWhole(uint32_t group) {
  for (uint32_t place = 0; place < shape_.places(); ++place) {
    const uint32_t leaf = group * shape_.places() + place;
    if (!closed_[leaf]) found_.push_back(leaf);
  }
}

absl::Status LeafSearch::ReceiveMore(std::string_view body) {
  if (part_ != Part::kSends || parity_sender_ != nullptr) {
    return BadSearch("unexpected request");
  }
  MoreSyndromes more;
  const absl::Status status = GetMore(body, open_.size(), pairs_, &more);
  if (!status.ok()) return status;
  std::vector<OpenGroup> open;
  for (size_t i = 0; i < open_.size(); ++i) {
    if (more.open[i]) open.push_back(open_[i]);
  }
  open_ = std::move(open);
  std::string rest;
  PackSums(MySyndromes(2 * pairs_, 2 * (more.pairs - pairs_)), shape_.bits(),
           &rest);
  pairs_ = more.pairs;
  absl::StrAppend(&report_.plan, "+", pairs_);
  Send(LeafSearchKind::kRest, rest);
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveRest(std::string_view body) {
  if (part_ != Part::kDecodes || parity_receiver_ != nullptr) {
    return BadSearch("unexpected syndromes");
  }
  std::vector<uint32_t> theirs;
  const absl::Status status =
      GetSyndromes(body, shape_.bits(), open_.size(), pairs_, &theirs);
  if (!status.ok()) return status;
  if (theirs.size() != 2 * open_.size() * (more_.pairs - pairs_)) {
    return BadSearch("not as many syndromes as were asked for");
  }
  const uint32_t first = 2 * pairs_;
  pairs_ = more_.pairs;
  absl::StrAppend(&report_.plan, "+", pairs_);
  Decode(theirs, first);
  Finish();
  return absl::OkStatus();
}

// --- Parities of leaves ------------------------------------------------------

// The way back, of kOdd and kOfEach, is small beside what is saved.
bool LeafSearch::ParitiesSave(const LeafEstimate& estimate,
                              int group_bits) const {
  if (prefer_ == Prefer::kRoundTrips || role_ != Role::kInitiator ||
      !parities_ || tried_parities_ || estimate.overwritten) {
    return false;
  }
  if (eager_) return true;
  SymbolShape shape = shape_;
  shape.group_bits = group_bits;
  const double syndromes =
      kPairsToDecode * 2 * estimate.differing * shape.bits();
  return PlanLeafParities(shape_.leaves, estimate.differing, shape_.least_bits)
             .bits < syndromes;
}

// The other side has given them up, unless they are decoded.
void LeafSearch::DropParities() {
  if (parity_receiver_ == nullptr || parity_receiver_->odd_known()) return;
  parity_receiver_.reset();
  part_ = Part::kUnknown;
}

// The fine parities tell how many leaves differ. For few the other side might
// go on with a single group, of which this one has kept no syndromes.
bool LeafSearch::AskForParities() {
  const double odd = OddLeaves(shape_.leaves, finely_.differing);
  if (prefer_ == Prefer::kRoundTrips || role_ != Role::kResponder ||
      !parities_ || asked_parities_ || finely_.differing < kMaxOfProbe ||
      finely_.differing > most_ * shape_.leaves) {
    return false;
  }
  asked_parities_ = true;
  part_ = Part::kUnknown;
  std::string body;
  PutVarint64(&body, static_cast<uint64_t>(odd));
  Send(LeafSearchKind::kOdd, body);
  return true;
}

bool LeafSearch::SendParities(const LeafEstimate& estimate) {
  const LeafParityPlan plan =
      PlanLeafParities(shape_.leaves, estimate.differing, shape_.least_bits);
  if (std::isinf(plan.bits)) return false;
  tried_parities_ = true;
  part_ = Part::kSends;
  parity_sender_ = std::make_unique<LeafParitySender>(
      SearchedLeaves{leaves_, closed_, seed_, symbol_key_}, plan.shape);
  symbol_bits_ = plan.shape.bits() + 1;
  report_.plan = absl::StrCat(
      "leaves: estimate ",
      static_cast<uint64_t>(std::llround(estimate.differing)), ", parities, ",
      plan.shape.groups(), " groups of ", symbol_bits_, " bits");
  Send(LeafSearchKind::kParities,
       parity_sender_->First(estimate.differing, estimate.fine));
  return true;
}

absl::Status LeafSearch::ReceiveOdd(std::string_view body) {
  uint64_t odd = 0;
  // Where the sums came without syndromes, the other side may ask for parities.
  const bool asked = part_ == Part::kSends && pairs_ == 0 && !tried_parities_ &&
                     role_ == Role::kInitiator && prefer_ == Prefer::kBytes;
  if ((parity_sender_ == nullptr && !asked) ||
      !GetVarint64(&body, shape_.leaves / 2, &odd) || !body.empty() ||
      (asked && odd == 0)) {
    return BadSearch("unexpected number of odd leaves");
  }
  const double differing =
      DifferingLeaves(shape_.leaves, static_cast<double>(odd));
  if (asked && !overwritten_ &&
      SendParities({.differing = differing, .fine = true})) {
    return absl::OkStatus();
  }
  LeafSearchKind kind = LeafSearchKind::kSplits;
  std::string more;
  if (parity_sender_ != nullptr && parity_sender_->Next(odd, &kind, &more)) {
    absl::StrAppend(&report_.plan, ", ", odd, " odd");
    Send(kind, more);
    return absl::OkStatus();
  }
  GoOnWithoutParities(
      asked ? differing : std::max(report_.estimated_differences, differing));
  return absl::OkStatus();
}

void LeafSearch::GoOnWithoutParities(double differing) {
  parity_sender_.reset();
  tried_parities_ = true;
  if (at_once_) {
    GiveUp({});
  } else if (std::exchange(in_place_of_probe_, false)) {
    part_ = Part::kUnknown;
    Cut(/*group_bits=*/0);
    SendProbe(/*expected=*/0);
  } else {
    SendSums({.differing = differing, .overwritten = overwritten_});
  }
}

absl::Status LeafSearch::ReceiveOfEach(std::string_view body) {
  if (parity_sender_ == nullptr) return BadSearch("unexpected request");
  std::string rest;
  const absl::Status status = parity_sender_->TakeRequest(body, &rest);
  if (!status.ok()) return status;
  absl::StrAppend(&report_.plan, "+", rest.size(), " B");
  Send(LeafSearchKind::kEach, rest);
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveParities(LeafSearchKind kind,
                                         std::string_view body) {
  const bool first = parity_receiver_ == nullptr;
  if (role_ != Role::kResponder || prefer_ == Prefer::kRoundTrips ||
      (first && part_ != Part::kUnknown) ||
      (first && kind != LeafSearchKind::kParities)) {
    return BadSearch("unexpected parities");
  }
  if (!parities_) {
    if (std::exchange(tried_parities_, true)) {
      return BadSearch("parities of leaves again");
    }
    Send(LeafSearchKind::kOdd, std::string(1, '\0'));
    return absl::OkStatus();
  }
  if (first) {
    parity_receiver_ = std::make_unique<LeafParityReceiver>(
        SearchedLeaves{leaves_, closed_, seed_, symbol_key_});
    part_ = Part::kDecodes;
  }
  LeafParityReceiver& receiver = *parity_receiver_;
  const absl::Status status =
      kind == LeafSearchKind::kParities
          ? receiver.TakeParities(body, shape_.least_bits)
      : kind == LeafSearchKind::kSplits ? receiver.TakeSplits(body)
                                        : receiver.TakeEach(body);
  if (status.ok()) AnswerParities();
  return status;
}

void LeafSearch::AnswerParities() {
  const LeafParityReceiver& receiver = *parity_receiver_;
  if (receiver.done()) {
    TakeParityOutcome();
    return;
  }
  const double differing = DifferingLeaves(shape_.leaves, receiver.odd());
  const bool far_more = differing > kSurelyMore * most_ * shape_.leaves;
  if (receiver.hopeless()) {
    GiveUp({});
  } else if (!receiver.odd_known() && !at_once_ && far_more) {
    GiveUp({.differing = differing, .fine = true});
  } else {
    std::string reply;
    const LeafSearchKind kind = receiver.Reply(&reply);
    Send(kind, reply);
  }
}

void LeafSearch::TakeParityOutcome() {
  const LeafParityReceiver& receiver = *parity_receiver_;
  shape_ = receiver.shape();
  symbol_bits_ = shape_.bits() + 1;
  for (const SymbolDifference& one : receiver.differences()) {
    differences_.push_back(Explain(one.place, one.value));
    found_.push_back(one.place);
  }
  for (const uint32_t group : receiver.given_up()) TakeWhole(group);
  report_.plan =
      absl::StrCat("leaves: parities, ", found_.size(), " in ", shape_.groups(),
                   " groups of ", symbol_bits_, " bits");
  open_.clear();
  Finish();
}

void LeafSearch::GiveUp(const LeafEstimate& estimate) {
  Cut(/*group_bits=*/0);
  differences_.clear();
  TakeWhole(0);
  report_.plan = "leaves: all";
  report_.estimated_differences = 0;
  if (estimate.overwritten) {
    report_.plan += ", overwritten";
  }
  if (estimate.overwritten &&
      estimate.differing < kMaxToEstimate * shape_.leaves) {
    SetExpected(ExpectOverwritten(estimate.differing, shape_.leaves));
  }
  if (estimate.fine && estimate.differing < kMaxToEstimateNew * shape_.leaves) {
    SetExpected(ExpectNew(estimate.differing, shape_.leaves));
  }
  done_ = true;
}

void LeafSearch::SetExpected(const Expectation& expected) {
  report_.estimated_differences = expected.differences;
  report_.estimated_overwritten = expected.overwritten;
}

void LeafSearch::Finish() {
  if (open_.empty()) {
    std::sort(found_.begin(), found_.end());
    SetExpected(ExpectInLeaves(differences_, shape_.leaves));
    if (differences_.size() != found_.size()) differences_.clear();
    std::sort(differences_.begin(), differences_.end(),
              [](const LeafDifference& a, const LeafDifference& b) {
                return a.leaf < b.leaf;
              });
    done_ = true;
    return;
  }
  std::string body;
  PutMore(more_, &body);
  Send(LeafSearchKind::kMore, body);
}

}  // namespace rocksync
