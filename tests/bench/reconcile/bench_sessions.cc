// What whole sessions cost: real databases, the options that a Replicator has
// by default, everything between hello and proof counted but keys, versions and
// values. A line for each way in which two replicas differ.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"
#include "replication/session/session.h"
#include "rocksync/replicator.h"
#include "tests/bench/number_check.h"
#include "tests/bench/pace.h"
#include "tests/bench/reconcile/counting_view.h"
#include "tests/bench/reconcile/disk_replicas.h"
#include "tests/bench/reconcile/process_memory.h"
#include "tests/bench/reconcile/session_run.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Cell {
  uint64_t only_a = 0;
  uint64_t only_b = 0;
  uint64_t overwritten = 0;        // on a
  uint64_t writes_per_second = 0;  // on each side, while the session runs
  Prefer prefer = Prefer::kBytes;
};

struct Settings {
  std::vector<uint64_t> sizes = {1'000'000};
  uint32_t runs = 3;
  bool json = false;
  bool plan = false;
  std::string directory;
  size_t session_bytes = ReplicatorOptions().max_session_bytes;
  Cell cell;  // instead of all, if it is not empty
  bool round_trips = false;
};

// A line is measured between replicas that have grown by no more than this
// share since they were made.
constexpr double kMaxGrowth = 0.02;

// Writers at a steady rate on both sides, from construction to destruction.
class Writers {
 public:
  Writers(DiskReplicas* replicas, uint64_t rate) {
    if (rate == 0) return;
    for (ReplicatedDB* db : {replicas->a(), replicas->b()}) {
      threads_.emplace_back([this, replicas, db, rate] {
        std::mt19937_64 random(db == replicas->a() ? 11 : 12);
        const Clock::time_point start = Clock::now();
        for (uint64_t written = 0; !stop_; ++written) {
          if (!replicas->Touch(db, &random)) return;
          std::this_thread::sleep_until(start + DueAfterFirst(written, rate));
        }
      });
    }
  }
  ~Writers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

struct Result {
  double bytes = 0;
  double round_trips = 0;
  double index_read_percent = 0;
  double cpu_ms = 0;  // of the busier side
  double seconds = 0;
  double memory_bytes = 0;  // of both sides, above idle
};

SessionOptions OptionsOf(const Settings& s, const Cell& cell) {
  SessionOptions options;
  options.exchange.prefer = cell.prefer;
  BoundMemory(s.session_bytes, kLeafCount, &options);
  return options;
}

// False, with the reason on stderr, if anything failed.
bool RunOnce(const Settings& s, const Cell& cell, uint64_t seed,
             DiskReplicas* replicas, Result* result) {
  if (!replicas->Overwrite(cell.overwritten, /*half_of_them_on_b=*/false) ||
      !replicas->AddTo(cell.only_a, cell.only_b)) {
    return false;
  }
  const Writers writers(replicas, cell.writes_per_second);
  CountingView a(replicas->a());
  CountingView b(replicas->b());
  ResetPeak();
  const double idle_mib = MemoryMib("VmRSS");
  const Clock::time_point start = Clock::now();
  const SessionCost cost = RunSession(&a, &b, OptionsOf(s, cell), seed);
  result->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  result->memory_bytes = (MemoryMib("VmHWM") - idle_mib) * (1 << 20);
  result->bytes =
      static_cast<double>(cost.finding_bytes[0] + cost.finding_bytes[1]);
  result->round_trips = cost.finding_round_trips;
  result->cpu_ms = std::max(cost.cpu_ms[0], cost.cpu_ms[1]);
  result->index_read_percent =
      100.0 * static_cast<double>(std::max(a.read(), b.read())) /
      static_cast<double>(replicas->pairs());
  if (s.plan) {
    std::fprintf(stderr, "%s\n  %s\n  %s\n", cost.report[0].plan.c_str(),
                 cost.report[1].plan.c_str(), cost.turns.c_str());
  }
  if (!cost.proven) std::fprintf(stderr, "not proven equal\n");
  return cost.proven;
}

double Median(const std::vector<Result>& results, double Result::*field) {
  std::vector<double> values;
  for (const Result& result : results) values.push_back(result.*field);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const Settings& s, uint64_t n, const Cell& cell,
           const std::vector<Result>& results) {
  double max_round_trips = 0;
  for (const Result& result : results) {
    max_round_trips = std::max(max_round_trips, result.round_trips);
  }
  const bool bytes = cell.prefer == Prefer::kBytes;
  if (s.json) {
    nlohmann::ordered_json line;
    line["n"] = n;
    line["only_a"] = cell.only_a;
    line["only_b"] = cell.only_b;
    line["overwritten"] = cell.overwritten;
    line["writes_per_second"] = cell.writes_per_second;
    line["prefer"] = bytes ? "bytes" : "round_trips";
    line["bytes"] = Median(results, &Result::bytes);
    line["round_trips"] = Median(results, &Result::round_trips);
    line["round_trips_max"] = max_round_trips;
    line["index_read_percent"] = Median(results, &Result::index_read_percent);
    line["cpu_ms"] = Median(results, &Result::cpu_ms);
    line["seconds"] = Median(results, &Result::seconds);
    line["max_session_bytes_used"] = Median(results, &Result::memory_bytes);
    line["runs"] = results.size();
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%9llu %7llu %7llu %7llu %6llu %6s %9.0f %5.1f %5.1f %8.3f "
        "%7.1f %7.2f\n",
        static_cast<unsigned long long>(n),
        static_cast<unsigned long long>(cell.only_a),
        static_cast<unsigned long long>(cell.only_b),
        static_cast<unsigned long long>(cell.overwritten),
        static_cast<unsigned long long>(cell.writes_per_second),
        bytes ? "bytes" : "trips", Median(results, &Result::bytes),
        Median(results, &Result::round_trips), max_round_trips,
        Median(results, &Result::index_read_percent),
        Median(results, &Result::cpu_ms), Median(results, &Result::seconds));
  }
  std::fflush(stdout);
}

