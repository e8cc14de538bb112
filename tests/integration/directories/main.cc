// Random operations on directories that databases share, or would:
// `directories_machine --seed N --seeds K --operations O`.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "CLI/CLI.hpp"
#include "tests/integration/directories/machine.h"

namespace rocksync::directories {
namespace {

int Main(int argc, char** argv) {
  CLI::App app("Random operations on directories that databases want to share");
  uint64_t seed = 1;
  uint64_t seeds = 1;
  uint64_t operations = 60;
  bool apart = false;
  bool keep = false;
  bool verbose = false;
  std::string parent = std::filesystem::temp_directory_path();
  app.add_option("--seed", seed, "the first");
  app.add_option("--seeds", seeds, "how many");
  app.add_option("--operations", operations, "of each seed");
  app.add_option("--in", parent, "where the directories are made");
  app.add_flag("--apart", apart,
               "no database gets a directory within another one's");
  app.add_flag("--keep", keep, "what is there at a violation stays");
  app.add_flag("--verbose", verbose, "print each seed's history");
  CLI11_PARSE(app, argc, argv);
  uint64_t failed = 0;
  MachineResult sum;
  for (uint64_t each = seed; each < seed + seeds; ++each) {
    Machine machine(each, parent, apart);
    const std::string root = machine.root();
    const MachineResult result = machine.Run(operations);
    sum.operations += result.operations;
    sum.accepted += result.accepted;
    sum.refused += result.refused;
    const bool wrong = !result.violation.empty();
    if ((each - seed) % 50 == 49) {
      std::fprintf(stderr, "%" PRIu64 " of %" PRIu64 " seeds\n",
                   each - seed + 1, seeds);
    }
    if (wrong || verbose) {
      std::printf("seed %" PRIu64 ":\n", each);
      for (const std::string& line : result.history) {
        std::printf("  %s\n", line.c_str());
      }
    }
    if (!wrong) continue;
    ++failed;
    std::printf("seed %" PRIu64 ": WRONG: %s\n", each,
                result.violation.c_str());
    if (keep) {
      machine.Keep();
      std::printf("kept in %s\n", root.c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%" PRIu64 " seeds from %" PRIu64 ": %" PRIu64 " failed; %" PRIu64
              " operations, %" PRIu64 " accepted, %" PRIu64 " refused\n",
              seeds, seed, failed, sum.operations, sum.accepted, sum.refused);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksync::directories

int main(int argc, char** argv) {
  return rocksync::directories::Main(argc, argv);
}
