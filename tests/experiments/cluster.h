// Many replicas of a keyed store, with overwrites and deletes, that meet in
// pairs and reconcile by the library's Exchange: the paper's network, grown up.
//
// In a round every node, one after the other, meets one other: the next of its
// random neighbours, or any node at random. They compare digests; if these
// differ they run exchanges until they agree (mode adaptive), or one (mode
// bloom, as in the paper). What a side surely lacks is offered by key and
// version; the pair travels if its version wins there.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_CLUSTER_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "replication/reconcile/exchange.h"

namespace rocksync {

enum class Pairing { kNeighbours, kRandom };

struct ClusterOptions {
  ExchangeMode mode = ExchangeMode::kAdaptive;
  Pairing pairing = Pairing::kNeighbours;
  uint32_t nodes = 50;
  uint32_t neighbours = 10;
  uint32_t keys = 10'000;
  double own = 0.2;           // of the keys, random ones on each node
  double inserted = 0;        // of the keys, each on one node alone
  double overwritten = 0.02;  // of the keys, each on one node alone
  double deleted = 0.01;      // of the keys, each on one node alone
  uint32_t max_rounds = 100;
  uint64_t seed = 1;
};

struct ClusterRun {
  bool converged = false;  // every node holds every key's last version
  uint32_t rounds = 0;
  uint64_t meetings = 0;
  uint64_t exchanges = 0;
  uint64_t hello_bytes = 0;      // counts and digests
  uint64_t exchange_bytes = 0;   // payloads, both directions
  uint64_t offered = 0;          // pairs named missing by either side
  uint64_t offered_in_vain = 0;  // of them: the other side had that element
  uint64_t shipped = 0;          // pairs that won
  uint64_t needed = 0;           // pairs that nodes lacked at the start
  std::vector<uint32_t> nodes_converged;  // [round, 0 first]
  std::vector<uint64_t> bytes_after;      // [round, 0 first]
};

// `each_round` hears of every round, for progress.
ClusterRun RunCluster(const ClusterOptions& options,
                      const std::function<void(const ClusterRun&)>& each_round);

std::string NameOf(ExchangeMode mode);
std::string NameOf(Pairing pairing);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_CLUSTER_H_
