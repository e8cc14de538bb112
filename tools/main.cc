// The program `rocksync`: what is done to databases from outside. One file per
// subcommand.

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "rocksdb/version.h"
#include "tools/certificate.h"
#include "tools/clone.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/exporter.h"
#include "tools/help/help_formatter.h"
#include "tools/help/standard_descriptors.h"
#include "tools/id.h"
#include "tools/repair.h"
#include "tools/rescue.h"
#include "tools/restamp.h"
#include "tools/resync.h"
#include "tools/status.h"
#include "tools/verify.h"

namespace {

// In milliseconds: what is longer is a mistake, such as a negative number.
constexpr uint64_t kCentury = uint64_t{100} * 365 * 24 * 3600 * 1000;

// What shows that somebody belongs to the cluster; with `--certificates` it is
// the trial cluster of replicated_store. Returns that option.
CLI::Option* AddSecret(CLI::App* tool, rocksync::Credentials* credentials) {
  tool->add_option("--cluster", credentials->cluster,
                   "name of the cluster; required. With --certificates it "
                   "defaults to \"trial\"")
      ->type_name("NAME");
  tool->add_option(
          "--secret", credentials->secret_file,
          "file of the cluster's secret: 32 raw bytes, not hex, no newline")
      ->type_name("FILE");
  tool->callback([credentials] {
    if (!credentials->cluster.empty()) return;
    if (credentials->trial_directory.empty()) {
      throw CLI::RequiredError(
          "--cluster (or, for trials, --certificates DIR)");
    }
    credentials->cluster = "trial";
  });
  return tool
      ->add_option("--certificates", credentials->trial_directory,
                   "for trials: the directory that the replicas use")
      ->type_name("DIR");
}

// The same, and what lets it talk to running replicas.
void AddCredentials(CLI::App* tool, rocksync::Credentials* credentials) {
  auto* const trial = AddSecret(tool, credentials);
  trial->description(
      "for trials: the directory that the replicas use; a certificate for the "
      "tool is made in it");
  auto* const ca = tool->add_option("--ca", credentials->tls.ca_file,
                                    "PEM file of the cluster's CA")
                       ->excludes(trial)
                       ->type_name("FILE");
  tool->add_option("--certificate", credentials->tls.certificate_file,
                   "PEM file of a certificate of that CA, a replica's or one "
                   "of your own")
      ->needs(ca)
      ->type_name("FILE");
  tool->add_option("--private-key", credentials->tls.private_key_file,
                   "PEM file of its key")
      ->needs(ca)
      ->type_name("FILE");
}

constexpr char kSilentReplica[] =
    "give up a replica that is silent for this long; raise it over a slow "
    "link, and the replica's own limit as well";

void AddPeerTimeout(CLI::App* tool, rocksync::Credentials* credentials,
                    const std::string& description = kSilentReplica) {
  tool->add_option("--peer-timeout-ms", credentials->peer_timeout_ms,
                   description)
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400'000));
}

// A whole number; CLI11's own bounds are told as floating-point numbers.
std::function<std::string(const std::string&)> AtLeast(uint64_t least) {
  return [least](const std::string& text) {
    uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end && number >= least
               ? std::string()
               : text + " must be an integer of at least " +
                     std::to_string(least);
  };
}

void AddWalDirs(CLI::App* tool, std::vector<std::string>* wal_dirs) {
  tool->add_option("--wal-dir", *wal_dirs,
                   "the log of DIR is in LOGDIR "
                   "(DBOptions::wal_dir); needed if the command cannot tell, "
                   "and asks for it. Write DIR as in the command")
      ->allow_extra_args(false)
      ->type_name("DIR=LOGDIR");
}

volatile std::sig_atomic_t g_stop = 0;

// The exit code of a command that ended with `code`: what it said may be lost,
// on a full disk for example.
int Ended(int code) {
  if (std::cout.flush()) return code;
  std::cerr << "rocksync: the output could not be written\n";
  return 2;
}

// So that root leaves no files in a database that its program, which runs as
// another user, cannot write.
void ActAsOwnerOf(const std::string& directory) {
  struct stat status = {};
  if (geteuid() != 0 || stat(directory.c_str(), &status) != 0 ||
      status.st_uid == 0) {
    return;
  }
  if (setgroups(0, nullptr) != 0 || setegid(status.st_gid) != 0 ||
      seteuid(status.st_uid) != 0) {
    std::cerr << "rocksync: cannot act as the owner of " << directory
              << "; files that are made in it will be root's\n";
  }
}

int Export(const rocksync::ExporterOptions& options) {
  std::signal(SIGINT, [](int) { g_stop = 1; });
  std::signal(SIGTERM, [](int) { g_stop = 1; });
  std::signal(SIGPIPE, SIG_IGN);
  return rocksync::RunExporter(
      options, [] { return g_stop != 0; }, std::cout, std::cerr);
}

// One of the tool's commands, once it is declared.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  const rocksync::Credentials* credentials = nullptr;  // of `run`; may be null
};

