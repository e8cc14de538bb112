// How fast a replica that lacks much becomes equal again: real databases, each
// in a process of its own, replicators over TLS.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/heal/clone_cases.h"
#include "tests/bench/heal/heal_cases.h"
#include "tests/bench/heal/measured.h"
#include "tests/bench/heal/serving_process.h"
#include "tests/bench/number_check.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

int Main(int argc, char** argv) {
  CLI::App app(
      "Heals beside plain RocksDB that writes the same pairs, or beside the "
      "rate of the link that they go over.");
  bool json = false;
  double scale = 1;
  int runs = 1;
  std::vector<std::string> only;
  std::string serve;
  std::string certificates;
  std::string parent = std::filesystem::temp_directory_path();
  app.add_flag("--json", json, "a JSON object a line");
  app.add_option("--scale", scale, "multiplies the numbers of pairs")
      ->check(Number(1e-4, 100));
  app.add_option("--runs", runs, "lines of each case")
      ->check(CLI::PositiveNumber);
  std::vector<std::string> names;
  for (const HealCase& heal : HealCases(scale)) names.push_back(heal.name);
  for (const CloneCase& clone : CloneCases(scale)) names.push_back(clone.name);
  app.add_option("--only", only, "one case by name; may be repeated")
      ->check(CLI::IsMember(names));
  AddScratchOption(&app, &parent);
  app.add_option(kServeOption, serve, "for this program itself")->group("");
  app.add_option(kCertificatesOption, certificates, "for this program itself")
      ->group("");
  CLI11_PARSE(app, argc, argv);
  if (!serve.empty()) return Serve(serve, certificates);

  const TemporaryDirectory scratch(parent);
  const std::string directory = scratch / "case";
  if (!json) PrintHeader();
  const auto run_case = [&](const auto& one, const auto& measure) {
    if (!only.empty() &&
        std::find(only.begin(), only.end(), one.name) == only.end()) {
      return true;
    }
    for (int run = 0; run < runs; ++run) {
      const std::optional<Measured> measured = measure(one, directory);
      if (!measured) return false;
      Print(*measured, json);
    }
    return true;
  };
  for (const HealCase& heal : HealCases(scale)) {
    if (!run_case(heal, RunHeal)) return 1;
  }
  for (const CloneCase& clone : CloneCases(scale)) {
    if (!run_case(clone, RunClone)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) { return rocksync::bench::Main(argc, argv); }
