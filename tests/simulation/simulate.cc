// Whole clusters in virtual time: `./dev simulate --seed N --seeds K`.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/simulation/cluster.h"

namespace rocksync {
namespace {

const std::map<std::string, PlantedFault> kStorageFaults = {
    {"skip-tombstone", PlantedFault::kSkipTombstone},
    {"drop-tombstone", PlantedFault::kDropTombstone},
    {"drop-index-entry", PlantedFault::kDropIndexEntry},
    {"reinvent-version", PlantedFault::kReinventVersion},
    {"accept-stale-version", PlantedFault::kAcceptStaleVersion},
    {"forget-limit", PlantedFault::kForgetLimit},
    {"unsynced-proof", PlantedFault::kSyncLies},
    {"offer-corrupt", PlantedFault::kOfferCorrupt},
};
const std::map<std::string, ClusterFault> kClusterFaults = {
    {"believe-filter", ClusterFault::kBelieveFilter},
    {"ignore-rollback", ClusterFault::kIgnoreRollback},
    {"reuse-mapping", ClusterFault::kReuseMapping},
    {"apply-late", ClusterFault::kApplyLate},
    {"act-on-decode", ClusterFault::kActOnDecode},
    {"forget-memory", ClusterFault::kForgetMemory},
    {"ship-before-sync", ClusterFault::kShipUnsynced},
    {"stream-before-sync", ClusterFault::kStreamUnsynced},
    {"relay-any-epoch", ClusterFault::kRelayAnyEpoch},
    {"window-never-ages", ClusterFault::kWindowNeverAges},
    {"ignore-gap", ClusterFault::kIgnoreGap},
};
const std::map<std::string, MemberFault> kMemberFaults = {
    {"collect-locally", MemberFault::kCollectLocally},
    {"new-member-counts", MemberFault::kNewMemberCounts},
    {"keep-proofs", MemberFault::kKeepProofs},
    {"take-removed-back", MemberFault::kTakeRemovedBack},
    {"let-old-data-in", MemberFault::kLetOldDataIn},
    {"take-clones-for-one", MemberFault::kTakeClonesForOne},
    {"guard-by-stable-time", MemberFault::kGuardByStableTime},
    {"larger-stable-time", MemberFault::kLargerStableTime},
};

// Plants the fault of this name; false: there is none.
bool Plant(const std::string& fault, ClusterOptions* options) {
  if (fault.empty()) return true;
  const auto storage = kStorageFaults.find(fault);
  if (storage != kStorageFaults.end()) {
    options->storage_fault = storage->second;
    return true;
  }
  const auto cluster = kClusterFaults.find(fault);
  if (cluster != kClusterFaults.end()) {
    options->cluster_fault = cluster->second;
    return true;
  }
  const auto member = kMemberFaults.find(fault);
  if (member == kMemberFaults.end()) return false;
  options->member_fault = member->second;
  return true;
}

std::string AllFaults() {
  std::string names;
  const auto add = [&names](const auto& faults) {
    for (const auto& [name, fault] : faults) {
      names += (names.empty() ? "" : ", ") + name;
    }
  };
  add(kStorageFaults);
  add(kClusterFaults);
  add(kMemberFaults);
  return names;
}

// A long run says so often how far it is.
constexpr uint64_t kProgressEvery = 1000;

struct Totals {
  uint64_t failed = 0;
  uint64_t sessions = 0;
  uint64_t proofs = 0;
  uint64_t pairs = 0;
  uint64_t writes = 0;
  uint64_t crashes = 0;
  uint64_t rollbacks = 0;
  uint64_t clones = 0;
  uint64_t refused = 0;
  uint64_t broken = 0;
  uint64_t joined = 0;
  uint64_t removed = 0;
  uint64_t collected = 0;
  uint64_t corruption = 0;
  uint64_t streams = 0;
  uint64_t streamed = 0;
  uint64_t relayed = 0;
  uint64_t gaps = 0;
  uint64_t prunes = 0;
  uint64_t grafts = 0;
  uint64_t slowest = 0;
  uint64_t slowest_by_streams = 0;
  uint64_t slowest_to_collect = 0;
};

void Add(const ClusterResult& result, Totals* totals) {
  totals->failed += result.violations.empty() ? 0 : 1;
  totals->sessions += result.sessions;
  totals->proofs += result.proofs;
  totals->pairs += result.pairs_sent;
  totals->writes += result.writes;
  totals->crashes += result.crashes;
  totals->rollbacks += result.rollbacks;
  totals->clones += result.clones;
  totals->refused += result.refused;
  totals->broken += result.broken;
  totals->joined += result.joined;
  totals->removed += result.removed;
  totals->collected += result.collected;
  totals->corruption += result.corruption;
  totals->streams += result.streams;
  totals->streamed += result.changes_streamed;
  totals->relayed += result.changes_relayed;
  totals->gaps += result.gaps;
  totals->prunes += result.prunes;
  totals->grafts += result.grafts;
  totals->slowest_by_streams =
      std::max(totals->slowest_by_streams, result.intervals_by_streams);
  totals->slowest = std::max(totals->slowest, result.intervals_to_equal);
  totals->slowest_to_collect =
      std::max(totals->slowest_to_collect, result.intervals_to_collect);
}

void Print(const Totals& totals, uint64_t first, uint64_t seeds) {
  std::printf("%" PRIu64 " seeds from %" PRIu64 ": %" PRIu64 " failed; %" PRIu64
              " sessions, %" PRIu64 " proofs, %" PRIu64 " pairs sent, %" PRIu64
              " writes, %" PRIu64 " crashes, %" PRIu64 " rollbacks, %" PRIu64
              " copies, %" PRIu64 " joined, %" PRIu64 " removed, %" PRIu64
              " refusals, %" PRIu64 " tombstones collected, %" PRIu64
              " pairs damaged, %" PRIu64
              " connections broken; equal after at most %" PRIu64
              " intervals, all collected after %" PRIu64 " more; %" PRIu64
              " streams, %" PRIu64 " changes over them, %" PRIu64
              " of them passed on, %" PRIu64 " gaps, %" PRIu64
              " prunes, %" PRIu64 " grafts, equal by streams after %" PRIu64
              " intervals\n",
              seeds, first, totals.failed, totals.sessions, totals.proofs,
              totals.pairs, totals.writes, totals.crashes, totals.rollbacks,
              totals.clones, totals.joined, totals.removed, totals.refused,
              totals.collected, totals.corruption, totals.broken,
              totals.slowest, totals.slowest_to_collect, totals.streams,
              totals.streamed, totals.relayed, totals.gaps, totals.prunes,
              totals.grafts, totals.slowest_by_streams);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("Simulates whole clusters and checks what they promise.");
  uint64_t seed = 1;
  uint64_t seeds = 1;
  bool trace = false;
  bool no_streams = false;
  std::string fault;
  app.add_option("--seed", seed, "the first seed");
  app.add_option("--seeds", seeds, "how many seeds, one after the other");
  app.add_flag("--trace", trace, "print what happens, line by line");
  app.add_flag("--no-streams", no_streams, "sessions alone");
  app.add_option("--fault", fault,
                 "plant a fault that must be caught: " + AllFaults());
  CLI11_PARSE(app, argc, argv);

  ClusterOptions options;
  if (!Plant(fault, &options)) {
    std::fprintf(stderr, "simulate: no fault is called %s; see --help\n",
                 fault.c_str());
    return 2;
  }
  options.streams = !no_streams;
  if (trace) {
    options.trace = [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    };
  }

  Totals totals;
  for (options.seed = seed; options.seed < seed + seeds; ++options.seed) {
    const ClusterResult result = RunCluster(options);
    Add(result, &totals);
    const uint64_t done = options.seed - seed + 1;
    if (done % kProgressEvery == 0 && done < seeds) Print(totals, seed, done);
    for (const std::string& violation : result.violations) {
      std::printf("seed %" PRIu64 ": %s\n", options.seed, violation.c_str());
    }
    if (!result.violations.empty()) {
      std::printf("replay with: ./dev simulate --seed %" PRIu64
                  " --trace%s%s\n",
                  options.seed, no_streams ? " --no-streams" : "",
                  fault.empty() ? "" : (" --fault " + fault).c_str());
    }
  }
  Print(totals, seed, seeds);
  return totals.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) { return rocksync::Main(argc, argv); }
