// The program `rocksync`: what is done to databases from outside. One file per
// subcommand.

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

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
#include "tools/certificate.h"
#include "tools/clone.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/exporter.h"
#include "tools/help/help_formatter.h"
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
                   "defaults to \"trial\"");
  tool->add_option(
      "--secret", credentials->secret_file,
      "file of the cluster's secret: 32 raw bytes, not hex, no newline");
  tool->callback([credentials] {
    if (!credentials->cluster.empty()) return;
    if (credentials->trial_directory.empty()) {
      throw CLI::RequiredError(
          "--cluster (or, for trials, --certificates DIR)");
    }
    credentials->cluster = "trial";
  });
  return tool->add_option("--certificates", credentials->trial_directory,
                          "for trials: the directory that the replicas use");
}

// The same, and what lets it talk to running replicas.
void AddCredentials(CLI::App* tool, rocksync::Credentials* credentials) {
  auto* const trial = AddSecret(tool, credentials);
  trial->description(
      "for trials: the directory that the replicas use; a certificate for the "
      "tool is made in it");
  auto* const ca = tool->add_option("--ca", credentials->tls.ca_file,
                                    "PEM file of the cluster's CA")
                       ->excludes(trial);
  tool->add_option("--certificate", credentials->tls.certificate_file,
                   "PEM file of a certificate of that CA, a replica's or one "
                   "of your own")
      ->needs(ca);
  tool->add_option("--private-key", credentials->tls.private_key_file,
                   "PEM file of its key")
      ->needs(ca);
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
                   "DIR=LOGDIR: the log of DIR is in LOGDIR "
                   "(DBOptions::wal_dir); needed if the command cannot tell, "
                   "and asks for it. Write DIR as in the command")
      ->allow_extra_args(false);
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

}  // namespace

