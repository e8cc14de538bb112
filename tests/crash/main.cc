// ./dev crash: real processes on real databases, killed with -9 at random
// moments. What survives is checked by plain RocksDB. docs/testing.md says what
// is checked. The plan of each kill follows from the seed; what the processes
// have done by then is up to the machine.

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/crash/child.h"
#include "tests/crash/fault.h"
#include "tests/crash/one_replica.h"
#include "tests/crash/power_cluster.h"
#include "tests/crash/report.h"
#include "tests/crash/two_replicas.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::crash {
namespace {

struct Arguments {
  uint32_t kills = 20;
  Settings settings;
  std::string machine = "all";
  bool json = false;
};

bool Run(const Arguments& arguments) {
  OneReplica one(arguments.settings, Loss::kNone);
  OneReplica power(arguments.settings, Loss::kUnsynced);
  TwoReplicas heal(arguments.settings);
  PowerCluster two(arguments.settings, 2);
  PowerCluster three(arguments.settings, 3);
  Report report(arguments.kills, arguments.settings.seed, arguments.json);
  static const std::string turns[] = {"one", "heal", "power", "heal-power"};
  // One cluster at a time: five kills of two replicas, five of three, each with
  // an end.
  constexpr uint32_t kInARow = 5;
  uint32_t of_clusters = 0;
  for (uint32_t i = 0; i < arguments.kills; ++i) {
    const std::string& machine =
        arguments.machine == "all" ? turns[i % 4] : arguments.machine;
    const bool last =
        i + (arguments.machine == "all" ? 4 : 1) >= arguments.kills;
    Kill kill;
    if (machine == "one") {
      kill = one.KillOnce(i + 1);
    } else if (machine == "power") {
      kill = power.KillOnce(i + 1);
    } else if (machine == "heal") {
      kill = heal.KillOnce(i + 1, last);
    } else {
      const uint32_t n = of_clusters++;
      PowerCluster& cluster = n / kInARow % 2 == 0 ? two : three;
      kill = cluster.KillOnce(i + 1, last || n % kInARow == kInARow - 1);
    }
    report.Print(kill);
    // The state is not to be trusted from here on.
    if (!kill.wrong.empty()) {
      report.PrintSummary();
      return false;
    }
  }
  report.PrintSummary();
  return true;
}

void AddChild(CLI::App* app, ChildOptions* options) {
  app->group("");  // not for people
  app->add_option("--directory", options->directory)->required();
  app->add_option("--seed", options->seed);
  app->add_option("--kill", options->kill);
  app->add_option("--replica", options->replica);
  app->add_option("--phase", options->phase);
  app->add_option("--plant", options->fault);
  app->add_flag("--tell-syncs", options->tell_syncs);
  app->add_option("--listen", options->listen);
  app->add_option("--peer", options->peers);
  app->add_flag("--tell-peers", options->tell_peers);
  app->add_option("--certificates", options->certificates);
}

}  // namespace

int Main(int argc, char** argv) {
  CLI::App app("Kills replicas with -9 and checks what survives", "crash");
  Arguments arguments;
  std::string keep;
  std::string fault = "none";
  app.add_option("--kills", arguments.kills, "how many")->capture_default_str();
  app.add_option("--seed", arguments.settings.seed, "of the plan of kills")
      ->capture_default_str();
  app.add_option(
         "--machine", arguments.machine,
         "one: one replica under load; power: the same, and what was "
         "not synced is lost; heal: two replicas in sessions; heal-power: "
         "two or three of them, and the power goes; all: in turn")
      ->check(CLI::IsMember({"one", "power", "heal", "heal-power", "all"}))
      ->capture_default_str();
  app.add_option("--plant", fault, "a fault to plant in the children")
      ->check(CLI::IsMember(FaultNames()));
  app.add_option("--directory", keep,
                 "an empty directory for the databases, kept afterwards; "
                 "otherwise a temporary one, kept after a violation");
  app.add_flag("--json", arguments.json, "one JSON object a line");
  ChildOptions child_options;
  CLI::App* child = app.add_subcommand("child");
  AddChild(child, &child_options);
  CLI11_PARSE(app, argc, argv);

  signal(SIGPIPE, SIG_IGN);
  if (*child) return RunChild(child_options);

  std::optional<TemporaryDirectory> temporary;
  arguments.settings.directory =
      keep.empty() ? temporary.emplace().path() : keep;
  arguments.settings.fault = fault;
  std::filesystem::create_directories(arguments.settings.directory);
  const bool right = Run(arguments);
  // What a planted fault leaves is of no interest.
  if (!right && (fault == "none" || !keep.empty())) {
    if (temporary) temporary->Keep();
    std::cerr << "crash: what was found lies in "
              << arguments.settings.directory << "\n";
  }
  return right ? 0 : 1;
}

}  // namespace rocksync::crash

int main(int argc, char** argv) { return rocksync::crash::Main(argc, argv); }