// Cells that do not fit a database of n pairs are left out.
std::vector<Cell> Cells(uint64_t n) {
  std::vector<Cell> cells;
  for (const Prefer prefer : {Prefer::kBytes, Prefer::kRoundTrips}) {
    for (const uint64_t d : {0u, 2u, 10u, 100u, 1'000u, 10'000u, 100'000u}) {
      cells.push_back({.only_a = d / 2, .only_b = d / 2, .prefer = prefer});
    }
  }
  for (const uint64_t d : {10'000u, 50'000u, 100'000u, 200'000u}) {
    cells.push_back({.only_a = d});
    cells.push_back({.only_a = d - d / 100, .only_b = d / 100});
  }
  for (const uint64_t d : {1'000u, 10'000u, 100'000u}) {
    cells.push_back({.overwritten = d});
  }
  cells.push_back({.only_a = 500, .only_b = 500, .writes_per_second = 2'000});
  std::erase_if(cells, [n](const Cell& cell) {
    return (cell.only_a + cell.only_b + cell.overwritten) * 4 > n;
  });
  return cells;
}

bool RunAll(const Settings& s) {
  uint64_t seed = 1;
  for (const uint64_t n : s.sizes) {
    DiskReplicas replicas(s.directory);
    if (!replicas.Make(n)) return false;
    const Cell& only = s.cell;
    const bool single =
        only.only_a + only.only_b + only.overwritten + only.writes_per_second >
        0;
    for (const Cell& cell : single ? std::vector<Cell>{only} : Cells(n)) {
      std::vector<Result> results(s.runs);
      for (Result& result : results) {
        // What was written during a session is left to the next one.
        const bool grown = static_cast<double>(replicas.pairs()) >
                           (1 + kMaxGrowth) * static_cast<double>(n);
        if ((grown || cell.writes_per_second > 0) && !replicas.Renew()) {
          return false;
        }
        if (!RunOnce(s, cell, seed++, &replicas, &result)) return false;
      }
      Print(s, n, cell, results);
      if (cell.writes_per_second > 0 && !replicas.Renew()) return false;
    }
  }
  return true;
}

constexpr double kMostPairs = 1e10;

int Main(int argc, char** argv) {
  CLI::App app(
      "Whole sessions between two databases on disk, at the options of a "
      "Replicator; medians.");
  Settings s;
  app.add_option("--n", s.sizes, "pairs of each replica; may be repeated")
      ->check(Number(1, kMostPairs));
  app.add_option("--runs", s.runs, "sessions a line")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", s.json, "a JSON object a line");
  app.add_flag("--plan", s.plan, "what the exchanges planned, on stderr");
  app.add_option("--only-a", s.cell.only_a, "one line: pairs that only a has")
      ->check(Number(0, kMostPairs));
  app.add_option("--only-b", s.cell.only_b, "and only b")
      ->check(Number(0, kMostPairs));
  app.add_option("--overwrites", s.cell.overwritten, "of pairs, on a")
      ->check(Number(0, kMostPairs));
  app.add_option("--writes", s.cell.writes_per_second,
                 "a second on either side, during the session")
      ->check(Number(0, 1e6));
  app.add_option("--session-bytes", s.session_bytes,
                 "max_session_bytes of both")
      ->capture_default_str()
      ->check(Number(4 << 20, 1e12));
  app.add_flag("--round-trips", s.round_trips, "that line prefers round trips");
  std::string parent = std::filesystem::temp_directory_path();
  AddScratchOption(&app, &parent);
  CLI11_PARSE(app, argc, argv);
  if (s.round_trips) s.cell.prefer = Prefer::kRoundTrips;
  const TemporaryDirectory scratch(parent);
  s.directory = scratch.path();
  if (!s.json) {
    std::printf(
        "        n  only_a  only_b overwr. writes prefer     bytes   RTs  most "
        "  read_%%  cpu_ms seconds\n");
  }
  return RunAll(s) ? 0 : 1;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
