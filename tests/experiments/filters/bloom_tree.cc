#include "tests/experiments/filters/bloom_tree.h"

#include <limits>

namespace rocksync {
namespace {

constexpr uint32_t kNoChild = std::numeric_limits<uint32_t>::max();

}  // namespace

BloomTree::BloomTree(const BloomTreeOptions& options,
                     const FilterMapping& mapping)
    : options_(options), accesses_(options.levels) {
  for (uint32_t level = 0; level < options.levels; ++level) {
    filters_.emplace_back(LevelSize(level),
                          DistributedBloomFilter(options.shape, mapping));
  }
}

uint32_t BloomTree::LevelSize(uint32_t level) const {
  uint32_t size = 1;
  for (uint32_t i = 0; i < level; ++i) size *= options_.fan_out;
  return size;
}

DistributedBloomFilter& BloomTree::FilterOf(const Node& node) {
  return filters_[node.level][node.index];
}

bool BloomTree::Test(const Node& node, const ElementHash& hash) {
  ++accesses_[node.level];
  return FilterOf(node).MayContain(hash);
}

bool BloomTree::ConfirmTopDown(const Node& node, const ElementHash& hash,
                               uint32_t came_from) {
  if (node.level >= options_.threshold) return true;
  for (uint32_t i = 0; i < options_.fan_out; ++i) {
    const Node child = {node.level + 1, node.index * options_.fan_out + i};
    if (child.index == came_from) continue;
    if (Test(child, hash) && ConfirmTopDown(child, hash, kNoChild)) return true;
  }
  return false;
}

// In a sparse tree, which tests before it sets.
void BloomTree::SetPath(const ElementHash& hash, uint32_t leaf,
                        uint32_t up_to) {
  uint32_t index = leaf;
  for (uint32_t level = options_.levels; level-- > up_to;) {
    ++accesses_[level];
    filters_[level][index].Add(hash);
    index /= options_.fan_out;
  }
}

BloomTree::Outcome BloomTree::Process(const ElementHash& hash, uint32_t leaf) {
  const bool dense = options_.kind == TreeKind::kDense;
  uint32_t came_from = kNoChild;
  uint32_t level = options_.levels - 1;
  for (uint32_t index = leaf;; index /= options_.fan_out, --level) {
    const Node node = {level, index};
    bool stops = false;
    if (Test(node, hash)) {
      if (ConfirmTopDown(node, hash, came_from)) return {true, level};
      stops = options_.top_down == TopDown::kStops;
    } else if (dense) {
      FilterOf(node).Add(hash);
    }
    if (level == 0 || stops) break;
    came_from = index;
  }
  // Above where the climb stopped all bits are set already.
  if (!dense) SetPath(hash, leaf, level);
  return {false, level};
}

}  // namespace rocksync
