#include "replication/session/location.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {

ElementHash HashLeaf(uint32_t leaf, const Digest& digest) {
  std::string bytes;
  PutFixed32(&bytes, leaf);
  PutFixed64(&bytes, digest.count);
  PutFixed64(&bytes, digest.high);
  PutFixed64(&bytes, digest.low);
  const Sha256Digest hash = Sha256({"rocksync leaf", bytes});
  std::string_view view = AsPiece(hash);
  ElementHash element;
  if (!GetFixed64(&view, &element.high) || !GetFixed64(&view, &element.low)) {
    return {};  // 32 bytes hold both
  }
  return element;
}

Location::Location(std::span<const Digest> leaves)
    : leaves_(leaves), closed_(leaves.size()) {
  for (const Digest& leaf : leaves_) total_ += leaf;
}

std::vector<uint32_t> Location::AllLeaves() const {
  std::vector<uint32_t> leaves(leaves_.size());
  std::iota(leaves.begin(), leaves.end(), 0);
  return leaves;
}

std::span<const ElementHash> Location::Elements() {
  compared_.clear();
  elements_.clear();
  for (uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
    if (closed_.Contains(leaf)) continue;
    compared_.push_back(leaf);
    elements_.push_back(HashLeaf(leaf, leaves_[leaf]));
  }
  return elements_;
}

void Location::Found(const std::vector<uint32_t>& ordinals) {
  std::vector<uint32_t> leaves;
  for (const uint32_t ordinal : ordinals) leaves.push_back(compared_[ordinal]);
  TakeFound(std::move(leaves));
  // Assigning `{}` would keep their memory.
  std::vector<uint32_t>().swap(compared_);
  std::vector<ElementHash>().swap(elements_);
}

void Location::FoundAll() {
  std::vector<uint32_t> leaves;
  for (uint32_t leaf = 0; leaf < leaf_count(); ++leaf) {
    if (leaves_[leaf].count > 0) leaves.push_back(leaf);
  }
  TakeFound(std::move(leaves));
}

std::vector<uint32_t> Location::NextBatch(uint64_t peer_total,
                                          uint64_t max_elements) const {
  const auto most = static_cast<double>(max_elements);
  const double peer_share = PeerShare(peer_total);
  std::vector<uint32_t> batch;
  double larger = 0;  // of both sides, leaf by leaf
  double theirs = 0;
  for (const uint32_t leaf : found_) {
    if (closed_.Contains(leaf)) continue;
    larger += std::max(static_cast<double>(leaves_[leaf].count),
                       std::floor(peer_share));
    theirs += peer_share;
    if (!batch.empty() && std::max(larger, theirs) > most) break;
    batch.push_back(leaf);
  }
  return batch;
}

void Location::TakeFound(std::vector<uint32_t> leaves) {
  found_ = std::move(leaves);
  open_ = 0;
  uint64_t held = 0;
  for (const uint32_t leaf : found_) {
    if (closed_.Contains(leaf)) continue;
    ++open_;
    held += leaves_[leaf].count;
  }
  elsewhere_ = total_.count - std::min(total_.count, held);
}

double Location::PeerShare(uint64_t peer_total) const {
  const uint64_t theirs = peer_total - std::min(peer_total, elsewhere_);
  return open_ == 0 ? 0
                    : static_cast<double>(theirs) / static_cast<double>(open_);
}

std::vector<uint32_t> Location::Narrow(std::vector<uint32_t> leaves,
                                       uint64_t peer_count,
                                       uint64_t max_elements) const {
  uint64_t count = 0;
  size_t taken = 0;
  while (taken < leaves.size()) {
    count += leaves_[leaves[taken]].count;
    if (count > max_elements && taken > 0) break;
    ++taken;
  }
  // Leaves are alike, so the peer's elements are spread evenly over them.
  if (peer_count / 2 > max_elements) {
    const size_t parts = static_cast<size_t>(
        std::min<uint64_t>(peer_count / max_elements, leaves.size()));
    taken = std::min(taken, std::max<size_t>(1, leaves.size() / parts));
  }
  leaves.resize(taken);
  return leaves;
}

Digest Location::Sum(const std::vector<uint32_t>& leaves) const {
  Digest sum;
  for (const uint32_t leaf : leaves) sum += leaves_[leaf];
  return sum;
}

void Location::Close(const std::vector<uint32_t>& leaves,
                     const Digest& merged) {
  total_ -= Sum(leaves);
  total_ += merged;
  for (const uint32_t leaf : leaves) closed_.Insert(leaf);
  closed_leaves_ += static_cast<uint32_t>(leaves.size());
}

void Location::Refine(std::span<const Digest> finer) {
  coarse_ = leaves_;
  per_coarse_leaf_ = per_leaf_;
  leaves_ = finer;
  closed_ = LeafSet(finer.size());
  found_.clear();
}

void Location::Coarsen(bool all_found) {
  if (!finer()) return;
  leaves_ = std::exchange(coarse_, {});
  per_leaf_ = per_coarse_leaf_;
  closed_ = LeafSet(leaves_.size());
  TakeFound(all_found ? AllLeaves() : std::vector<uint32_t>());
}

void Location::Merge(const MergedChanges& changes) {
  if (changed_leaves_.empty()) {
    changed_leaves_.assign(leaves_.begin(), leaves_.end());
    leaves_ = changed_leaves_;
  }
  const int leaf_bits = std::countr_zero(leaves_.size());
  changes_.Add(changes);
  for (const PlacedElement& one : changes.gained) {
    changed_leaves_[LeafOf(one.position, leaf_bits)].Add(one.hash);
    total_.Add(one.hash);
  }
  for (const PlacedElement& one : changes.removed) {
    changed_leaves_[LeafOf(one.position, leaf_bits)].Remove(one.hash);
    total_.Remove(one.hash);
  }
}

}  // namespace rocksync
