#include "replication/session/leaf_batch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "replication/reconcile/exchange.h"

namespace rocksync {

absl::StatusOr<LeafBatch> LeafBatch::Load(
    const StorageSnapshot& snapshot, std::vector<uint32_t> leaves,
    const std::function<bool()>& cancelled) {
  LeafBatch batch;
  Digest due;
  const std::span<const Digest> digests = snapshot.LeafDigests();
  for (const uint32_t leaf : leaves) due += digests[leaf];
  if (due.count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError("one leaf is too large to compare");
  }
  batch.leaf_bits_ = std::countr_zero(digests.size());
  batch.positions_.reserve(due.count);
  batch.hashes_.reserve(due.count);
  for (const uint32_t leaf : leaves) {
    if (digests[leaf].count == 0) continue;
    if (cancelled && cancelled()) {
      return absl::CancelledError("stopped while reading the index");
    }
    const absl::Status status = snapshot.ScanLeaf(
        leaf, [&batch](uint64_t position, const ElementHash& hash) {
          batch.positions_.push_back(position);
          batch.hashes_.push_back(hash);
          batch.merged_.Add(hash);
        });
    if (!status.ok()) return status;
  }
  if (batch.merged_ != due) snapshot.DigestsDisagree();
  batch.own_ = batch.positions_.size();
  batch.state_.assign(batch.own_, State::kOpen);
  batch.leaves_ = std::move(leaves);
  return batch;
}

bool LeafBatch::Covers(uint64_t position) const {
  return std::binary_search(leaves_.begin(), leaves_.end(),
                            LeafOf(position, leaf_bits_));
}

std::optional<uint32_t> LeafBatch::Find(uint64_t position,
                                        const ElementHash& hash) const {
  const auto range =
      std::equal_range(positions_.begin(), positions_.end(), position);
  for (auto it = range.first; it != range.second; ++it) {
    const auto ordinal = static_cast<size_t>(it - positions_.begin());
    if (hashes_[ordinal] == hash) return static_cast<uint32_t>(ordinal);
  }
  return std::nullopt;
}

bool LeafBatch::AreSettled(std::span<const uint32_t> ordinals) const {
  return std::all_of(ordinals.begin(), ordinals.end(),
                     [this](uint32_t ordinal) { return IsSettled(ordinal); });
}

void LeafBatch::Settle(uint32_t ordinal) {
  if (state_[ordinal] == State::kOpen) state_[ordinal] = State::kSettled;
}

void LeafBatch::Gain(const ElementHash& hash) {
  gained_.push_back(hash);
  merged_.Add(hash);
}

void LeafBatch::Remove(uint32_t ordinal) {
  if (state_[ordinal] == State::kRemoved) return;
  state_[ordinal] = State::kRemoved;
  merged_.Remove(hashes_[ordinal]);
}

void LeafBatch::Compact() {
  size_t kept = 0;
  for (size_t i = 0; i < own_; ++i) {
    if (state_[i] == State::kRemoved) continue;
    positions_[kept] = positions_[i];
    hashes_[kept] = hashes_[i];
    state_[kept] = state_[i];
    ++kept;
  }
  own_ = kept;
  positions_.resize(own_);
  state_.resize(own_);
  hashes_.resize(own_);
  hashes_.insert(hashes_.end(), gained_.begin(), gained_.end());
}

}  // namespace rocksync
