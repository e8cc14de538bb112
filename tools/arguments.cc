#include "tools/arguments.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <system_error>

namespace rocksync {

CLI::Option* AddSecret(CLI::App* tool, Credentials* credentials) {
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

void AddCredentials(CLI::App* tool, Credentials* credentials) {
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

void AddPeerTimeout(CLI::App* tool, Credentials* credentials,
                    const std::string& description) {
  tool->add_option("--peer-timeout-ms", credentials->peer_timeout_ms,
                   description)
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400'000));
}

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

void RefuseEmptyArguments(CLI::App* tool) {
  for (CLI::Option* option : tool->get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const std::string wanted = option->get_positional()
                                   ? option->get_description()
                                   : option->get_type_name();
    option->check([wanted](const std::string& text) {
      return text.empty() ? "the name is empty; give: " + wanted
                          : std::string();
    });
  }
}

void AddWalDirs(CLI::App* tool, std::vector<std::string>* wal_dirs) {
  tool->add_option("--wal-dir", *wal_dirs,
                   "the log of DIR is in LOGDIR "
                   "(DBOptions::wal_dir); needed if the command cannot tell, "
                   "and asks for it. Write DIR as in the command")
      ->allow_extra_args(false)
      ->type_name("DIR=LOGDIR");
}

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

}  // namespace rocksync
