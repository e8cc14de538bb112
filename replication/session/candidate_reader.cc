#include "replication/session/candidate_reader.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "replication/session/leaf_batch.h"

namespace rocksync {
namespace {

// Memory of an entry that was found, with a short key.
constexpr size_t kFoundBytes = 144;
// Entries that are looked up at once.
constexpr size_t kSlice = 1024;
// The assumed size of a key before it is read.
constexpr size_t kKeyBytes = 32;

bool KeyBefore(const IndexEntry& a, const IndexEntry& b) {
  return std::tie(a.family, a.key) < std::tie(b.family, b.key);
}

}  // namespace

std::optional<uint32_t> CandidateReader::Next(std::optional<uint64_t> before) {
  const LeafBatch& batch = *context_.batch;
  while (next_ < candidates_.size()) {
    const uint32_t ordinal = candidates_[next_];
    if (batch.IsCovered(ordinal)) {
      ++next_;
      continue;
    }
    if (before && batch.PositionAt(ordinal) >= *before) return std::nullopt;
    ++next_;
    return ordinal;
  }
  return std::nullopt;
}

std::optional<uint32_t> CandidateReader::NextByKey() {
  const LeafBatch& batch = *context_.batch;
  by_key_ = true;
  taken_.reset();
  while (true) {
    for (; !sorted_.empty(); sorted_.Pop()) {
      const uint32_t ordinal = sorted_.ordinal();
      if (batch.IsCovered(ordinal)) continue;
      taken_ = sorted_.Next(batch);
      sorted_.Pop();
      return ordinal;
    }
    while (!unsorted_.empty()) {
      const uint32_t ordinal = unsorted_.back();
      unsorted_.pop_back();
      if (!batch.IsCovered(ordinal)) return ordinal;
    }
    if (!SortMore()) return Next(std::nullopt);
  }
}

bool CandidateReader::all_are_covered() const {
  const LeafBatch& batch = *context_.batch;
  return sorted_.all_are_covered(batch) && batch.AreCovered(unsorted_) &&
         batch.AreCovered(std::span(candidates_).subspan(next_));
}

CandidateReader::Found CandidateReader::Find(uint32_t ordinal) {
  const LeafBatch& batch = *context_.batch;
  if (by_key_) return FindByKey(ordinal);
  const auto behind = [&] {  // the front was covered since it was read
    return !ahead_.empty() && ahead_.front().first != ordinal;
  };
  const bool is_candidate = next_ > 0 && candidates_[next_ - 1] == ordinal;
  if (is_candidate) {
    while (behind()) ahead_.pop_front();
    if (ahead_.empty()) ReadAhead();
  }
  if (!is_candidate || ahead_.empty()) {
    return {context_.snapshot->FindElement(batch.PositionAt(ordinal),
                                           batch.HashAt(ordinal)),
            std::nullopt};
  }
  Found found = std::move(ahead_.front().second);
  ahead_.pop_front();
  return found;
}

std::vector<absl::StatusOr<IndexEntry>> CandidateReader::FindEntries(
    const std::vector<uint32_t>& ordinals, size_t max_bytes) const {
  const LeafBatch& batch = *context_.batch;
  std::vector<PlacedElement> elements;
  elements.reserve(ordinals.size());
  for (const uint32_t ordinal : ordinals) {
    elements.push_back({batch.PositionAt(ordinal), batch.HashAt(ordinal)});
  }
  return context_.snapshot->FindElements(elements, max_bytes,
                                         *context_.cancelled);
}

// --- By key -----------------------------------------------------------------

bool CandidateReader::SortMore() {
  ahead_.clear();  // read by position, and not taken
  const size_t most = std::clamp<size_t>(
      max_entry_bytes_ / (EntriesByKey::kEntryBytes + kKeyBytes), 1, sort_);
  sort_ = 4 * most;
  const size_t left = std::min(most, candidates_.size() - next_);
  const size_t max_bytes = left * kKeyBytes;
  sorted_.Clear(left, max_bytes);
  size_t count = 0;
  size_t bytes = 0;
  bool full = left == 0;
  while (!full && count < most) {
    const size_t before = next_;
    const std::vector<uint32_t> ordinals =
        NextOrdinals(std::min(kSlice, most - count));
    const auto entries = FindEntries(ordinals, max_bytes - bytes);
    size_t taken = 0;
    for (; taken < entries.size(); ++taken) {
      const absl::StatusOr<IndexEntry>& entry = entries[taken];
      if (!entry.ok()) {
        unsorted_.push_back(ordinals[taken]);
        continue;
      }
      // At least one entry is taken, whatever its size.
      if (bytes + entry->key.size() > max_bytes && count + taken > 0) break;
      bytes += entry->key.size();
      sorted_.Add(ordinals[taken], *entry);
    }
    count += taken;
    full = taken < ordinals.size() || ordinals.empty() || bytes > max_bytes;
    if (taken == ordinals.size()) continue;
    next_ = before;
    NextOrdinals(taken);
  }
  sorted_.Sort();
  values_ = context_.snapshot->NewValueReader(count);
  return count > 0;
}

std::vector<uint32_t> CandidateReader::NextOrdinals(size_t most) {
  std::vector<uint32_t> ordinals;
  for (; next_ < candidates_.size() && ordinals.size() < most; ++next_) {
    const uint32_t ordinal = candidates_[next_];
    if (!context_.batch->IsCovered(ordinal)) ordinals.push_back(ordinal);
  }
  return ordinals;
}

CandidateReader::Found CandidateReader::FindByKey(uint32_t ordinal) {
  const LeafBatch& batch = *context_.batch;
  if (!taken_ || taken_->hash != batch.HashAt(ordinal)) {
    return {context_.snapshot->FindElement(batch.PositionAt(ordinal),
                                           batch.HashAt(ordinal)),
            std::nullopt};
  }
  Found found{*std::exchange(taken_, std::nullopt), std::nullopt};
  if (!found.entry->tombstone) found.value = values_->Read(*found.entry);
  return found;
}

// --- By position ------------------------------------------------------------

void CandidateReader::ReadAhead() {
  constexpr size_t kMaxPairs = size_t{1} << 15;
  const LeafBatch& batch = *context_.batch;
  std::vector<uint32_t> ordinals = {candidates_[next_ - 1]};
  for (size_t i = next_;
       i < candidates_.size() && ordinals.size() < read_ahead_; ++i) {
    if (!batch.IsCovered(candidates_[i])) ordinals.push_back(candidates_[i]);
  }
  std::vector<Found> found;
  for (absl::StatusOr<IndexEntry>& entry : FindEntries(ordinals, max_bytes_)) {
    found.push_back({std::move(entry), std::nullopt});
  }
  ReadValues(&found);
  size_t bytes = kFoundBytes * ordinals.size();
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].entry.ok()) bytes += found[i].entry->key.size();
    if (found[i].value && found[i].value->ok()) {
      bytes += (*found[i].value)->size();
    }
    ahead_.emplace_back(ordinals[i], std::move(found[i]));
  }
  // The next read takes as many as should fill half of max_bytes_.
  const size_t fitting = max_bytes_ / 2 * ordinals.size() / bytes;
  read_ahead_ =
      std::clamp<size_t>(fitting, 1, std::min(kMaxPairs, 4 * ordinals.size()));
}

void CandidateReader::ReadValues(std::vector<Found>* found) const {
  std::vector<Found*> live;
  for (Found& one : *found) {
    if (one.entry.ok() && !one.entry->tombstone) live.push_back(&one);
  }
  std::sort(live.begin(), live.end(), [](const Found* a, const Found* b) {
    return KeyBefore(*a->entry, *b->entry);
  });
  const auto values = context_.snapshot->NewValueReader(live.size());
  size_t bytes = 0;
  for (Found* const one : live) {
    if (bytes > max_bytes_ || context_.Cancelled()) break;
    one->value = values->Read(*one->entry);
    if (one->value->ok()) bytes += (*one->value)->size();
  }
}

}  // namespace rocksync