template <typename Options>
using Run = int (*)(const Options&, std::ostream&, std::ostream&);

template <typename Options>
std::function<int()> Running(Run<Options> run,
                             const std::shared_ptr<Options>& options) {
  return [=] { return run(*options, std::cout, std::cerr); };
}

// For what may leave files in the directory.
template <typename Options>
std::function<int()> RunningAsOwner(Run<Options> run,
                                    const std::shared_ptr<Options>& options) {
  return [=] {
    ActAsOwnerOf(options->directory);
    return run(*options, std::cout, std::cerr);
  };
}

Command AddDiff(CLI::App* app) {
  const auto options = std::make_shared<rocksync::DiffOptions>();
  CLI::App* const command = app->add_subcommand(
      "diff",
      "Lists the pairs that differ between two offline databases; exit code "
      "0: equal, 1: different, 2: error");
  command->add_option("LEFT", options->left, "directory")
      ->required()
      ->type_name("");
  command->add_option("RIGHT", options->right, "directory")
      ->required()
      ->type_name("");
  command
      ->add_option("--max-keys", options->max_keys,
                   "list at most this many differing keys; all are counted")
      ->capture_default_str()
      ->check(AtLeast(0));
  command->add_flag("--json", options->json, "one JSON object a line");

  AddWalDirs(command, &options->wal_dirs);
  return {command, Running(rocksync::RunDiff, options), nullptr};
}

Command AddDetach(CLI::App* app) {
  const auto options = std::make_shared<rocksync::DetachOptions>();
  CLI::App* const command = app->add_subcommand(
      "detach",
      "Removes the index from a database and leaves it a plain one; exit code "
      "2: error");
  command->add_option("DIR", options->directory, "directory")
      ->required()
      ->type_name("");
  AddWalDirs(command, &options->wal_dirs);
  return {command, RunningAsOwner(rocksync::RunDetach, options), nullptr};
}

Command AddId(CLI::App* app) {
  const auto options = std::make_shared<rocksync::IdOptions>();
  CLI::App* const command = app->add_subcommand(
      "id",
      "The id of an offline replica, which its certificate names; exit code 2: "
      "error");
  command->add_option("DIR", options->directory, "directory")
      ->required()
      ->type_name("");
  command->add_flag(
      "--make", options->make,
      "if there is no replica yet, make the id that it will have");
  AddWalDirs(command, &options->wal_dirs);
  return {command,
          [options] {
            if (options->make) ActAsOwnerOf(options->directory);
            return rocksync::RunId(*options, std::cout, std::cerr);
          },
          nullptr};
}

Command AddCertificate(CLI::App* app) {
  const auto options = std::make_shared<rocksync::CertificateOptions>();
  CLI::App* const command =
      app->add_subcommand("certificate",
                          "Makes a cluster's CA, and certificates for replicas "
                          "and operators; exit code 2: error");
  command
      ->add_option("--ca", options->ca_file, "PEM file of the CA's certificate")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--ca-key", options->ca_key_file,
                   "PEM file of its key; keep it off the replicas")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--make-ca", options->make_ca,
                   "make the CA, under this name")
      ->type_name("NAME")
      ->check([](const std::string& name) -> std::string {
        return name.starts_with("--")
                   ? "--make-ca takes a NAME for the CA, and got " + name
                   : "";
      });
  command
      ->add_option("--output", options->stem,
                   "make STEM.pem and STEM.key; or, if both are there and the "
                   "replica's, renew STEM.pem for the same key")
      ->type_name("STEM");
  command
      ->add_option("--id", options->replica_id,
                   "the replica's id, as `rocksync id` prints it. "
                   "Without it: the id of the certificate that is "
                   "renewed, or a random one, for an operator")
      ->type_name("ID");
  command->add_option(
      "--days", options->days,
      "for how many days what is made is valid, 1 to 36500; by default 3650 "
      "for a CA, 365 for a certificate, which ends with its CA at the latest");
  return {command, Running(rocksync::RunCertificate, options), nullptr};
}

Command AddClone(CLI::App* app) {
  const auto options = std::make_shared<rocksync::CloneToolOptions>();
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
  return {command, Running(rocksync::RunClone, options), &options->credentials};
}

Command AddResync(CLI::App* app) {
  const auto options = std::make_shared<rocksync::ResyncToolOptions>();
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
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials);
  command->get_option("--certificate")
      ->description("PEM file of the stopped replica's own certificate");
  command->get_option("--certificates")
      ->description("for trials: the directory that the replicas use");
  return {command, RunningAsOwner(rocksync::RunResync, options),
          &options->credentials};
}

