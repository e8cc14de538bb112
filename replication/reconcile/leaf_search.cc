#include "replication/reconcile/leaf_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange_key_parities.h"
#include "replication/reconcile/leaf_group_plan.h"
#include "replication/reconcile/leaf_parity_plan.h"
#include "replication/reconcile/leaf_symbols.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// An estimate above the leaves that are searched for is doubted up to this many
// times as many.
constexpr double kSurelyMore = 2;
// For fewer leaves a fine estimate costs more than it saves.
constexpr uint64_t kFewestToEstimateFinely = 1024;
// At this share of differing leaves or more, the number of overwritten keys
// does not follow from it.
constexpr double kMaxToEstimate = 0.5;
// The same for new keys, by a fine estimate.
constexpr double kMaxToEstimateNew = 0.9;

}  // namespace

LeafSearch::LeafSearch(Role role, const LeafSearchOptions& options,
                       const MappingSeed& seed, std::span<const Digest> leaves,
                       const std::vector<bool>& closed)
    : role_(role),
      prefer_(options.prefer),
      closed_(closed),
      leaves_{leaves, closed_, seed,
              DeriveMapping(seed, kLeafSymbolPurpose, 0)},
      most_(options.most),
      may_send_key_parities_(options.may_send_key_parities),
      parities_(options.parities),
      at_once_(options.at_once),
      eager_(options.eager),
      per_leaf_(options.per_leaf),
      estimator_(seed, leaves, &closed_, options.prefer),
      groups_(leaves_,
              {.leaves = static_cast<uint32_t>(leaves.size()),
               .least_bits = SymbolBitsToTell(options.per_leaf, hurry())},
              options.prefer) {
  if (role_ == Role::kResponder) return;
  const bool many = options.expected > (eager_ ? 1 : kMaxOfProbe);
  if (at_once_ || (many && parities_ && !hurry())) {
    in_place_of_probe_ =
        SendParities({.differing = options.expected, .fine = at_once_},
                     std::numeric_limits<double>::infinity());
  }
  if (!in_place_of_probe_) SendProbe(options.expected);
}

void LeafSearch::SendProbe(double expected) {
  probed_ = true;
  std::string body;
  groups_.Send(ProbePairs(expected), &body);
  if (hurry()) body += estimator_.Make();
  Send(LeafSearchKind::kProbe, body);
}

