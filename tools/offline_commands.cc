#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "tools/certificate.h"
#include "tools/commands.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/id.h"
#include "tools/repair.h"
#include "tools/restamp.h"

namespace rocksync {
namespace {

// In milliseconds: what is longer is a mistake, such as a negative number.
constexpr uint64_t kCentury = uint64_t{100} * 365 * 24 * 3600 * 1000;

}  // namespace

Command AddDiff(CLI::App* app) {
  const auto options = std::make_shared<DiffOptions>();
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
  return {command, Running(RunDiff, options), nullptr};
}

Command AddDetach(CLI::App* app) {
  const auto options = std::make_shared<DetachOptions>();
  CLI::App* const command = app->add_subcommand(
      "detach",
      "Removes the index from a database and leaves it a plain one; exit code "
      "2: error");
  command->add_option("DIR", options->directory, "directory")
      ->required()
      ->type_name("");
  AddWalDirs(command, &options->wal_dirs);
  return {command, RunningAsOwner(RunDetach, options), nullptr};
}

Command AddId(CLI::App* app) {
  const auto options = std::make_shared<IdOptions>();
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
            return RunId(*options, std::cout, std::cerr);
          },
          nullptr};
}

Command AddCertificate(CLI::App* app) {
  const auto options = std::make_shared<CertificateOptions>();
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
  command
      ->add_option(
          "--days", options->days,
          "for how many days what is made is valid, 1 to 36500; by default "
          "3650 for a CA, 365 for a certificate, which ends with its CA at the "
          "latest")
      ->check(AtLeast(1));
  return {command, Running(RunCertificate, options), nullptr};
}

Command AddRepair(CLI::App* app) {
  const auto options = std::make_shared<RepairToolOptions>();
  CLI::App* const command = app->add_subcommand(
      "repair",
      "Makes a new database of the tables and the log of a damaged replica "
      "that can be read; a table with one block that does not read is left out "
      "as a whole (rescue exports the rest of it). Exit code 0: all, 1: "
      "something was left out, 2: error");
  command->add_option("DIR", options->directory, "directory of the replica")
      ->required()
      ->type_name("");
  command->add_option("COPY", options->copy, "new directory")
      ->required()
      ->type_name("");
  AddWalDirs(command, &options->wal_dirs);
  return {command, RunningAsOwner(RunRepair, options), nullptr};
}

Command AddRestamp(CLI::App* app) {
  const auto options = std::make_shared<RestampToolOptions>();
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
  return {command, RunningAsOwner(RunRestamp, options), &options->credentials};
}

}  // namespace rocksync
