// bench_reconcile: bytes, round trips and CPU of making two sets equal. See
// docs/journal/exchange.md for the figures it makes.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "replication/session/session.h"
#include "rocksync/replicator.h"
#include "tests/bench/number_check.h"
#include "tests/bench/reconcile/from_index.h"
#include "tests/bench/reconcile/merkle.h"
#include "tests/bench/reconcile/reconciliation.h"
#include "tests/bench/reconcile/session_run.h"
#include "tests/bench/reconcile/slice.h"
#include "tests/bench/reconcile/workload.h"
#include "tests/bench/reconcile/workload_storage.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

struct Settings {
  uint64_t n = 0;
  uint64_t only_a = 0;
  uint64_t only_b = 0;
  std::string mode = "adaptive";
  std::string prefer = "bytes";
  std::string mapping = "fresh";
  double false_positive_rate = 0.5;
  double pair_bytes = 100;
  Hashes hashes = Hashes::kRandom;
  uint64_t seed = 1;
  uint32_t runs = 3;
  bool json = false;
  bool plan = false;
  bool session = false;
  bool from_index = false;
  bool slice = false;
  uint64_t overwrites = 0;
  std::string directory;
};

ExchangeOptions OptionsOf(const Settings& s) {
  ExchangeOptions options;
  options.pair_bytes = s.pair_bytes;
  options.prefer = s.prefer == "bytes" ? Prefer::kBytes : Prefer::kRoundTrips;
  if (s.mode != "adaptive") {
    options.mode = ExchangeMode::kBloom;
    options.false_positive_rate = s.false_positive_rate;
  }
  return options;
}

// A whole session, pairs and all, with the memory that a Replicator allows.
Outcome RunSessionOnce(const Settings& s, uint64_t seed, Workload* workload) {
  const std::vector<ElementHash> elements = ElementsByNumber(*workload);
  WorkloadStorage a(&elements, &workload->a);
  WorkloadStorage b(&elements, &workload->b);
  SessionOptions options;
  options.exchange = OptionsOf(s);
  BoundMemory(ReplicatorOptions().max_session_bytes, kLeafCount, &options);
  const SessionCost cost = RunSession(&a, &b, options, seed);
  Outcome outcome;
  outcome.bytes_a_to_b = cost.finding_bytes[0];
  outcome.bytes_b_to_a = cost.finding_bytes[1];
  outcome.shipping_bytes = cost.shipping_bytes[0] + cost.shipping_bytes[1];
  outcome.round_trips = cost.finding_round_trips;
  outcome.all_round_trips = cost.round_trips;
  outcome.cpu_ms_a = cost.cpu_ms[0];
  outcome.cpu_ms_b = cost.cpu_ms[1];
  outcome.missing_after = CountMissing(*workload);
  outcome.false_pairs = cost.offered - cost.report[0].pairs_applied -
                        cost.report[1].pairs_applied;
  outcome.retries =
      cost.report[0].exchanges > 0 ? cost.report[0].exchanges - 1 : 0;
  outcome.plan =
      cost.report[0].plan + " | " + cost.report[1].plan + " | " + cost.turns;
  outcome.failed = !cost.proven;
  return outcome;
}

Outcome RunOnce(const Settings& s, uint64_t seed) {
  Workload workload = MakeWorkload(s.n, s.only_a, s.only_b, seed, s.hashes);
  if (s.mode == "merkle") return ReconcileByMerkleTree(&workload);
  if (s.session) return RunSessionOnce(s, seed, &workload);
  Method method;
  method.options = OptionsOf(s);
  // "bloom" is one filter each way, and what it hides stays hidden.
  if (s.mode == "bloom") method.max_exchanges = 1;
  method.fixed_mapping = s.mapping == "fixed";
  return Reconcile(method, seed, &workload);
}

template <typename Get>
double Median(const std::vector<Outcome>& outcomes, const Get& get) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) {
    values.push_back(static_cast<double>(get(outcome)));
  }
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

