#include "replication/session/leaf_batch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/reconcile/exchange.h"

namespace rocksync {
namespace {

std::vector<ElementHash> SortedHashes(
    const std::vector<PlacedElement>& elements) {
  std::vector<ElementHash> hashes;
  hashes.reserve(elements.size());
  for (const PlacedElement& one : elements) hashes.push_back(one.hash);
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

}  // namespace

void MergedChanges::Add(const MergedChanges& later) {
  gained.insert(gained.end(), later.gained.begin(), later.gained.end());
  removed.insert(removed.end(), later.removed.begin(), later.removed.end());
  std::sort(removed.begin(), removed.end(),
            [](const PlacedElement& a, const PlacedElement& b) {
              return a.position < b.position;
            });
}

bool MergedChanges::Removed(const PlacedElement& element) const {
  auto at = std::lower_bound(
      removed.begin(), removed.end(), element.position,
      [](const PlacedElement& a, uint64_t b) { return a.position < b; });
  for (; at != removed.end() && at->position == element.position; ++at) {
    if (at->hash == element.hash) return true;
  }
  return false;
}

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
  batch.gained_before_ = SortedHashes(changes.gained);
  batch.removed_before_ = SortedHashes(changes.removed);
  for (const uint32_t leaf : leaves) {
    if (digests[leaf].count == 0) continue;
    if (cancelled && cancelled()) {
      return absl::CancelledError("stopped while reading the index");
    }
    const absl::Status status = snapshot.ScanLeaf(
        leaf, [&](uint64_t position, const ElementHash& hash) {
          read.Add(hash);
          if (batch.WasRemoved(hash)) return;
          batch.positions_.push_back(position);
          batch.hashes_.push_back(hash);
          batch.merged_.Add(hash);
        });
    if (!status.ok()) return status;
  }
  if (read != due) snapshot.DigestsDisagree();
  batch.own_ = batch.positions_.size();
  batch.as_read_ = changes.removed.empty();
  batch.state_.assign(batch.own_, State::kOpen);
  batch.leaves_ = std::move(leaves);
  for (const PlacedElement& one : changes.gained) {
    if (!batch.Covers(one.position)) continue;
    batch.gained_.push_back(one);
    batch.merged_.Add(one.hash);
    batch.positions_.push_back(one.position);
    batch.hashes_.push_back(one.hash);
  }
  batch.inherited_ = batch.gained_.size();
  return batch;
}

void LeafBatch::CoverWholeSet(const Digest& total) {
  whole_set_ = true;
  in_order_ = own_;
  own_ = positions_.size();
  read_ = own_;
  state_.resize(own_, State::kCovered);  // what earlier batches gained
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
  return whole_set_ || std::binary_search(leaves_.begin(), leaves_.end(),
                                          LeafOf(position, leaf_bits_));
}

bool LeafBatch::MayHold(uint64_t position) {
  if (whole_set_ || !as_read_) return true;
  const auto begin = positions_.begin();
  auto first = begin;
  if (last_ < own_ && positions_[last_] < position) {
    // Steps from last_ double, since the position is most often near.
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
  const auto end = positions_.begin() +
                   static_cast<ptrdiff_t>(whole_set_ ? in_order_ : own_);
  const auto range = std::equal_range(positions_.begin(), end, position);
  for (auto it = range.first; it != range.second; ++it) {
    const auto ordinal = static_cast<size_t>(it - positions_.begin());
    if (hashes_[ordinal] == hash) return static_cast<uint32_t>(ordinal);
  }
  if (!whole_set_) return std::nullopt;
  const auto inserted = inserted_.equal_range(position);
  for (auto it = inserted.first; it != inserted.second; ++it) {
    if (hashes_[it->second] == hash) return it->second;
  }
  if (WasRemoved(hash)) return std::nullopt;
  return Insert({position, hash});
}

bool LeafBatch::AreCovered(std::span<const uint32_t> ordinals) const {
  return std::all_of(ordinals.begin(), ordinals.end(),
                     [this](uint32_t ordinal) { return IsCovered(ordinal); });
}

void LeafBatch::Cover(uint32_t ordinal) {
  if (state_[ordinal] == State::kOpen) state_[ordinal] = State::kCovered;
}

bool LeafBatch::WasRemoved(const ElementHash& hash) const {
  return std::binary_search(removed_before_.begin(), removed_before_.end(),
                            hash);
}

void LeafBatch::Gain(const PlacedElement& element) {
  if (std::binary_search(gained_before_.begin(), gained_before_.end(),
                         element.hash)) {
    return;
  }
  gained_.push_back(element);
  merged_.Add(element.hash);
}

void LeafBatch::Remove(uint32_t ordinal) {
  if (state_[ordinal] == State::kRemoved) return;
  state_[ordinal] = State::kRemoved;
  merged_.Remove(hashes_[ordinal]);
}

MergedChanges LeafBatch::Changes() const {
  MergedChanges changes{
      .gained = {gained_.begin() + static_cast<ptrdiff_t>(inherited_),
                 gained_.end()},
      .removed = {}};
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
  // The exact size is reserved: a vector that grows by itself takes twice as
  // much, and a session's memory is bounded by its number of elements.
  positions_.reserve(own_ + gained_.size());
  hashes_.reserve(own_ + gained_.size());
  for (const PlacedElement& one : gained_) {
    positions_.push_back(one.position);
    hashes_.push_back(one.hash);
  }
}

}  // namespace rocksync
