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

#include "tests/bench/number_check.h"
#include "tests/bench/scratch_option.h"
#include "tests/bench/write/workload.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Rounds {
  std::vector<double> plain, rocksync, ratio, p95, p99, p999, bytes, lag, cpu;
};

Rounds Measure(const Workload& workload, int rounds,
               const std::string& directory) {
  Rounds all;
  for (int round = 0; round < rounds; ++round) {
    // Who goes first alternates too.
    const Round measured = Run(workload, round % 2 == 1, directory,
                               static_cast<uint64_t>(round + 1) << 32);
    const Measurement& plain = measured.plain;
    const Measurement& rocksync = measured.rocksync;
    all.plain.push_back(plain.operations_per_second);
    all.rocksync.push_back(rocksync.operations_per_second);
    all.ratio.push_back(rocksync.operations_per_second /
                        plain.operations_per_second);
    all.p95.push_back(rocksync.p95_us / plain.p95_us);
    all.p99.push_back(rocksync.p99_us / plain.p99_us);
    all.p999.push_back(rocksync.p999_us / plain.p999_us);
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
        {"p95_ratio", Median(all.p95)},
        {"p99_ratio", Median(all.p99)},
        {"p999_ratio", Median(all.p999)},
        {"bytes_written_ratio", Median(all.bytes)},
        {"index_lag_ms", Median(all.lag)}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    const auto [least, most] =
        std::minmax_element(all.ratio.begin(), all.ratio.end());
    std::printf(
        "%-12s %d thr %5d B batch %3d %9.0f %9.0f  ratio %.3f (%.2f..%.2f)  "
        "cpu %.3f  p95 %.2f  p99 %.2f  p99.9 %.2f  bytes %.2f  lag %.2f ms\n",
        workload.name.c_str(), workload.threads, workload.value_bytes,
        workload.batch, Median(all.plain), Median(all.rocksync),
        Median(all.ratio), *least, *most, Median(all.cpu), Median(all.p95),
        Median(all.p99), Median(all.p999), Median(all.bytes), Median(all.lag));
  }
  std::fflush(stdout);
}

void PrintDigests(const DigestReads& reads, bool json) {
  const double entries = static_cast<double>(reads.entries_read) /
                         static_cast<double>(reads.pairs);
  const double bytes = static_cast<double>(reads.bytes_read) /
                       static_cast<double>(reads.index_bytes);
  if (json) {
    const nlohmann::ordered_json line = {{"workload", "digests"},
                                         {"pairs", reads.pairs},
                                         {"overwrites", reads.overwrites},
                                         {"entries_read", reads.entries_read},
                                         {"entries_share", entries},
                                         {"bytes_read", reads.bytes_read},
                                         {"index_bytes", reads.index_bytes},
                                         {"bytes_share", bytes},
                                         {"seconds", reads.seconds}};
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "digests of %llu pairs after %llu overwrites: %llu entries read "
        "(%.3f of the index), %llu bytes (%.3f), %.2f s\n",
        static_cast<unsigned long long>(reads.pairs),
        static_cast<unsigned long long>(reads.overwrites),
        static_cast<unsigned long long>(reads.entries_read), entries,
        static_cast<unsigned long long>(reads.bytes_read), bytes,
        reads.seconds);
  }
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  CLI::App app("What replication costs writes and reads");
  bool json = false;
  int rounds = 7;
  double scale = 1;
  std::string only;
  std::string parent = std::filesystem::temp_directory_path();
  app.add_flag("--json", json, "One JSON object a line");
  app.add_option("--rounds", rounds,
                 "Rounds, of which the median counts; put_compact and digests "
                 "have one")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--scale", scale,
                 "Multiplies the numbers of operations; at 1, put_compact is "
                 "10^7 puts to the end of all flushes and compactions, and "
                 "digests what readying them reads after 10^5 overwrites of "
                 "10^7 pairs")
      ->check(Number(1e-4, 100))
      ->capture_default_str();
  app.add_option("--only", only,
                 "One workload by name; another name prints them all");
  AddScratchOption(&app, &parent);
  CLI11_PARSE(app, argc, argv);

  const TemporaryDirectory scratch(parent);
  const std::string directory = scratch / "databases";
  bool found = false;
  std::string names;
  const auto wanted = [&](const std::string& name) {
    const bool yes = only.empty() || name == only;
    found |= yes;
    names += " " + name;
    return yes;
  };
  for (const Workload& workload : AllWorkloads(scale)) {
    if (!wanted(workload.name)) continue;
    const bool once = workload.kind == Kind::kPutCompact;
    Print(workload, Measure(workload, once ? 1 : rounds, directory), json);
  }
  if (wanted("digests")) {
    PrintDigests(MeasureDigests(Operations(scale, 1e7), Operations(scale, 1e5),
                                directory),
                 json);
  }
  if (!found) {
    std::fprintf(stderr, "there is no workload named '%s', but:%s\n",
                 only.c_str(), names.c_str());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
