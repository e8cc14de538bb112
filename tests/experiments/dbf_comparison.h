// What the two experiments of arXiv 1910.07782 have in common: the network over
// many seeds, under each mapping, and what is kept of it.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_DBF_COMPARISON_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_DBF_COMPARISON_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "network.h"
#include "report.h"

namespace rocksync {

struct DbfOptions {
  uint32_t seeds = 100;
  uint64_t first_seed = 1;
  std::string reduction = "both";  // mod, ours, both
  NetworkOptions network;
  bool Wants(Reduction which) const;
};

// Adds the options to a subcommand.
void AddDbfOptions(CLI::App* command, DbfOptions* options);

// One configuration over all seeds.
struct DbfResult {
  MappingKind mapping = MappingKind::kFresh;
  Reduction reduction = Reduction::kMixed;
  Sample converged;    // nodes
  Sample median;       // of the sets' sizes
  Sample below_union;  // how many elements the median set lacks
  Sample iterations;
  Sample bytes_per_node;  // of filters, sent
  Sample hashes_stored;
  Sample hashes_unstored;
};

// Runs every mapping under every reduction that is asked for, reports each run
// and the means, and lets `judge` compare them with the paper.
bool RunDbfExperiment(
    const std::string& name, const DbfOptions& options, bool json,
    const std::function<void(const DbfResult&, Report*)>& judge);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_DBF_COMPARISON_H_