Command AddVerify(CLI::App* app) {
  const auto options = std::make_shared<rocksync::VerifyToolOptions>();
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
  return {command, Running(rocksync::RunVerify, options),
          &options->credentials};
}

Command AddRescue(CLI::App* app) {
  const auto options = std::make_shared<rocksync::RescueOptions>();
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
      ->type_name("HOST:PORT");
  command
      ->add_option("--output", options->output, "new directory for the export")
      ->required()
      ->type_name("DIR");
  AddWalDirs(command, &options->wal_dirs);
  AddCredentials(command, &options->credentials);
  AddPeerTimeout(command, &options->credentials);
  return {command, Running(rocksync::RunRescue, options),
          &options->credentials};
}

Command AddRepair(CLI::App* app) {
  const auto options = std::make_shared<rocksync::RepairToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "repair",
      "Makes a new database of what can be read of a damaged replica. Exit "
      "code 0: all, 1: something was left out, 2: error");
  command->add_option("DIR", options->directory, "directory of the replica")
      ->required()
      ->type_name("");
  command->add_option("COPY", options->copy, "new directory")
      ->required()
      ->type_name("");
  AddWalDirs(command, &options->wal_dirs);
  return {command, RunningAsOwner(rocksync::RunRepair, options), nullptr};
}

Command AddRestamp(CLI::App* app) {
  const auto options = std::make_shared<rocksync::RestampToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "restamp",
      "Gives new versions to pairs that an offline replica "
      "wrote while its clock was ahead. Exit code 2: error");
  command->add_option("DIR", options->directory, "directory of the replica")
      ->required()
      ->type_name("");
  command
      ->add_option("--max-ahead-ms", options->max_ahead_ms,
                   "how far ahead peers accept versions: their "
                   "ReplicatedDBOptions::max_clock_ahead_ms")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, kCentury));
  AddWalDirs(command, &options->wal_dirs);
  AddSecret(command, &options->credentials);
  return {command, RunningAsOwner(rocksync::RunRestamp, options),
          &options->credentials};
}

Command AddStatus(CLI::App* app) {
  const auto options = std::make_shared<rocksync::StatusToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "status", "Shows the status of a running replica. Exit code 2: error");
  command->add_option("REPLICA", options->replica, "host:port")
      ->required()
      ->type_name("");
  command->add_flag("--json", options->json, "one JSON object");
  AddCredentials(command, &options->credentials);
  options->credentials.peer_timeout_ms = 5000;
  AddPeerTimeout(command, &options->credentials);
  return {command, Running(rocksync::RunStatus, options),
          &options->credentials};
}

Command AddExporter(CLI::App* app) {
  const auto options = std::make_shared<rocksync::ExporterOptions>();
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
  AddPeerTimeout(command, &options->credentials);
  return {command, [options] { return Export(*options); },
          &options->credentials};
}

// What CLI11 says of a wrong argument, and of which command.
std::string NameCommand(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> given = app->get_subcommands();
  const std::string name =
      given.empty() ? "rocksync" : "rocksync " + given.front()->get_name();
  return name + ": " + error.what() + "\n`" + name + " --help` says more\n";
}

}  // namespace

int main(int argc, char** argv) {
  rocksync::OpenStandardDescriptors();
  // A limit of files' size (ulimit -f) is an error of the write, as a full disk
  // is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Tools for replicated RocksDB databases", "rocksync");
  app.formatter(std::make_shared<rocksync::HelpFormatter>());
  app.require_subcommand(1);
  app.set_version_flag("--version", "rocksync " ROCKSYNC_VERSION "\nRocksDB " +
                                        rocksdb::GetRocksVersionAsString());
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  app.failure_message(NameCommand);

  std::vector<Command> commands;
  for (const auto& add :
       {AddDiff, AddDetach, AddId, AddCertificate, AddClone, AddResync,
        AddVerify, AddRescue, AddRepair, AddRestamp, AddStatus, AddExporter}) {
    commands.push_back(add(&app));
    commands.back().app->set_help_all_flag();  // of the program alone
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Also where --help is asked for, which alone would succeed.
    const std::vector<std::string> unknown = app.remaining();
    if (app.get_subcommands().empty() && !unknown.empty()) {
      std::cerr << "rocksync: there is no command or option '"
                << unknown.front() << "'; `rocksync --help` lists them\n";
      return 2;
    }
    // 1 means "different".
    return Ended(app.exit(error) == 0 ? 0 : 2);
  }
  const auto given = std::find_if(
      commands.begin(), commands.end(),
      [](const Command& command) { return command.app->parsed(); });
  if (given == commands.end()) return 2;
  if (given->credentials != nullptr) {
    rocksync::WarnOfOpenFiles(*given->credentials, std::cerr);
  }
  return Ended(given->run());
}
