// Whole clusters of real replicas in virtual time:
// `./dev simulate --store --seed N --seeds K`.

#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/simulation/store/store_cluster.h"

namespace rocksync::store_simulation {
namespace {

const std::map<std::string, StoreFault> kFaults = {
    {"lease-not-synced", StoreFault::kLeaseNotSynced},
    {"members-not-synced", StoreFault::kMembersNotSynced},
    {"opening-not-synced", StoreFault::kOpeningNotSynced},
    {"session-not-synced", StoreFault::kSessionNotSynced},
    {"write-not-synced", StoreFault::kWriteNotSynced},
    {"digest-not-noted", StoreFault::kDigestNotNoted},
};

// A long run says so often how far it is.
constexpr uint64_t kProgressEvery = 500;

struct Totals {
  uint64_t failed = 0;
  StoreClusterResult sum;
};

void Add(const StoreClusterResult& result, Totals* totals) {
  totals->failed += result.violations.empty() ? 0 : 1;
  StoreClusterResult* const sum = &totals->sum;
  sum->fingerprint = sum->fingerprint * 31 + result.fingerprint;
  sum->writes += result.writes;
  sum->meetings += result.meetings;
  sum->proofs += result.proofs;
  sum->openings += result.openings;
  sum->kills += result.kills;
  sum->power_lost += result.power_lost;
  sum->collected_bytes += result.collected_bytes;
  sum->copies += result.copies;
  sum->rollbacks += result.rollbacks;
  sum->joined += result.joined;
  sum->removed += result.removed;
  sum->corruption += result.corruption;
  sum->unreadable += result.unreadable;
  sum->stable_times += result.stable_times;
}

void Print(const Totals& totals, uint64_t first, uint64_t seeds) {
  const StoreClusterResult& sum = totals.sum;
  std::printf("%" PRIu64 " seeds from %" PRIu64 ": %" PRIu64 " failed; %" PRIu64
              " writes, %" PRIu64 " meetings, %" PRIu64 " proofs, %" PRIu64
              " openings, %" PRIu64 " kills, %" PRIu64
              " with power lost and %" PRIu64 " bytes, %" PRIu64
              " copies, %" PRIu64 " rollbacks, %" PRIu64 " joined, %" PRIu64
              " removed, %" PRIu64 " values damaged, %" PRIu64
              " disks unreadable, %" PRIu64 " stable times\n",
              seeds, first, totals.failed, sum.writes, sum.meetings, sum.proofs,
              sum.openings, sum.kills, sum.power_lost, sum.collected_bytes,
              sum.copies, sum.rollbacks, sum.joined, sum.removed,
              sum.corruption, sum.unreadable, sum.stable_times);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("Simulates clusters of real replicas on disks in memory.");
  uint64_t seed = 1;
  uint64_t seeds = 1;
  bool trace = false;
  std::string fault;
  app.add_option("--seed", seed, "the first seed");
  app.add_option("--seeds", seeds, "how many seeds, one after the other");
  app.add_flag("--trace", trace, "print what happens, line by line");
  std::string names;
  for (const auto& [name, value] : kFaults) {
    names += (names.empty() ? "" : ", ") + name;
  }
  app.add_option("--fault", fault,
                 "plant a fault that must be caught: " + names);
  CLI11_PARSE(app, argc, argv);

  StoreClusterOptions options;
  if (!fault.empty()) {
    const auto planted = kFaults.find(fault);
    if (planted == kFaults.end()) {
      std::fprintf(stderr, "simulate --store: no fault is called %s\n",
                   fault.c_str());
      return 2;
    }
    options.fault = planted->second;
  }
  if (trace) {
    options.trace = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
      std::fflush(stdout);
    };
  }

  Totals totals;
  for (options.seed = seed; options.seed < seed + seeds; ++options.seed) {
    const StoreClusterResult result = RunStoreCluster(options);
    Add(result, &totals);
    const uint64_t done = options.seed - seed + 1;
    if (done % kProgressEvery == 0 && done < seeds) Print(totals, seed, done);
    for (const std::string& violation : result.violations) {
      std::printf("seed %" PRIu64 ": %s\n", options.seed, violation.c_str());
    }
    if (!result.violations.empty()) {
      std::printf(
          "replay with: ./dev simulate --store --seed %" PRIu64 " --trace%s\n",
          options.seed, fault.empty() ? "" : (" --fault " + fault).c_str());
      std::fflush(stdout);
    }
  }
  Print(totals, seed, seeds);
  std::printf("fingerprint %016" PRIx64 "\n", totals.sum.fingerprint);
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksync::store_simulation

int main(int argc, char** argv) {
  return rocksync::store_simulation::Main(argc, argv);
}
