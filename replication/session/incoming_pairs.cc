#include "replication/session/incoming_pairs.h"

#include <algorithm>
#include <utility>

#include "replication/session/conflict.h"

namespace rocksync {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr size_t kBatchPairs = 4096;

}  // namespace

absl::StatusOr<Judgement> IncomingPairs::Judge(MessageType type,
                                               const WirePair& pair) {
  if (pair.family >= context_.storage->FamilyCount()) {
    return Malformed(type, "unknown family");
  }
  // Twice as many: a pair that was offered may win against the pair that
  // answered it, and is then sent as well.
  if (++judged_ > 2 * context_.peer_count) {
    return Malformed(type, "more pairs than the peer has elements");
  }
  position_ = context_.storage->PositionOf(pair.family, pair.key);
  if (!context_.batch->Covers(position_)) {
    return Malformed(type, "a key that is not in the batch");
  }
  Judgement judgement;
  judgement.verdict = Verdict::kWanted;
  absl::StatusOr<std::optional<IndexEntry>> found(std::nullopt);
  if (context_.batch->MayHold(position_)) {
    found = context_.snapshot->FindKey(pair.family, pair.key);
  }
  if (!found.ok()) return found.status();
  if (found->has_value()) {
    judgement.own = context_.batch->Find(position_, (*found)->hash);
    judgement.equal_versions = pair.version == (*found)->version;
    judgement.verdict = Compare(pair, **found);
  }
  if (judgement.verdict == Verdict::kRefused) {
    ++context_.report->pairs_unreadable;
    Refuse();
  } else if (judgement.verdict == Verdict::kWanted && Refuses(pair)) {
    judgement.verdict = Verdict::kRefused;
    Refuse();
  }
  return judgement;
}

bool IncomingPairs::Refuses(const WirePair& pair) {
  if (context_.storage->RejectIfTooFarAhead(pair.version)) {
    ++context_.report->pairs_held_back;
    return true;
  }
  if (pair.kind != WirePair::Kind::kTombstone &&
      (pair.key.size() > options_->max_key_bytes ||
       pair.value_size > options_->max_value_bytes)) {
    ++context_.report->pairs_too_large;
    context_.storage->NoteOversized(pair.family, pair.key);
    return true;
  }
  return false;
}

Verdict IncomingPairs::Compare(const WirePair& pair,
                               const IndexEntry& own) const {
  switch (CompareVersions(pair.version, own.version)) {
    case VersionOrder::kNewer:
      // A bit of the version may be flipped, and this side's pair be the newer
      // one: the check has the entry put right for the next session.
      return Unreadable(context_.snapshot->CheckEntry(own)) ? Verdict::kRefused
                                                            : Verdict::kWanted;
    case VersionOrder::kOlder:
      return Verdict::kBeaten;
    case VersionOrder::kEqualVersions:
      break;
  }
  return CompareEqualVersions(pair, own);
}

Verdict IncomingPairs::CompareEqualVersions(const WirePair& pair,
                                            const IndexEntry& own) const {
  const bool theirs_live = pair.kind != WirePair::Kind::kTombstone;
  const bool on_request = pair.kind == WirePair::Kind::kOnRequest;
  Contender theirs{
      .version = pair.version, .tombstone = !theirs_live, .hash = pair.hash};
  if (!on_request) theirs.hash = HashOf(pair);
  const Contender mine{
      .version = own.version, .tombstone = own.tombstone, .hash = own.hash};
  const bool is_hashed = !on_request || pair.version == Version{};
  switch (ContendAtOneVersion(theirs, mine, is_hashed)) {
    case AtOneVersion::kSame:
      return Verdict::kKnown;
    case AtOneVersion::kTheirs:
      return Verdict::kWanted;
    case AtOneVersion::kStored:
      return Verdict::kBeaten;
    case AtOneVersion::kStoredIfIntact:
      break;
  }
  // With kBeaten this side's pair is sent to the peer, which compares.
  return Unreadable(context_.snapshot->ReadValue(own).status())
             ? Verdict::kWanted
             : Verdict::kBeaten;
}

ElementHash IncomingPairs::HashOf(const WirePair& pair) const {
  return context_.storage->HashOf(OwnedPair(pair, std::string(pair.value)));
}

absl::Status IncomingPairs::Take(Pair pair, std::optional<uint32_t> own) {
  ++context_.report->pairs_received;
  pairs_bytes_ += pair.key.size() + pair.value.size();
  taken_.push_back({own,
                    {context_.storage->PositionOf(pair.family, pair.key),
                     context_.storage->HashOf(pair)}});
  pairs_.push_back(std::move(pair));
  // A session with little memory holds no more bytes of pairs than of a turn.
  const size_t max_bytes = std::min(kBatchBytes, options_->max_turn_bytes);
  if (pairs_bytes_ < max_bytes && pairs_.size() < kBatchPairs) {
    return absl::OkStatus();
  }
  return Apply();
}

// Uncounts a pair that the snapshot leaves out: its key is in the merged set
// now.
absl::Status IncomingPairs::CountIn(const Pair& pair) {
  if (context_.report->left_out == 0) return absl::OkStatus();
  const absl::StatusOr<bool> left_out =
      context_.snapshot->LeavesOut(pair.family, pair.key);
  if (left_out.ok() && *left_out) --context_.report->left_out;
  return left_out.status();
}

absl::Status IncomingPairs::Apply() {
  if (pairs_.empty()) return absl::OkStatus();
  std::vector<ApplyOutcome> outcomes;
  const absl::Status status =
      context_.storage->Apply(pairs_, *context_.cancelled, &outcomes);
  if (!status.ok()) return status;
  if (outcomes.size() != pairs_.size()) {
    return absl::InternalError("storage did not say what became of each pair");
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == ApplyOutcome::kHeldBack) {
      ++context_.report->pairs_held_back;
      Refuse();
      continue;
    }
    if (outcomes[i] == ApplyOutcome::kDeferred) {
      ++context_.report->pairs_unreadable;
      Refuse();
      continue;
    }
    ++(outcomes[i] == ApplyOutcome::kApplied
           ? context_.report->pairs_applied
           : context_.report->pairs_superseded);
    context_.batch->Gain(taken_[i].element);
    if (taken_[i].own) {
      context_.batch->Remove(*taken_[i].own);
    } else {
      const absl::Status counted = CountIn(pairs_[i]);
      if (!counted.ok()) return counted;
    }
  }
  pairs_.clear();
  taken_.clear();
  pairs_bytes_ = 0;
  return absl::OkStatus();
}

}  // namespace rocksync
