// Compares filters: built-in Bloom, built-in Ribbon and ours, by themselves,
// under attack and in a database. Exits with 1 if a goal was missed and
// --strict was given.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tests/bench/filter/attack.h"
#include "tests/bench/filter/end_to_end.h"
#include "tests/bench/filter/goals.h"
#include "tests/bench/filter/report.h"
#include "tests/bench/filter/sets.h"

namespace rocksync::bench {
namespace {

struct Arguments {
  bool json = false;
  bool strict = false;
  std::vector<std::string> sets = {"hot", "large", "many", "attack",
                                   "end_to_end"};
  std::vector<double> bits = {8, 10, 12, 16, 20};
  std::vector<size_t> key_bytes = {16, 32};
  SetSize size;
  EndToEndSize end_to_end;
};

void MeasureSet(const std::string& set, const Arguments& arguments,
                Report* report) {
  if (set == "attack") return MeasureAttack(report);
  if (set == "end_to_end") {
    return MeasureEndToEnd(arguments.end_to_end, report);
  }
  for (const size_t bytes : arguments.key_bytes) {
    for (const double bits : arguments.bits) {
      if (set == "hot") MeasureHot(bits, bytes, arguments.size, report);
      if (set == "large") MeasureLarge(bits, bytes, arguments.size, report);
      if (set == "huge") MeasureHuge(bits, bytes, report);
      if (set == "many") MeasureMany(bits, bytes, arguments.size, report);
    }
  }
}

}  // namespace
}  // namespace rocksync::bench

int main(int argc, char** argv) {
  using namespace rocksync::bench;
  Arguments arguments;
  CLI::App app("Filters inside RocksDB: built-in Bloom and Ribbon, and ours");
  app.add_flag("--json", arguments.json, "one JSON object a line");
  app.add_flag("--strict", arguments.strict, "fail if a goal is missed");
  app.add_option("--set", arguments.sets,
                 "what to measure; huge (10^8 keys) only if asked for")
      ->check(CLI::IsMember(
          {"hot", "large", "huge", "many", "attack", "end_to_end"}));
  app.add_option("--bits", arguments.bits, "bits per key")
      ->check(CLI::Range(1., 50.));
  app.add_option("--key-bytes", arguments.key_bytes, "multiples of 8, from 16")
      ->check(CLI::Range(16, 4096));
  app.add_option("--repetitions", arguments.size.repetitions,
                 "turns of each timing")
      ->check(CLI::Range(20, 100000));
  app.add_option("--keys", arguments.end_to_end.keys,
                 "keys of the end-to-end database");
  CLI11_PARSE(app, argc, argv);
  Report report(arguments.json);
  for (const std::string& set : arguments.sets) {
    MeasureSet(set, arguments, &report);
  }
  ReportGoals(&report);
  return arguments.strict && !report.all_goals_met() ? 1 : 0;
}
