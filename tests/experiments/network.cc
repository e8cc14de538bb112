#include "network.h"

#include <algorithm>
#include <cassert>

#include "random_sets.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

// What a node holds: members of S by number, in order of arrival.
struct NodeSet {
  std::vector<uint32_t> members;
  std::vector<bool> has;

  explicit NodeSet(uint32_t universe) : has(universe) {}
  bool Add(uint32_t element) {
    if (has[element]) return false;
    has[element] = true;
    members.push_back(element);
    return true;
  }
};

class Network {
 public:
  explicit Network(const NetworkOptions& options);
  NetworkRun Run();

 private:
  // A filter with the size and the mapping of one meeting.
  DistributedBloomFilter EmptyFilter(uint32_t a, uint32_t b, uint64_t m) const;
  uint64_t FilterBits(const NodeSet& a, const NodeSet& b) const;
  void Meet(uint32_t a, uint32_t b);
  // Builds the filter of `holder`; `giver` gives `taker` what it lacks.
  void Transfer(DistributedBloomFilter filter, const NodeSet& holder,
                const NodeSet& giver, NodeSet* taker);
  uint64_t Iterate();
  bool AllConverged() const;
  void Note();

  const NetworkOptions options_;
  std::vector<ElementHash> elements_;
  std::vector<MappingSeed> ids_;
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<NodeSet> sets_;      // as they become
  std::vector<NodeSet> snapshot_;  // as the iteration found them
  MappingSeed common_seed_ = {};
  uint64_t meetings_ = 0;
  uint32_t turn_ = 0;  // whose turn it is among a node's neighbours
  NetworkRun run_;
};

Network::Network(const NetworkOptions& options) : options_(options) {
  Random random(options.seed);
  elements_ = RandomElements(options.elements, &random);
  neighbours_ =
      RandomNeighbours(options.nodes, options.neighbours, options.seed);
  std::vector<bool> in_union(options.elements);
  for (uint32_t node = 0; node < options.nodes; ++node) {
    ids_.push_back(RandomSeed(random));
    sets_.emplace_back(options.elements);
    for (const uint32_t e : Choose(random, options.elements, options.own)) {
      sets_.back().Add(e);
      in_union[e] = true;
    }
  }
  common_seed_ = RandomSeed(random);
  run_.union_size =
      static_cast<uint32_t>(std::count(in_union.begin(), in_union.end(), true));
}

DistributedBloomFilter Network::EmptyFilter(uint32_t a, uint32_t b,
                                            uint64_t m) const {
  MappingSeed seed = common_seed_;
  if (options_.mapping != MappingKind::kStandard) {
    for (size_t i = 0; i < seed.size(); ++i) seed[i] = ids_[a][i] ^ ids_[b][i];
  }
  const uint64_t round =
      options_.mapping == MappingKind::kFresh ? 1 + meetings_ : 0;
  return DistributedBloomFilter(
      {m, 1}, FilterMapping(seed, round, 1, options_.reduction));
}

uint64_t Network::FilterBits(const NodeSet& a, const NodeSet& b) const {
  const uint64_t n = options_.sizing == FilterSizing::kFixed
                         ? options_.elements
                         : std::max(a.members.size(), b.members.size());
  const FilterShape shape = ShapeFilter(n, options_.false_positive_rate);
  assert(shape.probes == 1);
  return shape.bits;
}

void Network::Transfer(DistributedBloomFilter filter, const NodeSet& holder,
                       const NodeSet& giver, NodeSet* taker) {
  for (const uint32_t e : holder.members) filter.Add(elements_[e]);
  ++run_.filters;
  run_.filter_bytes += filter.bytes().size();
  run_.hashes_stored += 2;  // the derived hash, at either end
  run_.hashes_unstored += holder.members.size() + giver.members.size();
  for (const uint32_t e : giver.members) {
    if (filter.MayContain(elements_[e])) continue;
    ++run_.elements_sent;
    run_.elements_needed += taker->Add(e);
  }
}

