// The program `rocksync`: what is done to databases from outside. One file per
// subcommand.

#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "tools/detach.h"
#include "tools/diff.h"

int main(int argc, char** argv) {
  CLI::App app("Tools for replicated RocksDB databases", "rocksync");
  app.require_subcommand(1);

  rocksync::DiffOptions diff_options;
  CLI::App* const diff = app.add_subcommand(
      "diff",
      "How two databases at rest differ; exit code 0: equal, 1: "
      "different, 2: error");
  diff->add_option("LEFT", diff_options.left, "directory")->required();
  diff->add_option("RIGHT", diff_options.right, "directory")->required();
  diff->add_option("--max-keys", diff_options.max_keys,
                   "how many differing keys to list")
      ->capture_default_str();
  diff->add_flag("--json", diff_options.json, "one JSON object a line");

  std::string detach_directory;
  CLI::App* const detach = app.add_subcommand(
      "detach",
      "Takes the index out of a database and leaves it a plain one; exit code "
      "2: error");
  detach->add_option("DIR", detach_directory, "directory")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // 1 means "different".
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*diff) return rocksync::RunDiff(diff_options, std::cout, std::cerr);
  if (*detach) {
    return rocksync::RunDetach(detach_directory, std::cout, std::cerr);
  }
  return 2;
}
