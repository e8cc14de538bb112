// What replication costs the application's writes and reads: plain RocksDB and
// a replicated database with equal options, alternating in one run. Times on a
// busy machine move by far more than the difference, so what counts is the
// median over the rounds of the ratio within a round.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/bench/write/workload.h"

namespace rocksync::bench {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Rounds {
  std::vector<double> plain, rocksync, ratio, p99, bytes, lag, cpu;
};

Rounds Measure(const Workload& workload, int rounds,
               const std::string& directory) {
  Rounds all;
  for (int round = 0; round < rounds; ++round) {
    Measurement measured[2];
    for (int turn = 0; turn < 2; ++turn) {
      // Who goes first alternates too.
      const int which = (turn + round) % 2;
      measured[which] = Run(workload, which == 1, directory,
                            static_cast<uint64_t>(round + 1) << 32);
    }
    const Measurement& plain = measured[0];
    const Measurement& rocksync = measured[1];
    all.plain.push_back(plain.operations_per_second);
    all.rocksync.push_back(rocksync.operations_per_second);
    all.ratio.push_back(rocksync.operations_per_second /
                        plain.operations_per_second);
    all.p99.push_back(rocksync.p99_us / plain.p99_us);
    all.bytes.push_back(plain.bytes_written > 0
                            ? rocksync.bytes_written / plain.bytes_written
                            : 1);
    all.cpu.push_back(plain.cpu_us / rocksync.cpu_us);
    all.lag.push_back(rocksync.index_lag_ms);
  }
  return all;
}

void Print(const Workload& workload, const Rounds& all, bool json) {
  if (json) {
    const nlohmann::ordered_json line = {
        {"workload", workload.name},
        {"threads", workload.threads},
        {"value_bytes", workload.value_bytes},
        {"batch", workload.batch},
        {"plain_ops", Median(all.plain)},
        {"rocksync_ops", Median(all.rocksync)},
        {"ratio", Median(all.ratio)},
        {"p99_ratio", Median(all.p99)},
        {"bytes_written_ratio", Median(all.bytes)},
        {"index_lag_ms", Median(all.lag)}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    const auto [least, most] =
        std::minmax_element(all.ratio.begin(), all.ratio.end());
    std::printf(
        "%-12s %d thr %5d B batch %3d %9.0f %9.0f  ratio %.3f (%.2f..%.2f)  "
        "cpu %.3f  p99 %.2f  bytes %.2f  lag %.2f ms\n",
        workload.name.c_str(), workload.threads, workload.value_bytes,
        workload.batch, Median(all.plain), Median(all.rocksync),
        Median(all.ratio), *least, *most, Median(all.cpu), Median(all.p99),
        Median(all.bytes), Median(all.lag));
  }
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("What replication costs writes and reads");
  bool json = false;
  int rounds = 5;
  double scale = 1;
  std::string only;
  std::string directory =
      std::filesystem::temp_directory_path() / "rocksync_bench_write";
  app.add_flag("--json", json, "One JSON object a line");
  app.add_option("--rounds", rounds, "Rounds; the median counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--scale", scale, "Multiplies the numbers of operations")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", only, "One workload by name");
  app.add_option("--dir", directory, "Where the databases are made");
  CLI11_PARSE(app, argc, argv);
  for (const Workload& workload : AllWorkloads(scale)) {
    if (!only.empty() && workload.name != only) continue;
    // The long one speaks for itself.
    const int times =
        workload.kind == Kind::kPutCompact ? std::min(rounds, 1) : rounds;
    Print(workload, Measure(workload, times, directory), json);
  }
  return 0;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
