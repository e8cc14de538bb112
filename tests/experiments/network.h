// The network of the Distributed Bloom Filter's experiments (arXiv 1910.07782,
// section 5): nodes with random neighbours and random parts of one set swap
// small filters until nothing moves any more. The filters are the library's.
//
// An iteration lets every node, one after the other, meet one of its
// neighbours, which come in turn; with meetings = neighbours, all of them. When
// a meets b, a sends its filter; b pushes what that
// filter surely lacks and asks for what b itself lacks, by its own filter of
// the same mapping and size, which a answers the same way. What was received is
// there at the next meeting (Order::kSequential), or only in the next iteration
// (Order::kSimultaneous).

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_NETWORK_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_NETWORK_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sketch/element/mapping.h"

namespace rocksync {

enum class MappingKind {
  kStandard,     // one mapping for all
  kDistributed,  // from the XOR of the two node ids
  kFresh,        // that, and a counter: no mapping is used twice
};
enum class FilterSizing {
  kFixed,   // experiment 1: m from all elements there are
  kLarger,  // experiment 2: m from the larger of the two sets that meet
};
enum class Order { kSequential, kSimultaneous };

struct NetworkOptions {
  MappingKind mapping = MappingKind::kFresh;
  FilterSizing sizing = FilterSizing::kFixed;
  Reduction reduction = Reduction::kMixed;
  Order order = Order::kSequential;
  uint32_t nodes = 50;
  uint32_t neighbours = 10;
  uint32_t meetings = 10;    // of a node, per iteration
  uint32_t elements = 1000;  // |S|
  uint32_t own = 200;        // random ones of S per node
  double false_positive_rate = 0.5;
  uint32_t max_iterations = 200;
  uint64_t seed = 1;  // of ids, sets and neighbours; not of the mapping kind
};

struct NetworkRun {
  bool stopped = false;     // converged, or a fixed point; not the limit
  uint32_t iterations = 0;  // that changed anything
  uint32_t converged = 0;   // nodes that hold the union of all sets
  uint32_t union_size = 0;
  double median = 0;  // of the sets' sizes at the end
  uint64_t filters = 0;
  uint64_t filter_bytes = 0;
  uint64_t elements_sent = 0;
  uint64_t elements_needed = 0;  // what the nodes gained
  // Cryptographic hashes if element hashes are stored once they are known, as
  // the library does: one per element and node, and k per filter built or read.
  uint64_t hashes_stored = 0;
  // The same if each Add and each test hashes anew, k times.
  uint64_t hashes_unstored = 0;
  std::vector<std::vector<uint32_t>> sizes;  // [iteration, 0 first][node]
  std::vector<uint64_t> bytes_after;         // [iteration]: filter bytes so far
};

// Which node knows which: `neighbours` random others for each.
std::vector<std::vector<uint32_t>> RandomNeighbours(uint32_t nodes,
                                                    uint32_t neighbours,
                                                    uint64_t seed);

NetworkRun RunNetwork(const NetworkOptions& options);

double Median(std::vector<uint32_t> values);

std::string NameOf(MappingKind mapping);
std::string NameOf(Reduction reduction);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_NETWORK_H_
