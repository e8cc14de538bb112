#include "replication/session/rounds.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "replication/session/shipping.h"

namespace rocksync {
namespace {

// Rounds in a row that bring no candidate to light, although the digests
// differ, before the session gives up. A filter of rate 1/2 hides one
// difference so often with probability 2^-20. If a side has refused something,
// one such round is enough.
constexpr uint32_t kMaxIdleRounds = 20;
// The share of what is missing on one side that an exact exchange may have
// hidden.
constexpr double kMaxHidden = 0.01;

// Adds the elements found to the candidates, all in order of position.
void AddFound(const LeafBatch& batch, const std::vector<uint32_t>& found,
              std::vector<uint32_t>* candidates) {
  if (found.empty()) return;
  candidates->insert(candidates->end(), found.begin(), found.end());
  std::sort(candidates->begin(), candidates->end(),
            [&batch](uint32_t a, uint32_t b) {
              return std::pair(batch.PositionAt(a), a) <
                     std::pair(batch.PositionAt(b), b);
            });
}

// Returns whether the candidates are no more than the surplus of this side's
// set. They then replace nothing at the peer, and nothing there beats them.
// They may be a little fewer, as ids of a sketch that collide hide some; at
// most as many elements that only the peer has could be hidden behind that.
// Bloom filters hide many.
bool OneSided(const Candidates& candidates, double mine, double theirs) {
  const auto missing = static_cast<double>(candidates.missing_there.size());
  return candidates.exact && mine - theirs >= missing &&
         mine - theirs - missing <= kMaxHidden * missing;
}

}  // namespace

// --- How a round begins -----------------------------------------------------

void Rounds::CoverWholeSet(const Digest& total, uint64_t peer_total,
                           uint64_t peer_count,
                           std::vector<PlacedElement> found) {
  found_.emplace(Found{total, peer_total, peer_count, std::move(found)});
}

absl::Status Rounds::Differ(uint64_t peer_count, std::string_view failed,
                            Turn* turn) {
  if (peer_count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the peer has ", peer_count, " elements in this part, more than the ",
        kMaxExchangeElements, " that one exchange compares"));
  }
  const absl::Status status = Prepare();
  if (!status.ok()) return status;
  std::string body(failed);
  if (failed.empty()) EncodeCount(batch_.hashes().size(), &body);
  turn->Add(MessageType::kDiffers, body, failed.empty() ? 0 : kFlagFailed);
  BeginExchange(Role::kInitiator, peer_count, std::nullopt);
  return absl::OkStatus();
}

absl::Status Rounds::Begin(uint64_t peer_count) {
  const absl::Status status = Prepare();
  if (status.ok()) {
    BeginExchange(Role::kInitiator, peer_count, std::nullopt);
  }
  return status;
}

absl::Status Rounds::ReceiveDiffers(uint64_t peer_count,
                                    std::optional<uint64_t> own_count) {
  if (peer_count / kMaxPeerBatchRatio >
      context_.part.options->max_batch_elements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the peer compares ", peer_count,
        " elements at once, more than it was told that this replica can hold; "
        "update its software, or raise ReplicatorOptions::max_session_bytes "
        "here"));
  }
  const absl::Status status = Prepare();
  if (status.ok()) BeginExchange(Role::kResponder, peer_count, own_count);
  return status;
}

bool Rounds::surely_left() const {
  return may_differ_again() && !found_ && !refused_ &&
         context_.exchanges->expected_left() > kSurelyLeft;
}

// Everything that the peer sent before has come.
absl::Status Rounds::ReceiveDiffersAgain(uint64_t count) {
  const absl::Status status = EndTurn(/*idle=*/true);
  if (!status.ok()) return status;
  if (!may_differ_again() || !work_->may_end()) {
    return Malformed(MessageType::kDiffers, "before all was sent");
  }
  EndRound();
  return ReceiveDiffers(count, count);
}

absl::Status Rounds::BeginFound() {
  const absl::Status status = Prepare();
  if (!status.ok()) return status;
  ++rounds_;
  BeginWork(
      {.missing_there = {}, .exact = true, .expected = {}, .by_leaf = {}});
  return absl::OkStatus();
}