int LeafSearch::symbol_bits() const {
  if (parity_sender_ != nullptr) return parity_sender_->shape().bits() + 1;
  if (parity_receiver_ != nullptr) return parity_receiver_->shape().bits() + 1;
  return groups_.shape().bits();
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
  DropParities();
  if (role_ != Role::kResponder || probed_ || at_once_ ||
      part_ != Part::kUnknown) {
    return BadSearch("unexpected probe");
  }
  std::vector<uint32_t> theirs;
  std::string_view parities;
  const absl::Status status =
      GetProbe(body, groups_.shape().bits(), hurry() ? estimator_.bytes() : 0,
               &theirs, &parities);
  if (!status.ok()) return status;
  probed_ = true;
  groups_.TakeProbe(theirs);
  if (groups_.done()) {
    report_.plan = "probe of leaves";
    TakeGroups();
  } else if (!hurry()) {
    Send(LeafSearchKind::kEstimate, estimator_.Make());
  } else {
    SendSums(estimator_.Compare(parities));
  }
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveEstimate(std::string_view parities) {
  if (role_ != Role::kInitiator || part_ != Part::kUnknown || hurry()) {
    return BadSearch("unexpected estimate");
  }
  if (parities.size() != estimator_.bytes()) {
    return BadSearch("not as many parities as leaves need");
  }
  SendSums(estimator_.Compare(parities));
  return absl::OkStatus();
}

// --- Syndromes: one side sends, the other decodes ---------------------------

bool LeafSearch::ReadingAllPays(const LeafEstimate& estimate) const {
  return may_send_key_parities_ && estimate.overwritten &&
         ReadingAllKeysSaves(static_cast<double>(per_leaf_) * leaf_count(),
                             estimate.differing, leaf_count());
}

void LeafSearch::SendSums(const LeafEstimate& estimate) {
  const double differing = estimate.differing;
  const double most = most_ * leaf_count();
  const bool doubtful = differing > most;
  // Of twice as many leaves fine parities tell well where the estimate is far
  // too low, as it is more often where nearly all differ.
  const auto expected = std::min<uint64_t>(
      static_cast<uint64_t>(std::llround(doubtful ? 2 * differing : differing)),
      leaf_count());
  part_ = Part::kSends;
  report_.estimated_differences = differing;
  // Where so many leaves differ the fine parities travel alone; what comes next
  // follows from them, and if that is an exchange over all, it knows how much
  // differs.
  const bool finely = expected >= kFewestToEstimateFinely;
  SymbolShape shape = groups_.shape();
  shape.group_bits = ChooseGroupBits(shape, doubtful ? most / 2 : differing);
  overwritten_ = estimate.overwritten;
  // The other side does not know of overwritten keys, and would search for them
  // unless it finds far too many.
  const bool surely_more = differing > kSurelyMore * most;
  if ((ReadingAllPays(estimate) && !surely_more) ||
      (doubtful && (!finely || shape.group_bits == 0))) {
    GiveUp(estimate);
    return;
  }
  const bool may_send_parities = role_ == Role::kInitiator && !hurry() &&
                                 parities_ && !tried_parities_ &&
                                 !estimate.overwritten;
  if (!doubtful && may_send_parities &&
      SendParities(estimate, eager_ ? std::numeric_limits<double>::infinity()
                                    : SyndromeBits(shape, differing))) {
    return;
  }
  SendSyndromes(shape, doubtful ? 0 : FirstPairs(shape, differing, prefer_),
                finely ? expected : 0);
}

void LeafSearch::SendSyndromes(const SymbolShape& shape, uint32_t pairs,
                               uint64_t expected) {
  // The initiator continues a single group after the syndromes of its probe.
  const bool single = shape.group_bits == 0;
  const bool extends =
      single && groups_.shape().group_bits == 0 && role_ == Role::kInitiator;
  if (!extends) groups_.Cut(shape.group_bits);
  std::string body(1, static_cast<char>(shape.group_bits));
  if (!single) {
    PutVarint64(&body, expected);
    if (expected > 0) body += estimator_.MakeFine(expected);
  }
  if (pairs > 0) groups_.Send(std::max(groups_.pairs() + 1, pairs), &body);
  report_.plan = absl::StrCat(
      "leaves: estimate ",
      static_cast<uint64_t>(std::llround(report_.estimated_differences)), ", ",
      shape.groups(), " groups of ", shape.bits(), " bits, ", groups_.pairs());
  Send(LeafSearchKind::kSyndromes, body);
}

absl::Status LeafSearch::ReceiveSums(std::string_view body) {
  DropParities();
  const bool due = role_ == Role::kResponder || hurry();
  if (!due || !probed_ || part_ != Part::kUnknown) {
    return BadSearch("unexpected syndromes");
  }
  SymbolShape shape = groups_.shape();
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
  if (!extends) groups_.Cut(shape.group_bits);
  std::vector<uint32_t> theirs;
  if (shape.group_bits == 0 || !body.empty()) {
    status = GetSyndromes(body, shape.bits(), shape.groups(), groups_.pairs(),
                          &theirs);
    if (!status.ok()) return status;
  }
  part_ = Part::kDecodes;
  groups_.set_expected(finely_.differing);
  const double most = most_ * leaf_count();
  const bool far_more = finely_.differing > kSurelyMore * most;
  if (!theirs.empty() && !far_more) {
    groups_.Take(theirs);
  } else if (theirs.empty() && AskForParities()) {
    return absl::OkStatus();
  } else if (theirs.empty() && finely_.differing > 0 &&
             finely_.differing <= most) {
    groups_.AskForFirst();
  } else {
    GiveUp(finely_);
    return absl::OkStatus();
  }
  report_.plan = absl::StrCat("leaves: ", shape.groups(), " groups of ",
                              shape.bits(), " bits, ", groups_.pairs());
  TakeGroups();
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveMore(std::string_view body) {
  if (part_ != Part::kSends || parity_sender_ != nullptr) {
    return BadSearch("unexpected request");
  }
  std::string rest;
  const absl::Status status = groups_.TakeRequest(body, &rest);
  if (!status.ok()) return status;
  absl::StrAppend(&report_.plan, "+", groups_.pairs());
  Send(LeafSearchKind::kRest, rest);
  return absl::OkStatus();
}

absl::Status LeafSearch::ReceiveRest(std::string_view body) {
  if (part_ != Part::kDecodes || parity_receiver_ != nullptr) {
    return BadSearch("unexpected syndromes");
  }
  const absl::Status status = groups_.TakeRest(body);
  if (!status.ok()) return status;
  absl::StrAppend(&report_.plan, "+", groups_.pairs());
  TakeGroups();
  return absl::OkStatus();
}

void LeafSearch::TakeGroups() {
  if (groups_.done()) {
    Finish(groups_.shape(), groups_.differences(), groups_.given_up());
  } else {
    Send(LeafSearchKind::kMore, groups_.Request());
  }
}

// --- Parities of leaves ------------------------------------------------------

// The other side has given them up, unless they are decoded.
void LeafSearch::DropParities() {
  if (parity_receiver_ == nullptr || parity_receiver_->odd_known()) return;
  parity_receiver_.reset();
  part_ = Part::kUnknown;
}

// The fine parities tell how many leaves differ. For few the other side might
// go on with a single group, of which this one has kept no syndromes.
bool LeafSearch::AskForParities() {
  const double odd = OddLeaves(leaf_count(), finely_.differing);
  if (hurry() || role_ != Role::kResponder || !parities_ || asked_parities_ ||
      finely_.differing < kMaxOfProbe ||
      finely_.differing > most_ * leaf_count()) {
    return false;
  }
  asked_parities_ = true;
  part_ = Part::kUnknown;
  std::string body;
  PutVarint64(&body, static_cast<uint64_t>(odd));
  Send(LeafSearchKind::kOdd, body);
  return true;
}

bool LeafSearch::SendParities(const LeafEstimate& estimate, double most_bits) {
  const LeafParityPlan plan = PlanLeafParities(leaf_count(), estimate.differing,
                                               groups_.shape().least_bits);
  if (plan.bits >= most_bits) return false;
  tried_parities_ = true;
  part_ = Part::kSends;
  parity_sender_ = std::make_unique<LeafParitySender>(leaves_, plan.shape);
  report_.plan = absl::StrCat(
      "leaves: estimate ",
      static_cast<uint64_t>(std::llround(estimate.differing)), ", parities, ",
      plan.shape.groups(), " groups of ", symbol_bits(), " bits");
  Send(LeafSearchKind::kParities,
       parity_sender_->First(estimate.differing, estimate.fine));
  return true;
}

absl::Status LeafSearch::ReceiveOdd(std::string_view body) {
  uint64_t odd = 0;
  // Where the sums came without syndromes, the other side may ask for parities.
  const bool asked = part_ == Part::kSends && groups_.pairs() == 0 &&
                     !tried_parities_ && role_ == Role::kInitiator && !hurry();
  if ((parity_sender_ == nullptr && !asked) ||
      !GetVarint64(&body, leaf_count() / 2, &odd) || !body.empty() ||
      (asked && odd == 0)) {
    return BadSearch("unexpected number of odd leaves");
  }
  const double differing =
      DifferingLeaves(leaf_count(), static_cast<double>(odd));
  if (asked && !overwritten_ &&
      SendParities({.differing = differing, .fine = true},
                   std::numeric_limits<double>::infinity())) {
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
    groups_.Cut(/*group_bits=*/0);
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
  if (role_ != Role::kResponder || hurry() ||
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
    parity_receiver_ = std::make_unique<LeafParityReceiver>(leaves_);
    part_ = Part::kDecodes;
  }
  LeafParityReceiver& receiver = *parity_receiver_;
  const absl::Status status =
      kind == LeafSearchKind::kParities
          ? receiver.TakeParities(body, groups_.shape().least_bits)
      : kind == LeafSearchKind::kSplits ? receiver.TakeSplits(body)
                                        : receiver.TakeEach(body);
  if (status.ok()) AnswerParities();
  return status;
}

void LeafSearch::AnswerParities() {
  const LeafParityReceiver& receiver = *parity_receiver_;
  if (receiver.done()) {
    Finish(receiver.shape(), receiver.differences(), receiver.given_up());
    report_.plan = absl::StrCat("leaves: parities, ", found_.size(), " in ",
                                receiver.shape().groups(), " groups of ",
                                symbol_bits(), " bits");
    return;
  }
  const double differing = DifferingLeaves(leaf_count(), receiver.odd());
  const bool far_more = differing > kSurelyMore * most_ * leaf_count();
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

// --- The end ----------------------------------------------------------------

void LeafSearch::Finish(const SymbolShape& shape,
                        std::span<const SymbolDifference> differences,
                        std::span<const uint32_t> given_up) {
  for (const SymbolDifference& one : differences) {
    differences_.push_back(Explain(one.place, one.value));
    found_.push_back(one.place);
  }
  for (const uint32_t group : given_up) TakeWhole(shape, group);
  std::sort(found_.begin(), found_.end());
  SetExpected(ExpectInLeaves(differences_, leaf_count()));
  if (differences_.size() != found_.size()) differences_.clear();
  std::sort(differences_.begin(), differences_.end(),
            [](const LeafDifference& a, const LeafDifference& b) {
              return a.leaf < b.leaf;
            });
  done_ = true;
}

LeafDifference LeafSearch::Explain(uint32_t leaf, uint32_t value) const {
  const int bits = symbol_bits();
  const uint32_t mine =
      LeafSymbol(leaves_.digests[leaf], leaves_.symbol_key, bits);
  const uint32_t theirs = mine ^ value;
  const uint32_t counts = (mine >> (bits - 2)) - (theirs >> (bits - 2));
  return {.leaf = leaf,
          .count = static_cast<uint8_t>(counts & 3),
          .sum = (mine - theirs) & SumMask(bits)};
}

void LeafSearch::TakeWhole(const SymbolShape& shape, uint32_t group) {
  const uint32_t first = group * shape.places();
  for (uint32_t leaf = first; leaf < first + shape.places(); ++leaf) {
    if (!closed_[leaf]) found_.push_back(leaf);
  }
}

void LeafSearch::GiveUp(const LeafEstimate& estimate) {
  groups_.Cut(/*group_bits=*/0);
  TakeWhole(groups_.shape(), 0);
  report_.plan = "leaves: all";
  report_.estimated_differences = 0;
  if (estimate.overwritten) {
    report_.plan += ", overwritten";
  }
  if (estimate.overwritten &&
      estimate.differing < kMaxToEstimate * leaf_count()) {
    SetExpected(ExpectOverwritten(estimate.differing, leaf_count()));
  }
  if (estimate.fine && estimate.differing < kMaxToEstimateNew * leaf_count()) {
    SetExpected(ExpectNew(estimate.differing, leaf_count()));
  }
  done_ = true;
}

void LeafSearch::SetExpected(const Expectation& expected) {
  report_.estimated_differences = expected.differences;
  report_.estimated_overwritten = expected.overwritten;
}

}  // namespace rocksync