void Network::Meet(uint32_t a, uint32_t b) {
  const std::vector<NodeSet>& seen =
      options_.order == Order::kSequential ? sets_ : snapshot_;
  const uint64_t m = FilterBits(seen[a], seen[b]);
  const DistributedBloomFilter empty = EmptyFilter(a, b, m);
  // a's filter is built before anything moves, b's after b has pushed, which
  // changes nothing in b's set.
  Transfer(empty, seen[a], seen[b], &sets_[a]);
  Transfer(empty, seen[b], seen[a], &sets_[b]);
  ++meetings_;
}

// How many elements arrived.
uint64_t Network::Iterate() {
  const uint64_t before = run_.elements_needed;
  if (options_.order == Order::kSimultaneous) snapshot_ = sets_;
  for (uint32_t a = 0; a < options_.nodes; ++a) {
    for (uint32_t i = 0; i < options_.meetings; ++i) {
      Meet(a, neighbours_[a][(turn_ + i) % options_.neighbours]);
    }
  }
  turn_ += options_.meetings;
  return run_.elements_needed - before;
}

bool Network::AllConverged() const {
  return std::all_of(sets_.begin(), sets_.end(), [this](const NodeSet& set) {
    return set.members.size() == run_.union_size;
  });
}

void Network::Note() {
  std::vector<uint32_t> sizes;
  for (const NodeSet& set : sets_) {
    sizes.push_back(static_cast<uint32_t>(set.members.size()));
  }
  run_.sizes.push_back(std::move(sizes));
  run_.bytes_after.push_back(run_.filter_bytes);
}

NetworkRun Network::Run() {
  Note();
  // A fresh mapping may move tomorrow what it hid today; the others are done
  // for good once every neighbour had its turn and nothing moved.
  uint32_t idle = 0;
  uint32_t useful = 0;  // iterations up to the last that moved anything
  while (!run_.stopped && run_.iterations < options_.max_iterations) {
    const uint64_t moved = Iterate();
    ++run_.iterations;
    Note();
    idle = moved > 0 ? 0 : idle + options_.meetings;
    if (moved > 0) useful = run_.iterations;
    run_.stopped = AllConverged() || (options_.mapping != MappingKind::kFresh &&
                                      idle >= options_.neighbours);
  }
  run_.iterations = useful;
  run_.sizes.resize(useful + 1);
  run_.bytes_after.resize(useful + 1);
  const std::vector<uint32_t>& sizes = run_.sizes.back();
  run_.median = Median(sizes);
  run_.converged = static_cast<uint32_t>(
      std::count(sizes.begin(), sizes.end(), run_.union_size));
  for (const uint32_t size : sizes) run_.hashes_stored += size;
  return std::move(run_);
}

}  // namespace

std::vector<std::vector<uint32_t>> RandomNeighbours(uint32_t nodes,
                                                    uint32_t neighbours,
                                                    uint64_t seed) {
  assert(neighbours < nodes);
  Random random(~seed);
  std::vector<std::vector<uint32_t>> result(nodes);
  for (uint32_t node = 0; node < nodes; ++node) {
    result[node] = Choose(random, nodes - 1, neighbours);
    for (uint32_t& other : result[node]) other += other >= node;
  }
  return result;
}

NetworkRun RunNetwork(const NetworkOptions& options) {
  return Network(options).Run();
}

double Median(std::vector<uint32_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : (values[half - 1] + values[half]) / 2.0;
}

std::string NameOf(MappingKind mapping) {
  switch (mapping) {
    case MappingKind::kStandard:
      return "standard";
    case MappingKind::kDistributed:
      return "distributed";
    case MappingKind::kFresh:
      return "distributed with a counter";
  }
  return "";
}

std::string NameOf(Reduction reduction) {
  return reduction == Reduction::kPlainMod ? "mod m" : "ours";
}

}  // namespace rocksync