absl::Status Rounds::Prepare() {
  if (rounds_ > 0) {
    batch_.Compact();
    return absl::OkStatus();
  }
  if (read_) {
    batch_ = *std::exchange(read_, std::nullopt);
  } else {
    absl::StatusOr<LeafBatch> batch =
        LeafBatch::Load(context_.snapshot->storage(), std::move(leaves_),
                        *changes_, context_.part.session->cancelled);
    if (!batch.ok()) return batch.status();
    batch_ = *std::move(batch);
  }
  context_.part.report->elements_compared += batch_.hashes().size();
  ++context_.part.report->batches;
  if (!found_) return absl::OkStatus();
  batch_.CoverWholeSet(found_->total);
  for (const PlacedElement& one : found_->elements) {
    found_ordinals_.push_back(batch_.Insert(one));
  }
  return absl::OkStatus();
}

void Rounds::BeginExchange(Role role, uint64_t peer_count,
                           std::optional<uint64_t> own_count) {
  peer_count_ = peer_count;
  if (rounds_ == 0) {
    both_counts_ = static_cast<double>(peer_count) +
                   static_cast<double>(batch_.hashes().size());
  }
  context_.exchanges->Begin(role, batch_.hashes(), batch_.positions(),
                            peer_count, /*again=*/rounds_ > 0, own_count);
  ++rounds_;
  exchanging_ = true;
  exchanged_ = true;
  BeginWork();
}

// Begins the work once the exchange is done.
void Rounds::BeginWork() {
  std::optional<Candidates> candidates = context_.exchanges->TakeCandidates();
  if (candidates) BeginWork(*std::move(candidates));
}

void Rounds::BeginWork(Candidates candidates) {
  AddFound(batch_, found_ordinals_, &candidates.missing_there);
  candidates.one_sided = context_.exchanges->searches() &&
                         OneSided(candidates, static_cast<double>(mine()),
                                  static_cast<double>(theirs()));
  const RoundContext round = context_.snapshot->ForRound(
      &batch_, found_ ? found_->peer_count : peer_count_);
  if (context_.part.report->verifying) {
    work_ = std::make_unique<Listing>(round, context_.verify,
                                      std::move(candidates.missing_there));
  } else {
    Foresee(candidates);
    work_ = std::make_unique<Shipping>(round, context_.part.options,
                                       std::move(candidates));
  }
  exchanging_ = false;
}

// Counts, for the report, pairs to be sent and received. Those to be received
// are counted in the first round, and include what is hidden from it and comes
// to light in later ones.
void Rounds::Foresee(const Candidates& candidates) {
  const uint64_t missing_there = candidates.missing_there.size();
  SessionReport* const report = context_.part.report;
  report->pairs_to_send += missing_there;
  if (rounds_ > 1) return;
  const uint64_t both = theirs() + missing_there;
  report->pairs_to_receive += both - std::min(both, mine());
}

// --- Within a round ---------------------------------------------------------

absl::Status Rounds::Receive(MessageType type, std::string_view body) {
  if (type != MessageType::kPayload) return work_->Receive(type, body);
  const absl::Status status = context_.exchanges->Receive(body);
  if (status.ok()) BeginWork();
  return status;
}

absl::Status Rounds::EndTurn(bool idle) {
  return work_ ? work_->EndTurn(idle) : absl::OkStatus();
}

absl::Status Rounds::Build(Turn* turn) {
  if (exchanging_) {
    context_.exchanges->Build(turn);
    BeginWork();
  }
  if (!work_) return absl::OkStatus();
  const absl::Status status = context_.snapshot->SyncSnapshot();
  return status.ok() ? work_->Build(turn) : status;
}

void Rounds::EndRound() {
  refused_ |= work_->refused();
  entries_ += work_->entries() - work_->in_vain();
  idle_rounds_ = work_->entries() > 0 ? 0 : idle_rounds_ + 1;
  work_.reset();
}

// Each entry has brought an element to one side, and has replaced one unless
// the counts say that it was new there.
double Rounds::Differences() const {
  const double merged_counts = 2 * static_cast<double>(merged().count);
  return std::max(
      2 * static_cast<double>(entries_) - (merged_counts - both_counts_), 0.0);
}

Rounds::Answer Rounds::Decide(const Digest& peer, bool peer_refuses) const {
  if (merged() == peer) return Answer::kEqual;
  if ((refused_ || peer_refuses) && idle_rounds_ > 0) {
    return Answer::kRefused;
  }
  if (idle_rounds_ >= kMaxIdleRounds || rounds_ >= kMaxRounds) {
    return Answer::kGaveUp;
  }
  return context_.snapshot->Expired() ? Answer::kExpired : Answer::kDiffers;
}

}  // namespace rocksync
