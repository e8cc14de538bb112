// Compares filters: built-in Bloom, built-in Ribbon and ours.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tests/bench/filter/report.h"
#include "tests/bench/filter/sets.h"

int main(int argc, char** argv) {
  using namespace rocksync::bench;
  CLI::App app("Filters inside RocksDB: built-in Bloom and Ribbon, and ours");
  bool json = false;
  std::vector<std::string> sets = {"hot", "large", "many"};
  std::vector<double> bits = {8, 10, 12, 16, 20};
  std::vector<size_t> key_bytes = {16, 32};
  SetSize size;
  app.add_flag("--json", json, "one JSON object a line");
  app.add_option("--set", sets, "hot, large, many");
  app.add_option("--bits", bits, "bits per key");
  app.add_option("--key-bytes", key_bytes, "16, 32, ... (multiples of 8)");
  app.add_option("--repetitions", size.repetitions, "of each timing");
  CLI11_PARSE(app, argc, argv);
  Report report(json);
  for (const std::string& set : sets) {
    for (const size_t bytes : key_bytes) {
      for (const double b : bits) {
        if (set == "hot") MeasureHot(b, bytes, size, &report);
        if (set == "large") MeasureLarge(b, bytes, size, &report);
        if (set == "many") MeasureMany(b, bytes, size, &report);
      }
    }
  }
  return 0;
}
