// How soon a write is on another replica, and what that costs: two processes
// over TLS on loopback, beside Redis in the same run.

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "nlohmann/json.hpp"
#include "tests/bench/live/peer_process.h"
#include "tests/bench/live/redis_pair.h"
#include "tests/bench/live/replica.h"
#include "tests/bench/pace.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/spread_world.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

struct Settings {
  std::string directory;
  int seconds = 5;  // of each measurement
  int idle_seconds = 20;
  int away_seconds = 10;
  std::vector<std::string> cases;
  bool json = false;
};

class Report {
 public:
  explicit Report(bool json) : json_(json) {}
  void Add(const Json& line) {
    if (json_) {
      std::printf("%s\n", line.dump().c_str());
    } else {
      for (const auto& [name, value] : line.items()) {
        const std::string text =
            value.is_string() ? value.get<std::string>() : value.dump();
        if (name == "case") {
          std::printf("%-28s", text.c_str());
        } else {
          std::printf(" %s=%s", name.c_str(), text.c_str());
        }
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }

 private:
  const bool json_;
};

double Rounded(double value) {
  return static_cast<double>(static_cast<int64_t>(value * 1000 + 0.5)) / 1000;
}

// Of times in ns, in ms.
double Percentile(std::vector<uint64_t> times, double part) {
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  const auto at = static_cast<size_t>(part * static_cast<double>(times.size()));
  return Rounded(static_cast<double>(times[std::min(at, times.size() - 1)]) /
                 1e6);
}

// Two replicas, this process being the one that writes.
class Pair {
 public:
  explicit Pair(const std::string& directory)
      : certificates_(directory + "/certificates"),
        peer_((std::filesystem::create_directories(directory),
               directory + "/there"),
              certificates_),
        here_(directory + "/here", certificates_) {}

  // A stream is open when this returns, if there is one.
  void Connect(ReplicatorOptions options = {}) {
    const std::string port = std::to_string(peer_.Call("start").at(0));
    options.peers = {"127.0.0.1:" + port};
    here_.Start(options);
    Put("connected");
    (void)peer_.Call("find connected");
  }
  void Put(const std::string& key) {
    const uint64_t now = NowNs();
    std::memcpy(value_.data(), &now, sizeof now);
    Check(here_.db()->Put(rocksdb::WriteOptions(), key, value_));
  }
  // How late each write was readable there, in ns.
  std::vector<uint64_t> Latencies(const std::string& prefix, int count,
                                  uint64_t per_second) {
    peer_.Ask("watch " + prefix + " " + std::to_string(count));
    const auto begin = steady_clock::now();
    for (int i = 0; i < count; ++i) {
      std::this_thread::sleep_until(begin + DueAfterFirst(i, per_second));
      Put(prefix + std::to_string(i));
    }
    return peer_.Answer();
  }
  // Writes for so long, as fast as that goes or `per_second`; writes a second.
  // `*latencies`: of each, in ns.
  double WriteFor(int seconds, uint64_t per_second,
                  std::vector<uint64_t>* latencies) {
    const auto begin = steady_clock::now();
    const auto end = begin + std::chrono::seconds(seconds);
    uint64_t last = NowNs();
    uint64_t count = 0;
    while (steady_clock::now() < end) {
      Put("w" + std::to_string(written_++));
      const uint64_t now = NowNs();
      if (latencies != nullptr) latencies->push_back(now - last);
      last = now;
      ++count;
      if (per_second > 0) {
        std::this_thread::sleep_until(begin + DueAfterFirst(count, per_second));
        last = NowNs();
      }
    }
    return static_cast<double>(count) /
           std::chrono::duration<double>(steady_clock::now() - begin).count();
  }

  PeerProcess* peer() { return &peer_; }
  BenchReplica* here() { return &here_; }
  StreamStats stream() { return here_.replicator()->stats().stream; }

 private:
  const std::string certificates_;
  PeerProcess peer_;
  BenchReplica here_;
  std::string value_ = std::string(100, 'v');
  uint64_t written_ = 0;
};

class Bench {
 public:
  explicit Bench(const Settings& settings)
      : settings_(settings), report_(settings.json) {}

  void Run() {
    const std::pair<const char*, std::function<void()>> cases[] = {
        {"visible", [this] { Visible(true); }},
        {"visible_unsynced", [this] { Visible(false); }},
        {"writer", [this] { Writer("writer", 0); }},
        {"writer_paced", [this] { Writer("writer_paced", 20'000); }},
        {"away", [this] { Away(); }},
        {"idle", [this] { Idle(); }},
        {"once", [this] { Once(); }},
    };
    for (const auto& [name, measure] : cases) {
      if (settings_.cases.empty() ||
          std::count(settings_.cases.begin(), settings_.cases.end(), name)) {
        measure();
      }
    }
  }

 private:
  std::string Fresh() {
    return settings_.directory + "/" + std::to_string(number_++);
  }

  void Visible(bool syncs) {
    constexpr int kPerSecond = 1000;
    const int count = settings_.seconds * kPerSecond;
    Pair pair(Fresh());
    ReplicatorOptions options;
    options.stream_syncs = syncs;
    pair.Connect(options);
    (void)pair.Latencies("warm", kPerSecond / 2, kPerSecond);
    const StreamStats before = pair.stream();
    const std::vector<uint64_t> late = pair.Latencies("k", count, kPerSecond);
    const StreamStats after = pair.stream();
    Json line;
    line["case"] = syncs ? "visible" : "visible_unsynced";
    line["replicas"] = 2;
    line["p50_ms"] = Percentile(late, 0.5);
    line["p99_ms"] = Percentile(late, 0.99);
    if (syncs) {
      const std::vector<uint64_t> redis =
          MeasureRedis(std::filesystem::absolute(Fresh()), count, kPerSecond);
      if (!redis.empty()) {
        line["redis_p50_ms"] = Percentile(redis, 0.5);
        line["redis_p99_ms"] = Percentile(redis, 0.99);
      }
    }
    line["writes_per_second"] = kPerSecond;
    line["bytes"] = after.bytes_sent - before.bytes_sent;
    report_.Add(line);
  }

  // What a stream costs the writer: with a replicator but no peer, and with a
  // stream. `per_second` 0: at full speed, where both replicas want all cores.
  void Writer(const char* name, uint64_t per_second) {
    std::vector<uint64_t> alone_times;
    std::vector<uint64_t> stream_times;
    double alone = 0;
    {
      Pair pair(Fresh());
      pair.here()->Start({});
      alone = pair.WriteFor(settings_.seconds, per_second, &alone_times);
    }
    Pair pair(Fresh());
    pair.Connect();
    const uint64_t began = NowNs();
    const double with_stream =
        pair.WriteFor(settings_.seconds, per_second, &stream_times);
    const std::vector<uint64_t> applied = pair.peer()->Call("applied");
    const uint64_t ended = NowNs();
    pair.Put("last");
    const uint64_t there = pair.peer()->Call("find last").at(0);
    const StreamStats stats = pair.stream();
    Json line;
    line["case"] = name;
    line["replicas"] = 2;
    line["writes_per_second"] = Rounded(with_stream);
    line["alone_per_second"] = Rounded(alone);
    line["ratio"] = Rounded(with_stream / alone);
    line["peer_per_second"] =
        Rounded(static_cast<double>(applied.at(0) + applied.at(1)) /
                (static_cast<double>(ended - began) / 1e9));
    for (const double rank : {0.5, 0.99}) {
      const std::string unit = rank < 0.9 ? "p50_us" : "p99_us";
      line[unit] = Rounded(1000 * Percentile(stream_times, rank));
      line["alone_" + unit] = Rounded(1000 * Percentile(alone_times, rank));
    }
    line["lag_seconds"] = Rounded(static_cast<double>(there - ended) / 1e9);
    line["gaps"] = stats.gaps;
    line["bytes"] = stats.bytes_sent;
    line["memory_bytes"] = pair.peer()->Call("memory").at(0);
    report_.Add(line);
  }

  // The peer is away while this writes, and then comes back.
  void Away() {
    constexpr uint64_t kPerSecond = 10'000;
    Pair pair(Fresh());
    pair.Connect();
    (void)pair.peer()->Call("stop");
    const double rate =
        pair.WriteFor(settings_.away_seconds, kPerSecond, nullptr);
    const uint64_t began = NowNs();
    (void)pair.peer()->Call("start");
    // Goes on writing until a write is there within a second.
    uint64_t late = 0;
    int tries = 0;
    do {
      (void)pair.WriteFor(1, kPerSecond, nullptr);
      const std::string key = "there" + std::to_string(tries++);
      const uint64_t written = NowNs();
      pair.Put(key);
      late = pair.peer()->Call("find " + key).at(0) - written;
    } while (late > 1'000'000'000);
    Json line;
    line["case"] = "away";
    line["replicas"] = 2;
    line["writes_per_second"] = Rounded(rate);
    line["away_seconds"] = settings_.away_seconds;
    line["lag_seconds"] = Rounded(static_cast<double>(NowNs() - began) / 1e9);
    report_.Add(line);
  }

  void Idle() {
    Pair pair(Fresh());
    pair.Connect();
    (void)pair.Latencies("warm", 100, 1000);
    const StreamStats before = pair.stream();
    std::this_thread::sleep_for(std::chrono::seconds(settings_.idle_seconds));
    const StreamStats after = pair.stream();
    Json line;
    line["case"] = "idle";
    line["replicas"] = 2;
    line["seconds"] = settings_.idle_seconds;
    line["bytes"] = after.bytes_sent - before.bytes_sent;
    line["bytes_received"] = after.bytes_received - before.bytes_received;
    report_.Add(line);
  }

  // In virtual time, of each way that replicas may be connected: how much of
  // what was sent was there already.
  void Once() {
    const auto measure = [this](const char* shape, size_t replicas,
                                const std::function<void(SpreadWorld*)>& join) {
      SpreadWorld world(replicas);
      join(&world);
      world.Run(1000);
      constexpr int kFinding = 20;
      constexpr int kChanges = 60;
      WriteAll(&world, kFinding);
      world.pushed = world.duplicates = world.across = world.announced = 0;
      WriteAll(&world, kChanges);
      const double needed =
          static_cast<double>(kChanges * replicas * (replicas - 1));
      const double changes = static_cast<double>(kChanges * replicas);
      Json line;
      line["case"] = std::string("once_") + shape;
      line["replicas"] = replicas;
      line["duplicate_percent"] =
          Rounded(100 * static_cast<double>(world.duplicates) / needed);
      line["announced_bytes_per_change"] =
          Rounded(8 * static_cast<double>(world.announced) / changes);
      if (world.across > 0) {
        line["ratio"] = Rounded(static_cast<double>(world.across) / changes);
      }
      line["lacking"] = world.Lacking();
      report_.Add(line);
    };
    measure("mesh", 3, [](SpreadWorld* world) { world->Mesh(); });
    measure("mesh", 5, [](SpreadWorld* world) { world->Mesh(); });
    measure("ring", 8, [](SpreadWorld* world) { world->Ring(); });
    measure("random", 50, [](SpreadWorld* world) { world->RandomGraph(6); });
    measure("zones", 6, [](SpreadWorld* world) {
      for (size_t i = 0; i < 6; ++i) {
        world->SetZone(i, i < 3 ? "north" : "south");
      }
      world->Mesh();
    });
  }

  const Settings settings_;
  Report report_;
  int number_ = 0;
};

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--peer") {
    return rocksync::RunPeer(argv[2], argv[3]);
  }
  rocksync::Settings settings;
  CLI::App app("How soon a write is on another replica, and what that costs");
  // On a disk, which /tmp may not be.
  std::string parent = std::filesystem::is_directory("build") ? "build" : ".";
  rocksync::bench::AddScratchOption(&app, &parent);
  app.add_option("--seconds", settings.seconds, "Of each measurement")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  app.add_option("--idle-seconds", settings.idle_seconds)
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  app.add_option("--away-seconds", settings.away_seconds,
                 "That the peer is away, at 10 000 writes a second")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  app.add_option("--case", settings.cases,
                 "visible, visible_unsynced, writer, writer_paced (20 000 "
                 "writes a second), away, idle, once (in "
                 "virtual time); each may be given")
      ->check(CLI::IsMember({"visible", "visible_unsynced", "writer",
                             "writer_paced", "away", "idle", "once"}));
  app.add_flag("--json", settings.json, "A JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const rocksync::TemporaryDirectory scratch(parent);
  settings.directory = scratch.path();
  ::prctl(PR_SET_TIMERSLACK, 1'000);
  rocksync::Bench(settings).Run();
  return 0;
}