int main(int argc, char** argv) {
  // A limit of files' size (ulimit -f) is an error of the write, as a full disk
  // is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Tools for replicated RocksDB databases", "rocksync");
  app.formatter(std::make_shared<rocksync::HelpFormatter>());
  app.require_subcommand(1);
  app.set_version_flag("--version", "rocksync " ROCKSYNC_VERSION);
  app.set_help_all_flag("--help-all", "Print the help of all commands");

  rocksync::DiffOptions diff_options;
  CLI::App* const diff = app.add_subcommand(
      "diff",
      "Lists the pairs that differ between two offline databases; exit code "
      "0: equal, 1: different, 2: error");
  diff->add_option("LEFT", diff_options.left, "directory")->required();
  diff->add_option("RIGHT", diff_options.right, "directory")->required();
  diff->add_option("--max-keys", diff_options.max_keys,
                   "list at most this many differing keys; all are counted")
      ->capture_default_str()
      ->check(AtLeast(0));
  diff->add_flag("--json", diff_options.json, "one JSON object a line");

  AddWalDirs(diff, &diff_options.wal_dirs);

  rocksync::DetachOptions detach_options;
  CLI::App* const detach = app.add_subcommand(
      "detach",
      "Removes the index from a database and leaves it a plain one; exit code "
      "2: error");
  detach->add_option("DIR", detach_options.directory, "directory")->required();
  AddWalDirs(detach, &detach_options.wal_dirs);

  rocksync::IdOptions id_options;
  CLI::App* const id = app.add_subcommand(
      "id",
      "The id of an offline replica, which its certificate names; exit code 2: "
      "error");
  id->add_option("DIR", id_options.directory, "directory")->required();
  id->add_flag("--make", id_options.make,
               "if there is no replica yet, make the id that it will have");
  AddWalDirs(id, &id_options.wal_dirs);

  rocksync::CertificateOptions certificate_options;
  CLI::App* const certificate =
      app.add_subcommand("certificate",
                         "Makes a cluster's CA, and certificates for replicas "
                         "and operators; exit code 2: error");
  certificate
      ->add_option("--ca", certificate_options.ca_file,
                   "PEM file of the CA's certificate")
      ->required();
  certificate
      ->add_option("--ca-key", certificate_options.ca_key_file,
                   "PEM file of its key; keep it off the replicas")
      ->required();
  certificate->add_option("--make-ca", certificate_options.make_ca,
                          "make the CA, under this name");
  certificate
      ->add_option("--output", certificate_options.stem,
                   "make STEM.pem and STEM.key; or, if they are there and the "
                   "replica's, renew STEM.pem for the same key")
      ->type_name("STEM");
  certificate->add_option("--id", certificate_options.replica_id,
                          "the replica's id, as `rocksync id` prints it. "
                          "Without it: the id of the certificate that is "
                          "renewed, or a random one, for an operator");
  certificate->add_option(
      "--days", certificate_options.days,
      "for how many days what is made is valid, 1 to 36500; by default 3650 "
      "for a CA, 365 for a certificate, which ends with its CA at the latest");

  rocksync::CloneToolOptions clone_options;
  CLI::App* const clone = app.add_subcommand(
      "clone",
      "Makes a new replica as a copy of a running one; run it again to resume "
      "an interrupted clone. Exit code 0: the clone is complete and proven "
      "equal, 1: complete and not proven equal, 2: error");
  clone->add_option("SOURCE", clone_options.source, "host:port of the replica")
      ->required();
  clone
      ->add_option("DIR", clone_options.directory,
                   "new or empty directory, or that of an interrupted clone")
      ->required();
  clone
      ->add_option("--connections", clone_options.connections,
                   "how many connections carry files at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  clone->add_flag("--json", clone_options.json, "one JSON object");
  AddCredentials(clone, &clone_options.credentials);
  clone->get_option("--certificate")
      ->description(
          "PEM file of the new replica's own certificate. The clone gets the "
          "id that it names, so give neither an operator's nor another "
          "replica's; a warning prints the id before anything is copied");
  clone->get_option("--certificates")
      ->description(
          "for trials: the directory that the replicas use; a certificate for "
          "the new replica is made in it");

  rocksync::ResyncToolOptions resync_options;
  CLI::App* const resync = app.add_subcommand(
      "resync",
      "Brings a stopped replica that is far behind up to date by a copy of a "
      "running one. It keeps its id and what it alone holds. Exit code 0: up "
      "to date and proven equal, 1: up to date and not proven equal, 2: error");
  resync
      ->add_option("SOURCE", resync_options.source,
                   "host:port of the running replica")
      ->required();
  resync
      ->add_option("DIR", resync_options.directory,
                   "directory of the stopped replica; the copy is made in "
                   "DIR.resync first")
      ->required();
  resync
      ->add_option("--connections", resync_options.connections,
                   "how many connections carry files at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  resync
      ->add_option("--copy-from-share", resync_options.copy_from_share,
                   "copy if at least this share of the pairs is missing; "
                   "otherwise a session brings them. 0: copy in any case")
      ->capture_default_str()
      ->check([](const std::string& given) -> std::string {
        char* end = nullptr;
        const double share = std::strtod(given.c_str(), &end);
        const bool in_range = *end == '\0' && share >= 0 && share <= 1;
        return in_range ? "" : given + " is not between 0 and 1";
      });
  resync->add_flag("--json", resync_options.json, "one JSON object");
  AddCredentials(resync, &resync_options.credentials);
  resync->get_option("--certificate")
      ->description("PEM file of the stopped replica's own certificate");
  resync->get_option("--certificates")
      ->description("for trials: the directory that the replicas use");

  rocksync::VerifyToolOptions verify_options;
  CLI::App* const verify = app.add_subcommand(
      "verify",
      "Lists the keys that differ between two replicas; ships and writes "
      "nothing. Exit code 0: equal, 1: different, 2: error, or quarantined "
      "pairs could not be compared");
  verify
      ->add_option("LEFT", verify_options.left,
                   "host:port of a running replica, or the directory of an "
                   "offline one")
      ->required();
  verify
      ->add_option("RIGHT", verify_options.right,
                   "host:port of a running replica, at which LEFT can reach "
                   "it; or a directory, if LEFT is one")
      ->required();
  verify
      ->add_option("--max-keys", verify_options.max_keys,
                   "list at most this many differing keys, and stop there")
      ->capture_default_str()
      ->check(AtLeast(1));
  verify
      ->add_option("--wait-ms", verify_options.wait_ms,
                   "wait this long for writes in flight before reporting a "
                   "difference")
      ->capture_default_str()
      ->check(CLI::Range(0, 3'600'000));
  verify->add_flag("--json", verify_options.json, "one JSON object a line");
  AddWalDirs(verify, &verify_options.wal_dirs);
  AddCredentials(verify, &verify_options.credentials);

  rocksync::RescueOptions rescue_options;
  CLI::App* const rescue = app.add_subcommand(
      "rescue",
      "Exports what only an offline replica holds. Exit code 0: nothing to "
      "export, 1: exported, 2: error, or DIR could not be read completely");
  rescue
      ->add_option("DIR", rescue_options.directory, "directory of the replica")
      ->required();
  rescue
      ->add_option("--against", rescue_options.against,
                   "host:port or directory of the replica to compare with")
      ->required();
  rescue
      ->add_option("--output", rescue_options.output,
                   "new directory for the export")
      ->required();
  AddWalDirs(rescue, &rescue_options.wal_dirs);
  AddCredentials(rescue, &rescue_options.credentials);

  rocksync::RepairToolOptions repair_options;
  CLI::App* const repair = app.add_subcommand(
      "repair",
      "Makes a new database of what can be read of a damaged replica. Exit "
      "code 0: all, 1: something was left out, 2: error");
  repair
      ->add_option("DIR", repair_options.directory, "directory of the replica")
      ->required();
  repair->add_option("COPY", repair_options.copy, "new directory")->required();
  AddWalDirs(repair, &repair_options.wal_dirs);

  rocksync::RestampToolOptions restamp_options;
  CLI::App* const restamp =
      app.add_subcommand("restamp",
                         "Gives new versions to pairs that an offline replica "
                         "wrote while its clock was ahead. Exit code 2: error");
  restamp
      ->add_option("DIR", restamp_options.directory, "directory of the replica")
      ->required();
  restamp
      ->add_option("--max-ahead-ms", restamp_options.max_ahead_ms,
                   "how far ahead peers accept versions: their "
                   "ReplicatedDBOptions::max_clock_ahead_ms")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{0}, kCentury));
  AddWalDirs(restamp, &restamp_options.wal_dirs);
  AddSecret(restamp, &restamp_options.credentials);

  rocksync::StatusToolOptions status_options;
  CLI::App* const status = app.add_subcommand(
      "status", "Shows the status of a running replica. Exit code 2: error");
  status->add_option("REPLICA", status_options.replica, "host:port")
      ->required();
  status->add_flag("--json", status_options.json, "one JSON object");
  AddCredentials(status, &status_options.credentials);

  rocksync::ExporterOptions exporter_options;
  CLI::App* const exporter = app.add_subcommand(
      "exporter",
      "Serves statistics of running replicas to Prometheus, until SIGINT or "
      "SIGTERM; exit code 2: error");
  exporter
      ->add_option("REPLICA", exporter_options.replicas,
                   "host:port of each replica")
      ->required();
  exporter
      ->add_option("--listen", exporter_options.listen,
                   "host:port of the page http://.../metrics, which does not "
                   "authenticate clients")
      ->capture_default_str();
  exporter->add_flag("--once", exporter_options.once,
                     "print the page once instead; then a replica that does "
                     "not answer is an error");
  exporter
      ->add_option("--timeout-ms", exporter_options.timeout_ms,
                   "how long to wait for the answer of a replica")
      ->capture_default_str()
      ->check(CLI::Range(1, 600'000));
  AddCredentials(exporter, &exporter_options.credentials);

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
  for (const rocksync::Credentials* credentials :
       {&clone_options.credentials, &resync_options.credentials,
        &verify_options.credentials, &rescue_options.credentials,
        &restamp_options.credentials, &status_options.credentials,
        &exporter_options.credentials}) {
    rocksync::WarnOfOpenFiles(*credentials, std::cerr);
  }
  if (*diff)
    return Ended(rocksync::RunDiff(diff_options, std::cout, std::cerr));
  if (*clone) {
    return Ended(rocksync::RunClone(clone_options, std::cout, std::cerr));
  }
  if (*resync) {
    ActAsOwnerOf(resync_options.directory);
    return Ended(rocksync::RunResync(resync_options, std::cout, std::cerr));
  }
  if (*id) {
    if (id_options.make) ActAsOwnerOf(id_options.directory);
    return Ended(rocksync::RunId(id_options, std::cout, std::cerr));
  }
  if (*certificate) {
    return Ended(
        rocksync::RunCertificate(certificate_options, std::cout, std::cerr));
  }
  if (*verify) {
    return Ended(rocksync::RunVerify(verify_options, std::cout, std::cerr));
  }
  if (*rescue) {
    return Ended(rocksync::RunRescue(rescue_options, std::cout, std::cerr));
  }
  if (*repair) {
    ActAsOwnerOf(repair_options.directory);
    return Ended(rocksync::RunRepair(repair_options, std::cout, std::cerr));
  }
  if (*restamp) {
    ActAsOwnerOf(restamp_options.directory);
    return Ended(rocksync::RunRestamp(restamp_options, std::cout, std::cerr));
  }
  if (*status) {
    return Ended(rocksync::RunStatus(status_options, std::cout, std::cerr));
  }
  if (*exporter) return Ended(Export(exporter_options));
  if (*detach) {
    ActAsOwnerOf(detach_options.directory);
    return Ended(rocksync::RunDetach(detach_options, std::cout, std::cerr));
  }
  return 2;
}
