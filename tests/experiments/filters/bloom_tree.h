// A tree of Bloom filters near the producers of events ("One is Enough", CIKM
// 2011, section 6). An event climbs from its producer's leaf towards the root
// until a filter knows it; if none does it is distinct. All filters have one
// shape and one mapping, and an inner node's filter holds what its children's
// hold.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_BLOOM_TREE_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_BLOOM_TREE_H_

#include <cstdint>
#include <vector>

#include "sketch/element/element.h"
#include "sketch/filter/distributed_bloom_filter.h"

namespace rocksync {

enum class TreeKind {
  kSparse,  // first test, then set: one leaf holds an event
  kDense,   // test and set: each leaf that an event came to holds it
};

// What became of the top-down test of a match that none of the children knows.
enum class TopDown {
  kStops,   // as in the paper: the event is distinct
  kClimbs,  // the match is passed over, and the climb goes on
};

struct BloomTreeOptions {
  TreeKind kind = TreeKind::kSparse;
  uint32_t levels = 2;  // the root is level 0
  uint32_t fan_out = 2;
  FilterShape shape;  // of each filter
  // A match above this level is tested top-down to this level; 0 tests none.
  uint32_t threshold = 0;
  TopDown top_down = TopDown::kStops;
};

class BloomTree {
 public:
  struct Outcome {
    bool duplicate = false;
    uint32_t level = 0;  // where the climb ended
  };

  BloomTree(const BloomTreeOptions& options, const FilterMapping& mapping);

  uint32_t leaves() const { return LevelSize(options_.levels - 1); }
  // An event of the producer at `leaf`.
  Outcome Process(const ElementHash& hash, uint32_t leaf);

  // Filters tested or set so far, by level.
  const std::vector<uint64_t>& accesses() const { return accesses_; }

 private:
  struct Node {
    uint32_t level = 0;
    uint32_t index = 0;  // within the level
  };
  uint32_t LevelSize(uint32_t level) const;
  DistributedBloomFilter& FilterOf(const Node& node);
  bool Test(const Node& node, const ElementHash& hash);
  // Whether a chain of matches leads from `node`, which matches, down to the
  // threshold's level, by any child but the one that the event came from.
  bool ConfirmTopDown(const Node& node, const ElementHash& hash,
                      uint32_t came_from);
  void SetPath(const ElementHash& hash, uint32_t leaf, uint32_t up_to);

  const BloomTreeOptions options_;
  std::vector<std::vector<DistributedBloomFilter>> filters_;  // by level
  std::vector<uint64_t> accesses_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_FILTERS_BLOOM_TREE_H_
