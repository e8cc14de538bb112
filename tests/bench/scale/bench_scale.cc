// What a large database costs to load, restart, compare, heal and scrub, and on
// disk: two replicas of many small pairs, at the options of a Replicator.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "replication/store/store.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/scrub.h"
#include "rocksync/replicator.h"
#include "tests/bench/number_check.h"
#include "tests/bench/reconcile/counting_view.h"
#include "tests/bench/reconcile/disk_replicas.h"
#include "tests/bench/reconcile/process_memory.h"
#include "tests/bench/reconcile/session_run.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Line = nlohmann::ordered_json;

void Print(const Line& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

// Runs a step, which may add to its line, and prints how long it took and what
// memory the process had meanwhile.
bool Step(const std::string& name, const std::function<bool(Line*)>& step) {
  Line line = {{"step", name}};
  ResetPeak();
  const double before = MemoryMib("VmRSS");
  const Clock::time_point start = Clock::now();
  Line more = Line::object();
  if (!step(&more)) return false;
  line["seconds"] = std::chrono::duration<double>(Clock::now() - start).count();
  line["rss_mib"] = MemoryMib("VmRSS");
  line["peak_above_before_mib"] = MemoryMib("VmHWM") - before;
  line.update(more);
  Print(line);
  return true;
}

bool MeasureSession(DiskReplicas* replicas, uint64_t seed, Line* line) {
  SessionOptions options;
  BoundMemory(ReplicatorOptions().max_session_bytes, kLeafCount, &options);
  CountingView a(replicas->a());
  CountingView b(replicas->b());
  const SessionCost cost = RunSession(&a, &b, options, seed);
  (*line)["bytes"] = cost.finding_bytes[0] + cost.finding_bytes[1];
  (*line)["round_trips"] = cost.finding_round_trips;
  (*line)["index_read_percent"] =
      100.0 * static_cast<double>(std::max(a.read(), b.read())) /
      static_cast<double>(std::max<uint64_t>(replicas->pairs(), 1));
  (*line)["cpu_ms"] = std::max(cost.cpu_ms[0], cost.cpu_ms[1]);
  if (!cost.proven) std::fprintf(stderr, "not proven equal\n");
  return cost.proven;
}

// Reads everything once; false, with the reason on stderr, if it finds
// anything.
bool ScrubOnce(ReplicatedDB* db) {
  const std::unique_ptr<Scrub> scrub = StoreAccess::NewScrub(db);
  rocksdb::Status status = scrub->Load();
  for (bool finished = false; status.ok() && !finished;) {
    uint64_t bytes = 0;
    status = scrub->Step(&bytes, &finished);
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() && scrub->progress().corruption_found == 0;
}

uint64_t TableBytes(ReplicatedDB* db, rocksdb::ColumnFamilyHandle* family) {
  uint64_t bytes = 0;
  db->GetIntProperty(family, "rocksdb.total-sst-files-size", &bytes);
  return bytes;
}

bool RunAll(const std::string& directory, uint64_t n) {
  DiskReplicas replicas(directory);
  const bool made = Step("load and close", [&](Line* line) {
    (*line)["pairs"] = n;
    return replicas.Fill(n);
  });
  if (!made || !Step("open as two replicas, whose digests are read",
                     [&](Line*) { return replicas.Renew(); })) {
    return false;
  }
  ReplicatedDB* const a = replicas.a();
  const IndexedDB* const indexed = StoreAccess::IndexedOf(a);
  Print({{"step", "on disk"},
         {"data_bytes", TableBytes(a, a->DefaultColumnFamily())},
         {"index_bytes", TableBytes(a, indexed->reader().index())}});
  uint64_t seed = 1;
  for (const uint64_t d : {uint64_t{0}, uint64_t{1'000}, n / 100}) {
    const bool added =
        Step("write " + std::to_string(d) + " pairs that one side has",
             [&](Line*) { return replicas.AddTo(d / 2, d / 2); });
    if (!added ||
        !Step("session, " + std::to_string(d) + " differ", [&](Line* line) {
          return MeasureSession(&replicas, seed++, line);
        })) {
      return false;
    }
  }
  return Step("close both, open both",
              [&](Line*) { return replicas.Restart(); }) &&
         Step("session, nothing differs",
              [&](Line* line) {
                return MeasureSession(&replicas, seed++, line);
              }) &&
         Step("scrub of one", [&](Line*) { return ScrubOnce(replicas.a()); });
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Two replicas of many pairs of 16 bytes of key and of value: load, "
      "restart, sessions, scrub. A JSON object a line.");
  uint64_t n = 1'000'000;
  app.add_option("--n", n, "pairs of each replica")
      ->capture_default_str()
      ->check(Number(1000, 1e10));
  std::string parent = std::filesystem::temp_directory_path();
  AddScratchOption(&app, &parent);
  CLI11_PARSE(app, argc, argv);
  const TemporaryDirectory scratch(parent);
  return RunAll(scratch.path(), n) ? 0 : 1;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
