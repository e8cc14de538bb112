#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "tools/clone.h"
#include "tools/commands.h"
#include "tools/exporter.h"
#include "tools/rescue.h"
#include "tools/resync.h"
#include "tools/status.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

volatile std::sig_atomic_t g_stop = 0;

int Export(const ExporterOptions& options) {
  if (!options.once) {
    std::signal(SIGINT, [](int) { g_stop = 1; });
    std::signal(SIGTERM, [](int) { g_stop = 1; });
  }
  std::signal(SIGPIPE, SIG_IGN);
  return RunExporter(
      options, [] { return g_stop != 0; }, std::cout, std::cerr);
}

}  // namespace

Command AddClone(CLI::App* app) {
  const auto options = std::make_shared<CloneToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "clone",
      "Makes a new replica as a copy of a running one; run it again to resume "
      "an interrupted clone. Exit code 0: the clone is complete and proven "
      "equal, 1: complete and not proven equal, 2: error");
  command->add_option("SOURCE", options->source, "host:port of the replica")
      ->required()
      ->type_name("");
  command
      ->add_option("DIR", options->directory,
                   "new or empty directory, or that of an interrupted clone")
      ->required()
      ->type_name("");
  command
      ->add_option("--connections", options->connections,
                   "how many connections carry files at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  command->add_flag("--json", options->json, "one JSON object");
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials);
  command->get_option("--certificate")
      ->description(
          "PEM file of the new replica's own certificate. The clone gets the "
          "id that it names, so give neither an operator's nor another "
          "replica's; a warning prints the id before anything is copied");
  command->get_option("--certificates")
      ->description(
          "for trials: the directory that the replicas use; a certificate for "
          "the new replica is made in it");
  return {command, Running(RunClone, options), &options->credentials};
}

Command AddResync(CLI::App* app) {
  const auto options = std::make_shared<ResyncToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "resync",
      "Brings a stopped replica that is far behind up to date by a copy of a "
      "running one. It keeps its id and what it alone holds. Exit code 0: up "
      "to date and proven equal, 1: up to date and not proven equal, 2: error");
  command
      ->add_option("SOURCE", options->source,
                   "host:port of the running replica")
      ->required()
      ->type_name("");
  command
      ->add_option("DIR", options->directory,
                   "directory of the stopped replica; the copy is made in "
                   "DIR.resync first")
      ->required()
      ->type_name("");
  command
      ->add_option("--connections", options->connections,
                   "how many connections carry files at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  command
      ->add_option("--copy-from-share", options->copy_from_share,
                   "copy if at least this share of the pairs is missing; "
                   "otherwise a session brings them. 0: copy in any case")
      ->capture_default_str()
      ->check([](const std::string& given) -> std::string {
        char* end = nullptr;
        const double share = std::strtod(given.c_str(), &end);
        const bool in_range = *end == '\0' && share >= 0 && share <= 1;
        return in_range ? "" : given + " is not between 0 and 1";
      });
  command->add_flag("--json", options->json, "one JSON object");
  AddWalDirs(command, &options->wal_dirs);
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials);
  command->get_option("--certificate")
      ->description("PEM file of the stopped replica's own certificate");
  command->get_option("--certificates")
      ->description("for trials: the directory that the replicas use");
  return {command, RunningAsOwner(RunResync, options), &options->credentials};
}

Command AddVerify(CLI::App* app) {
  const auto options = std::make_shared<VerifyToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "verify",
      "Lists the keys that differ between two replicas; ships and writes "
      "nothing. Exit code 0: equal, 1: different, 2: error, or quarantined "
      "pairs could not be compared");
  command
      ->add_option("LEFT", options->left,
                   "host:port of a running replica, or the directory of an "
                   "offline one")
      ->required()
      ->type_name("");
  command
      ->add_option("RIGHT", options->right,
                   "host:port of a running replica, at which LEFT can reach "
                   "it; or a directory, if LEFT is one")
      ->required()
      ->type_name("");
  command
      ->add_option("--max-keys", options->max_keys,
                   "list at most this many differing keys, and stop there")
      ->capture_default_str()
      ->check(AtLeast(1));
  command
      ->add_option("--wait-ms", options->wait_ms,
                   "wait this long for writes in flight before reporting a "
                   "difference")
      ->capture_default_str()
      ->check(CLI::Range(0, 3'600'000));
  command->add_flag("--json", options->json, "one JSON object a line");
  AddWalDirs(command, &options->wal_dirs);
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials,
                 "give up LEFT if it is silent for this long; how long LEFT "
                 "waits for RIGHT is LEFT's own limit");
  return {command, Running(RunVerify, options), &options->credentials};
}

Command AddRescue(CLI::App* app) {
  const auto options = std::make_shared<RescueOptions>();
  CLI::App* const command = app->add_subcommand(
      "rescue",
      "Exports what only an offline replica holds. Exit code 0: nothing to "
      "export, 1: exported, 2: error, or DIR could not be read completely");
  command->add_option("DIR", options->directory, "directory of the replica")
      ->required()
      ->type_name("");
  command
      ->add_option("--against", options->against,
                   "host:port or directory of the replica to compare with")
      ->required()
      ->type_name("REPLICA");
  command
      ->add_option("--output", options->output, "new directory for the export")
      ->required()
      ->type_name("DIR");
  AddWalDirs(command, &options->wal_dirs);
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials);
  return {command, Running(RunRescue, options), &options->credentials};
}

Command AddStatus(CLI::App* app) {
  const auto options = std::make_shared<StatusToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "status", "Shows the status of a running replica. Exit code 2: error");
  command->add_option("REPLICA", options->replica, "host:port")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "one JSON object");
  AddCredentials(command, &options->credentials);
  options->credentials.peer_timeout_ms = 5000;
  AddPeerTimeout(command, &options->credentials);
  return {command, Running(RunStatus, options), &options->credentials};
}

Command AddExporter(CLI::App* app) {
  const auto options = std::make_shared<ExporterOptions>();
  CLI::App* const command = app->add_subcommand(
      "exporter",
      "Serves statistics of running replicas to Prometheus, until SIGINT or "
      "SIGTERM; exit code 2: error");
  command->add_option("REPLICA", options->replicas, "host:port of each replica")
      ->required()
      ->type_name("");
  command
      ->add_option("--listen", options->listen,
                   "host:port of the page http://.../metrics, which does not "
                   "authenticate clients")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  command->add_flag("--once", options->once,
                    "print the page once instead; then a replica that does "
                    "not answer is an error");
  AddCredentials(command, &options->credentials);
  options->credentials.peer_timeout_ms = 5000;
  AddPeerTimeout(command, &options->credentials,
                 "give up a replica that is silent for this long, or a little "
                 "before Prometheus' scrape_timeout if that is earlier");
  return {command, [options] { return Export(*options); },
          &options->credentials};
}

}  // namespace rocksync
