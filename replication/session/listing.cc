#include "replication/session/listing.h"

#include <algorithm>
#include <utility>

#include "replication/session/pair_coding.h"

namespace rocksync {
namespace {

Held HeldOf(const IndexEntry& entry) {
  return {
      .state = entry.tombstone ? Held::State::kTombstone : Held::State::kLive,
      .version = entry.version,
      .hash = entry.hash};
}

}  // namespace

Listing::Listing(const RoundContext& context, VerifyProgress* progress,
                 std::vector<uint32_t> candidates)
    : context_(context),
      progress_(progress),
      candidates_(std::move(candidates)) {}

// --- What comes -------------------------------------------------------------

absl::Status Listing::Receive(MessageType type, std::string_view body) {
  if (type == MessageType::kClaims) return ReceiveClaims(body);
  if (type == MessageType::kHoldings) return ReceiveHoldings(body);
  return Malformed(type, "in a session that only compares");
}

absl::Status Listing::ReceiveClaims(std::string_view body) {
  ListingDecoder decoder(MessageType::kClaims, body);
  while (!decoder.done()) {
    Claim claim;
    absl::Status status = decoder.NextClaim(&claim);
    if (status.ok()) status = ReceiveClaim(claim);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Listing::ReceiveClaim(const Claim& claim) {
  constexpr MessageType kType = MessageType::kClaims;
  if (claim.family >= context_.storage->FamilyCount()) {
    return Malformed(kType, "unknown family");
  }
  if (++claims_of_turn_ > kMaxClaimsPerTurn) {
    return Malformed(kType, "too many in one turn");
  }
  ++received_;
  if (context_.batch != nullptr) {
    if (claim.held.state == Held::State::kNothing) {
      return Malformed(kType, "nothing is held of the key");
    }
    if (received_ > context_.peer_count) {
      return Malformed(kType, "more of them than the peer has elements");
    }
    const uint64_t position =
        context_.storage->PositionOf(claim.family, claim.key);
    if (!context_.batch->Covers(position)) {
      return Malformed(kType, "a key that is not in the batch");
    }
  } else if (reports()) {
    return Malformed(kType, "unasked");
  }
  const absl::StatusOr<Held> mine = Take(claim.family, claim.key);
  if (!mine.ok()) return mine.status();
  if (reports()) {
    Found({claim.family, std::string(claim.key), *mine, claim.held});
  } else {
    answers_.push_back(*mine);
  }
  return absl::OkStatus();
}

absl::StatusOr<Held> Listing::Take(uint32_t family, std::string_view key) {
  const absl::StatusOr<std::optional<IndexEntry>> found =
      context_.snapshot->FindKey(family, key);
  if (!found.ok()) return found.status();
  if (!found->has_value()) {
    if (context_.report->left_out > 0) {
      // The pair comes to light: it is listed as a difference.
      const absl::StatusOr<bool> left_out =
          context_.snapshot->LeavesOut(family, key);
      if (!left_out.ok()) return left_out.status();
      if (*left_out) --context_.report->left_out;
    }
    return Held{};
  }
  const IndexEntry& entry = **found;
  if (context_.batch != nullptr) {
    const std::optional<uint32_t> ordinal = context_.batch->Find(
        context_.storage->PositionOf(family, key), entry.hash);
    if (ordinal) {
      context_.batch->Cover(*ordinal);
      context_.batch->Remove(*ordinal);
    }
  }
  return HeldOf(entry);
}

absl::Status Listing::ReceiveHoldings(std::string_view body) {
  ListingDecoder decoder(MessageType::kHoldings, body);
  while (!decoder.done()) {
    if (claimed_.empty()) {
      return Malformed(MessageType::kHoldings, "more than was claimed");
    }
    const absl::Status status = decoder.NextHeld(&claimed_.front().theirs);
    if (!status.ok()) return status;
    Found(std::move(claimed_.front()));
    claimed_.pop_front();
  }
  return absl::OkStatus();
}

void Listing::Found(Difference difference) {
  const bool same = Same(difference.mine, difference.theirs);
  // The candidate does not differ; only a second look wants to know that.
  if (same && context_.batch != nullptr) return;
  if (!same) ++context_.report->differences;
  if (!progress_->enough) {
    progress_->enough = !progress_->task->found(std::move(difference));
  }
}

absl::Status Listing::EndTurn(bool idle) {
  if (!claimed_.empty()) {
    return Malformed(MessageType::kHoldings, "missing: claims went unanswered");
  }
  peer_idle_ = idle;
  claims_of_turn_ = 0;
  return absl::OkStatus();
}

// --- What goes --------------------------------------------------------------

absl::Status Listing::Build(Turn* turn) {
  claimed_now_ = false;
  BuildHoldings(turn);
  return BuildClaims(turn);
}

void Listing::BuildHoldings(Turn* turn) {
  for (size_t next = 0; next < answers_.size();) {
    std::string body;
    ListingEncoder encoder(&body);
    while (next < answers_.size() && body.size() < kPackedBytes) {
      encoder.AddHeld(answers_[next++]);
    }
    turn->Add(MessageType::kHoldings, body);
  }
  answers_.clear();
}

absl::Status Listing::BuildClaims(Turn* turn) {
  size_t claims = 0;
  bool more = true;
  while (more && !turn->full() && claims < kMaxClaimsPerTurn) {
    std::string body;
    ListingEncoder encoder(&body);
    const size_t most = std::min(kPackedBytes, turn->room());
    while (body.size() < most && claims < kMaxClaimsPerTurn) {
      if (context_.Cancelled()) {
        return absl::CancelledError("stopped while listing");
      }
      absl::StatusOr<std::optional<Difference>> next = NextClaim();
      if (!next.ok()) return next.status();
      more = next->has_value();
      if (!more) break;
      Difference& claim = **next;
      encoder.AddClaim({claim.family, claim.key, claim.mine});
      ++claims;
      ++sent_;
      claimed_now_ = true;
      if (reports()) claimed_.push_back(std::move(claim));
    }
    if (!body.empty()) turn->Add(MessageType::kClaims, body);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Difference>> Listing::NextClaim() {
  LeafBatch* const batch = context_.batch;
  if (batch == nullptr) {
    if (!reports() || next_key_ == progress_->task->keys.size()) {
      return std::nullopt;
    }
    const auto& [family, key] = progress_->task->keys[next_key_++];
    const absl::StatusOr<Held> mine = Take(family, key);
    if (!mine.ok()) return mine.status();
    return Difference{family, key, *mine, {}};
  }
  while (next_candidate_ < candidates_.size()) {
    const uint32_t ordinal = candidates_[next_candidate_++];
    if (batch->IsCovered(ordinal)) continue;
    batch->Cover(ordinal);
    absl::StatusOr<IndexEntry> entry = context_.snapshot->FindElement(
        batch->PositionAt(ordinal), batch->HashAt(ordinal));
    if (Unreadable(entry.status())) {
      ++unreadable_;
      ++context_.report->pairs_unreadable;
      continue;
    }
    if (!entry.ok()) return entry.status();
    if (entry->key.size() > kMaxKeyBytes) {  // no claim could name it
      ++unreadable_;
      ++context_.report->pairs_too_large;
      context_.storage->NoteOversized(entry->family, entry->key);
      continue;
    }
    batch->Remove(ordinal);
    const Held mine = HeldOf(*entry);
    return Difference{entry->family, std::move(entry->key), mine, {}};
  }
  return std::nullopt;
}

// --- Where it stands --------------------------------------------------------

bool Listing::idle() const {
  if (context_.batch == nullptr) {
    return !reports() || next_key_ == progress_->task->keys.size();
  }
  return context_.batch->AreCovered(
      std::span(candidates_).subspan(next_candidate_));
}

bool Listing::complete() const {
  return idle() && peer_idle_ && claimed_.empty() && answers_.empty() &&
         !(reports() && claimed_now_);
}

bool Listing::may_end() const {
  return idle() && claimed_.empty() && answers_.empty();
}

}  // namespace rocksync