// Runs a cell; false if a run failed, or left something missing in a mode that
// promises nothing missing.
bool RunCell(const Settings& s) {
  std::vector<Outcome> outcomes;
  uint64_t missing_runs = 0;
  double bytes = 0;
  double false_pairs = 0;
  for (uint32_t run = 0; run < s.runs; ++run) {
    outcomes.push_back(RunOnce(s, s.seed + run));
    const Outcome& outcome = outcomes.back();
    if (outcome.failed) {
      std::fprintf(stderr, "seed %llu failed\n",
                   static_cast<unsigned long long>(s.seed + run));
      return false;
    }
    missing_runs += outcome.missing_after > 0;
    bytes += static_cast<double>(outcome.bytes()) / s.runs;
    false_pairs += static_cast<double>(outcome.false_pairs) / s.runs;
  }
  const auto median = [&](const auto& get) { return Median(outcomes, get); };
  const double median_bytes =
      median([](const Outcome& o) { return o.bytes(); });
  const double trips = median([](const Outcome& o) { return o.round_trips; });
  const double cpu_a = median([](const Outcome& o) { return o.cpu_ms_a; });
  const double cpu_b = median([](const Outcome& o) { return o.cpu_ms_b; });
  const double retries = median([](const Outcome& o) { return o.retries; });
  if (s.json) {
    nlohmann::ordered_json line;
    line["n"] = s.n;
    line["only_a"] = s.only_a;
    line["only_b"] = s.only_b;
    line["mode"] = s.mode;
    line["prefer"] = s.prefer;
    line["bytes"] = median_bytes;
    line["bytes_a_to_b"] =
        median([](const Outcome& o) { return o.bytes_a_to_b; });
    line["bytes_b_to_a"] =
        median([](const Outcome& o) { return o.bytes_b_to_a; });
    line["round_trips"] = trips;
    line["cpu_ms_a"] = cpu_a;
    line["cpu_ms_b"] = cpu_b;
    line["missing_after"] =
        median([](const Outcome& o) { return o.missing_after; });
    line["false_pairs"] =
        median([](const Outcome& o) { return o.false_pairs; });
    line["retries"] = retries;
    line["runs"] = s.runs;
    line["runs_with_missing"] = missing_runs;
    line["mean_bytes"] = bytes;
    line["mean_false_pairs"] = false_pairs;
    if (s.session) {
      line["shipping_bytes"] =
          median([](const Outcome& o) { return o.shipping_bytes; });
      line["all_round_trips"] =
          median([](const Outcome& o) { return o.all_round_trips; });
      double most = 0;
      double sum = 0;
      for (const Outcome& one : outcomes) {
        most = std::max(most, one.round_trips);
        sum += one.round_trips;
      }
      line["round_trips_max"] = most;
      line["mean_round_trips"] = sum / static_cast<double>(outcomes.size());
    }
    if (s.plan) line["plan"] = outcomes[0].plan;
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%9llu %8llu %8llu %11.0f %11.0f %5.1f %8.1f %8.1f %6llu "
        "%9.2f %4.0f\n",
        static_cast<unsigned long long>(s.n),
        static_cast<unsigned long long>(s.only_a),
        static_cast<unsigned long long>(s.only_b), median_bytes, bytes, trips,
        cpu_a, cpu_b, static_cast<unsigned long long>(missing_runs),
        false_pairs, retries);
    if (s.plan) std::printf("          %s\n", outcomes[0].plan.c_str());
  }
  std::fflush(stdout);
  const bool promised =
      (s.mode == "adaptive" || s.mode == "dbf") && s.mapping == "fresh";
  return !promised || missing_runs == 0;
}

void PrintFromIndex(const Settings& s, const IndexOutcome& outcome) {
  const SessionCost& cost = outcome.cost;
  nlohmann::ordered_json line;
  line["n"] = s.n;
  line["only_a"] = s.only_a;
  line["only_b"] = s.only_b;
  line["overwrites"] = outcome.overwrites;
  line["bytes"] = cost.finding_bytes[0] + cost.finding_bytes[1];
  line["shipping_bytes"] = cost.shipping_bytes[0] + cost.shipping_bytes[1];
  line["round_trips"] = cost.finding_round_trips;
  line["all_round_trips"] = cost.round_trips;
  line["entries"] = outcome.entries;
  line["entries_read"] = outcome.entries_read;
  line["digest_reads"] = outcome.digest_reads;
  double share = 0;
  for (int side = 0; side < 2; ++side) {
    share = std::max(share, static_cast<double>(outcome.entries_read[side]) /
                                static_cast<double>(outcome.entries[side]));
  }
  line["largest_share_read"] = share;
  line["memory_mib"] = outcome.memory_mib;
  line["snapshot_ms"] = outcome.snapshot_ms;
  line["seconds"] = outcome.seconds;
  line["plan"] = cost.report[0].plan + " | " + cost.report[1].plan;
  std::printf("%s\n", line.dump(s.json ? -1 : 2).c_str());
}

bool RunFromIndex(const Settings& s) {
  IndexRun run;
  run.n = s.n;
  run.only_a = s.only_a;
  run.only_b = s.only_b;
  run.overwrites = s.overwrites;
  run.directory = s.directory;
  SessionOptions options;
  options.exchange = OptionsOf(s);
  std::vector<IndexOutcome> outcomes;
  const bool ok = ReconcileFromIndex(run, options, s.seed, &outcomes);
  for (const IndexOutcome& outcome : outcomes) PrintFromIndex(s, outcome);
  return ok;
}

