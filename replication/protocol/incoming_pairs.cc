#include "replication/protocol/incoming_pairs.h"

#include <utility>

#include "replication/protocol/apply.h"

namespace rocksync {
namespace {

constexpr size_t kBatchBytes = size_t{1} << 20;
constexpr size_t kBatchPairs = 4096;

Pair OwnedPair(const WirePair& pair) {
  return {.family = pair.family,
          .key = std::string(pair.key),
          .version = pair.version,
          .tombstone = pair.kind == WirePair::Kind::kTombstone,
          .value = std::string(pair.value)};
}

}  // namespace

IncomingPairs::IncomingPairs(StorageView* storage,
                             const StorageSnapshot* snapshot, LeafBatch* batch,
                             const std::function<bool()>* cancelled,
                             const SessionOptions* options, uint64_t max_pairs,
                             SessionReport* report)
    : storage_(storage),
      snapshot_(snapshot),
      batch_(batch),
      cancelled_(cancelled),
      options_(options),
      max_pairs_(max_pairs),
      report_(report) {}

absl::StatusOr<Judgement> IncomingPairs::Judge(MessageType type,
                                               const WirePair& pair) {
  if (pair.family >= storage_->FamilyCount()) {
    return Malformed(type, "unknown family");
  }
  if (++judged_ > max_pairs_) {
    return Malformed(type, "more pairs than the peer has elements");
  }
  position_ = storage_->PositionOf(pair.family, pair.key);
  if (!batch_->Covers(position_)) {
    return Malformed(type, "a key that is not in the batch");
  }
  absl::StatusOr<std::optional<IndexEntry>> found =
      snapshot_->FindKey(pair.family, pair.key);
  if (!found.ok()) return found.status();

  Judgement judgement;
  judgement.verdict = Verdict::kWanted;
  if (found->has_value()) {
    judgement.own = batch_->Find(position_, (*found)->hash);
    judgement.equal_versions = pair.version == (*found)->version;
    absl::StatusOr<Verdict> verdict = Compare(pair, **found);
    if (!verdict.ok()) return verdict.status();
    judgement.verdict = *verdict;
  }
  if (judgement.verdict == Verdict::kWanted && Refuses(pair)) {
    judgement.verdict = Verdict::kRefused;
    Refuse();
  }
  return judgement;
}

bool IncomingPairs::Refuses(const WirePair& pair) {
  if (storage_->HoldsBack(pair.version)) {
    ++report_->pairs_held_back;
    return true;
  }
  if (pair.kind != WirePair::Kind::kTombstone &&
      (pair.key.size() > options_->max_key_bytes ||
       pair.value_size > options_->max_value_bytes)) {
    ++report_->pairs_too_large;
    storage_->NoteOversized(pair.family, pair.key);
    return true;
  }
  return false;
}

absl::StatusOr<Verdict> IncomingPairs::Compare(const WirePair& pair,
                                               const IndexEntry& own) {
  switch (CompareVersions(pair.version, own.version)) {
    case Order::kNewer:
      return Verdict::kWanted;
    case Order::kOlder:
      return Verdict::kBeaten;
    case Order::kEqualVersions:
      break;
  }
  return CompareEqualVersions(pair, own);
}

absl::StatusOr<Verdict> IncomingPairs::CompareEqualVersions(
    const WirePair& pair, const IndexEntry& own) {
  const bool theirs_live = pair.kind != WirePair::Kind::kTombstone;
  if (!theirs_live && own.tombstone) {
    // A tombstone is its version; if the hashes differ, mine is damaged.
    return storage_->HashOf(OwnedPair(pair)) == own.hash ? Verdict::kKnown
                                                         : Verdict::kWanted;
  }
  if (theirs_live && !own.tombstone &&
      pair.kind == WirePair::Kind::kOnRequest && pair.version != Version{}) {
    // A version is issued once, so one of the two was damaged before it was
    // hashed. Ours goes there as a pair, and the peer compares.
    return IfItReads(own, Verdict::kBeaten);
  }
  Contender theirs{
      .version = pair.version, .tombstone = !theirs_live, .hash = pair.hash};
  if (pair.kind == WirePair::Kind::kWithValue) {
    theirs.hash = storage_->HashOf(OwnedPair(pair));
  }
  const Contender mine{
      .version = own.version, .tombstone = own.tombstone, .hash = own.hash};
  if (Beats(theirs, mine)) return Verdict::kWanted;
  if (!Beats(mine, theirs)) return Verdict::kKnown;
  return mine.tombstone ? Verdict::kBeaten : IfItReads(own, Verdict::kBeaten);
}

// Damaged, it beats nothing.
absl::StatusOr<Verdict> IncomingPairs::IfItReads(const IndexEntry& own,
                                                 Verdict verdict) {
  const absl::StatusOr<std::string> value = snapshot_->ReadValue(own);
  const bool damaged =
      absl::IsDataLoss(value.status()) || absl::IsNotFound(value.status());
  return damaged ? Verdict::kWanted : verdict;
}

absl::Status IncomingPairs::Take(Pair pair, std::optional<uint32_t> own) {
  ++report_->pairs_received;
  report_->key_bytes += pair.key.size();
  report_->value_bytes += pair.value.size();
  pairs_bytes_ += pair.key.size() + pair.value.size();
  taken_.push_back({own, storage_->HashOf(pair)});
  pairs_.push_back(std::move(pair));
  if (pairs_bytes_ < kBatchBytes && pairs_.size() < kBatchPairs) {
    return absl::OkStatus();
  }
  return Apply();
}

// The snapshot leaves a pair of its key out: now the key is in the merged set.
absl::Status IncomingPairs::CountIn(const Pair& pair) {
  if (report_->left_out == 0) return absl::OkStatus();
  const absl::StatusOr<bool> left_out =
      snapshot_->LeavesOut(pair.family, pair.key);
  if (left_out.ok() && *left_out) --report_->left_out;
  return left_out.status();
}

absl::Status IncomingPairs::Apply() {
  if (pairs_.empty()) return absl::OkStatus();
  std::vector<ApplyOutcome> outcomes;
  const absl::Status status = storage_->Apply(pairs_, *cancelled_, &outcomes);
  if (!status.ok()) return status;
  if (outcomes.size() != pairs_.size()) {
    return absl::InternalError("storage did not say what became of each pair");
  }
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == ApplyOutcome::kHeldBack) {
      ++report_->pairs_held_back;
      Refuse();
      continue;
    }
    if (outcomes[i] == ApplyOutcome::kDeferred) {
      ++report_->pairs_unreadable;
      Refuse();
      continue;
    }
    ++(outcomes[i] == ApplyOutcome::kApplied ? report_->pairs_applied
                                             : report_->pairs_superseded);
    batch_->Gain(taken_[i].hash);
    if (taken_[i].own) {
      batch_->Remove(*taken_[i].own);
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
