// The program `rocksync`: what is done to databases from outside.

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "rocksync/stats.h"
#include "tools/commands.h"
#include "tools/help/help_formatter.h"
#include "tools/help/standard_descriptors.h"

namespace {

// The exit code of a command that ended with `code`: what it said may be lost,
// on a full disk for example.
int Ended(int code) {
  if (std::cout.flush()) return code;
  std::cerr << "rocksync: the output could not be written\n";
  return 2;
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
  rocksync::OpenStandardDescriptors("/dev/full");
  // A limit of files' size (ulimit -f) is an error of the write, as a full disk
  // is, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("Tools for replicated RocksDB databases", "rocksync");
  app.formatter(std::make_shared<rocksync::HelpFormatter>());
  app.require_subcommand(1);
  const rocksync::SoftwareStats software = rocksync::RunningSoftware();
  app.set_version_flag("--version", "rocksync " + software.rocksync +
                                        "\nRocksDB " + software.rocksdb +
                                        "\nprotocol " +
                                        std::to_string(software.protocol));
  app.set_help_all_flag("--help-all", "Print the help of all commands");
  app.failure_message(NameCommand);

  std::vector<rocksync::Command> commands;
  for (const auto& add :
       {rocksync::AddDiff, rocksync::AddDetach, rocksync::AddId,
        rocksync::AddCertificate, rocksync::AddClone, rocksync::AddResync,
        rocksync::AddVerify, rocksync::AddRescue, rocksync::AddRepair,
        rocksync::AddRestamp, rocksync::AddStatus, rocksync::AddExporter}) {
    commands.push_back(add(&app));
    commands.back().app->set_help_all_flag();  // of the program alone
    rocksync::RefuseEmptyArguments(commands.back().app);
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
      [](const rocksync::Command& command) { return command.app->parsed(); });
  if (given == commands.end()) return 2;
  if (given->credentials != nullptr) {
    rocksync::WarnOfOpenFiles(*given->credentials, std::cerr);
  }
  return Ended(given->run());
}