void RunSlice(const Settings& s) {
  const SliceTimes times = TimeSlice(s.n, s.seed, s.runs);
  nlohmann::ordered_json line;
  line["n"] = s.n;
  line["runs"] = s.runs;
  line["build_ns"] = times.build_ns;
  line["test_ns"] = times.test_ns;
  line["test_absent_ns"] = times.test_absent_ns;
  line["sha256_ns"] = times.sha256_ns;
  std::printf("%s\n", line.dump(s.json ? -1 : 2).c_str());
}

bool RunGrid(Settings s) {
  bool ok = true;
  for (const uint64_t n : {10'000u, 100'000u, 1'000'000u}) {
    std::vector<uint64_t> differences = {0,     2,      10,     100,
                                         1'000, 10'000, n / 10, n / 2};
    std::sort(differences.begin(), differences.end());
    differences.erase(std::unique(differences.begin(), differences.end()),
                      differences.end());
    for (const uint64_t d : differences) {
      s.n = n;
      s.only_a = s.only_b = d / 2;
      ok = RunCell(s) && ok;
    }
  }
  return ok;
}

int Main(int argc, char** argv) {
  CLI::App app("Bytes, round trips and CPU of making two sets equal.");
  Settings s;
  CLI::Option* n = app.add_option("--n", s.n, "elements of the larger side")
                       ->check(Number(1, 1e10));
  app.add_option("--only-a", s.only_a, "elements that only a holds")
      ->check(Number(0, 1e10));
  app.add_option("--only-b", s.only_b, "elements that only b holds")
      ->check(Number(0, 1e10));
  app.add_option("--mode", s.mode, "adaptive, dbf, bloom or merkle")
      ->check(CLI::IsMember({"adaptive", "dbf", "bloom", "merkle"}));
  app.add_option("--prefer", s.prefer, "bytes or round_trips")
      ->check(CLI::IsMember({"bytes", "round_trips"}));
  app.add_option("--mapping", s.mapping,
                 "of dbf: fresh for every exchange, or fixed for the pair of "
                 "replicas, as an experiment")
      ->check(CLI::IsMember({"fresh", "fixed"}));
  CLI::Option* rate =
      app.add_option("--false-positive-rate", s.false_positive_rate,
                     "of dbf (default 0.5) and bloom (0.01)")
          ->check(CLI::Range(1e-9, 0.999));
  app.add_option("--pair-bytes", s.pair_bytes, "cost of a pair in vain")
      ->check(Number(0, 1e9));
  const std::map<std::string, Hashes> kinds = {
      {"random", Hashes::kRandom},
      {"equal_high", Hashes::kEqualHigh},
      {"equal_low", Hashes::kEqualLow}};
  std::string hashes = "random";
  app.add_option("--hashes", hashes, "of the elements")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  app.add_option("--seed", s.seed, "of the first run; each run adds 1");
  CLI::Option* runs = app.add_option("--runs", s.runs, "runs a cell")
                          ->check(CLI::PositiveNumber);
  app.add_flag("--json", s.json, "a JSON object a line");
  app.add_flag("--plan", s.plan,
               "show what the first run chose, predicted and cost");
  app.add_flag("--session", s.session,
               "whole sessions, pairs and all; bytes without offers and pairs");
  app.add_flag("--from-index", s.from_index,
               "one session between two replicas on disk (default --n 10000000 "
               "--only-a 500 --only-b 500)");
  app.add_option("--overwrites", s.overwrites,
                 "with --from-index: scattered, the same on both sides, "
                 "before a second session")
      ->check(Number(0, 1e10));
  app.add_flag("--slice", s.slice,
               "time one slice of 50 % (default --n 1000000 --runs 31)");
  std::string parent = std::filesystem::temp_directory_path();
  AddScratchOption(&app, &parent);
  CLI11_PARSE(app, argc, argv);
  s.hashes = kinds.at(hashes);
  if (s.slice) {
    if (n->count() == 0) s.n = 1'000'000;
    if (runs->count() == 0) s.runs = 31;
    RunSlice(s);
    return 0;
  }
  if (s.from_index) {
    if (n->count() == 0) {
      s.n = 10'000'000;
      s.only_a = s.only_b = 500;
    }
    const TemporaryDirectory scratch(parent);
    s.directory = scratch.path();
    return RunFromIndex(s) ? 0 : 1;
  }
  if (s.mode == "bloom" && rate->count() == 0) s.false_positive_rate = 0.01;
  if (std::max(s.only_a, s.only_b) > s.n && n->count() > 0) {
    std::fprintf(stderr, "--only-a and --only-b must be at most --n\n");
    return 2;
  }
  if (s.n + std::min(s.only_a, s.only_b) > uint64_t{1} << 24) {
    std::fprintf(stderr, "at most 2^24 elements in all\n");
    return 2;
  }
  if (!s.json) {
    std::printf(
        "        n   only_a   only_b       bytes   (mean)      RTs "
        "cpu_ms_a cpu_ms_b missed  false_prs retr\n");
  }
  const bool ok = n->count() > 0 ? RunCell(s) : RunGrid(s);
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
