#include "replication/session/candidate_reader.h"

#include <algorithm>
#include <span>

#include "replication/session/leaf_batch.h"

namespace rocksync {

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

bool CandidateReader::all_are_covered() const {
  return context_.batch->AreCovered(std::span(candidates_).subspan(next_));
}

StorageSnapshot::Found CandidateReader::Find(uint32_t ordinal) {
  const LeafBatch& batch = *context_.batch;
  const auto behind = [&] {  // covered since they were read
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
  StorageSnapshot::Found found = std::move(ahead_.front().second);
  ahead_.pop_front();
  return found;
}

void CandidateReader::ReadAhead() {
  constexpr size_t kMostPairs = size_t{1} << 13;
  constexpr size_t kPairBytes = 128;  // in memory, beside key and value
  const LeafBatch& batch = *context_.batch;
  std::vector<uint32_t> ordinals = {candidates_[next_ - 1]};
  for (size_t i = next_;
       i < candidates_.size() && ordinals.size() < read_ahead_; ++i) {
    if (!batch.IsCovered(candidates_[i])) ordinals.push_back(candidates_[i]);
  }
  std::vector<PlacedElement> elements;
  elements.reserve(ordinals.size());
  for (const uint32_t ordinal : ordinals) {
    elements.push_back({batch.PositionAt(ordinal), batch.HashAt(ordinal)});
  }
  std::vector<StorageSnapshot::Found> found =
      context_.snapshot->FindPairs(elements, most_bytes_, *context_.cancelled);
  size_t bytes = kPairBytes * ordinals.size();
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].entry.ok()) bytes += found[i].entry->key.size();
    if (found[i].value && found[i].value->ok()) {
      bytes += (*found[i].value)->size();
    }
    ahead_.emplace_back(ordinals[i], std::move(found[i]));
  }
  // As many as are expected to fill half of what may be read.
  const size_t fitting = most_bytes_ / 2 * ordinals.size() / bytes;
  read_ahead_ =
      std::clamp<size_t>(fitting, 1, std::min(kMostPairs, 4 * ordinals.size()));
}

}  // namespace rocksync
