#include "replication/session/leaf_batch.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange.h"

namespace rocksync {

absl::StatusOr<LeafBatch> LeafBatch::Load(
    const StorageSnapshot& snapshot, std::vector<uint32_t> leaves,
    const MergedChanges& changes, const std::function<bool()>& cancelled) {
  LeafBatch batch;
  Digest due;
  Digest read;
  const std::span<const Digest> digests = snapshot.LeafDigests();
  for (const uint32_t leaf : leaves) due += digests[leaf];
  if (due.count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a batch of leaves has ", due.count, " elements, more than the ",
        kMaxExchangeElements,
        " that one exchange compares; split the data over more databases"));
  }
  batch.leaf_bits_ = std::countr_zero(digests.size());
  batch.positions_.reserve(due.count);
  batch.hashes_.reserve(due.count);
  std::set<std::pair<uint64_t, uint64_t>> removed;
  for (const PlacedElement& one : changes.removed) {
    removed.emplace(one.hash.high, one.hash.low);
  }
  for (const uint32_t leaf : leaves) {
    if (digests[leaf].count == 0) continue;
    if (cancelled && cancelled()) {
      return absl::CancelledError("stopped while reading the index");
    }
    const absl::Status status = snapshot.ScanLeaf(
        leaf, [&](uint64_t position, const ElementHash& hash) {
          read.Add(hash);
          if (removed.contains({hash.high, hash.low})) return;
          batch.positions_.push_back(position);
          batch.hashes_.push_back(hash);
          batch.merged_.Add(hash);
        });
    if (!status.ok()) return status;
  }
  if (read != due) snapshot.DigestsDisagree();
  batch.own_ = batch.positions_.size();
  batch.as_read_ = removed.empty();
  batch.state_.assign(batch.own_, State::kOpen);
  batch.leaves_ = std::move(leaves);
  for (const PlacedElement& one : changes.gained) {
    if (!batch.Covers(one.position)) continue;
    batch.Gain(one);
    batch.positions_.push_back(one.position);
    batch.hashes_.push_back(one.hash);
  }
  return batch;
}

void LeafBatch::Widen(const Digest& total) {
  wide_ = true;
  read_ = own_;
  merged_ = total;
}

uint32_t LeafBatch::Insert(const PlacedElement& element) {
  const auto ordinal = static_cast<uint32_t>(own_++);
  positions_.push_back(element.position);
  hashes_.push_back(element.hash);
  state_.push_back(State::kOpen);
  inserted_.emplace(element.position, ordinal);
  return ordinal;
}

bool LeafBatch::Covers(uint64_t position) const {
  return wide_ || std::binary_search(leaves_.begin(), leaves_.end(),
                                     LeafOf(position, leaf_bits_));
}

bool LeafBatch::MayHold(uint64_t position) {
  if (wide_ || !as_read_) return true;
  const auto begin = positions_.begin();
  auto first = begin;
  if (last_ < own_ && positions_[last_] < position) {
    // Steps from there that double, as it is most often near.
    size_t step = 1;
    while (step < own_ - last_ && positions_[last_ + step] < position) {
      step *= 2;
    }
    first = begin + last_ + step / 2;
    last_ = std::min(last_ + step, own_);
  } else {
    last_ = own_;
  }
  const auto found = std::lower_bound(first, begin + last_, position);
  last_ = static_cast<size_t>(found - begin);
  return last_ < own_ && positions_[last_] == position;
}

std::optional<uint32_t> LeafBatch::Find(uint64_t position,
                                        const ElementHash& hash) {
  const auto end = positions_.begin() + (wide_ ? read_ : own_);
  const auto range = std::equal_range(positions_.begin(), end, position);
  for (auto it = range.first; it != range.second; ++it) {
    const auto ordinal = static_cast<size_t>(it - positions_.begin());
    if (hashes_[ordinal] == hash) return static_cast<uint32_t>(ordinal);
  }
  if (!wide_) return std::nullopt;
  const auto inserted = inserted_.equal_range(position);
  for (auto it = inserted.first; it != inserted.second; ++it) {
    if (hashes_[it->second] == hash) return it->second;
  }
  return Insert({position, hash});
}

bool LeafBatch::AreCovered(std::span<const uint32_t> ordinals) const {
  return std::all_of(ordinals.begin(), ordinals.end(),
                     [this](uint32_t ordinal) { return IsCovered(ordinal); });
}

void LeafBatch::Cover(uint32_t ordinal) {
  if (state_[ordinal] == State::kOpen) state_[ordinal] = State::kCovered;
}

void LeafBatch::Gain(const PlacedElement& element) {
  gained_.push_back(element);
  merged_.Add(element.hash);
}

void LeafBatch::Remove(uint32_t ordinal) {
  if (state_[ordinal] == State::kRemoved) return;
  state_[ordinal] = State::kRemoved;
  merged_.Remove(hashes_[ordinal]);
}

MergedChanges LeafBatch::Changes() const {
  MergedChanges changes{.gained = gained_, .removed = {}};
  for (size_t i = 0; i < own_; ++i) {
    if (state_[i] != State::kRemoved) continue;
    changes.removed.push_back({positions_[i], hashes_[i]});
  }
  return changes;
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
  as_read_ = as_read_ && kept == own_;
  own_ = kept;
  positions_.resize(own_);
  state_.resize(own_);
  hashes_.resize(own_);
  for (const PlacedElement& one : gained_) {
    positions_.push_back(one.position);
    hashes_.push_back(one.hash);
  }
}

}  // namespace rocksync
