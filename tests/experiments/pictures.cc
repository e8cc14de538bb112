// The pictures of docs/results.md: the network as it converges (figures 6 to 9
// of arXiv 1910.07782) from runs of its own, the others from the lines that
// experiments and benchmarks printed. Data go to text files which gnuplot
// scripts of plots/ draw.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drawing.h"
#include "experiments.h"
#include "network.h"
#include "report.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

struct PictureOptions {
  std::string pictures;  // where to; empty: data alone
  std::string data = "build/pictures";
  std::vector<std::string> lines;
  uint64_t seed = 1;
};

constexpr MappingKind kKinds[] = {
    MappingKind::kStandard, MappingKind::kDistributed, MappingKind::kFresh};
// What the panels of a network show; the last is the end.
constexpr size_t kPanels[] = {0, 2, 4, 6, 1000};

// --- The network ------------------------------------------------------------

const std::vector<uint32_t>& SizesAt(const NetworkRun& run, size_t iteration) {
  return run.sizes[std::min(iteration, run.sizes.size() - 1)];
}

// iteration, then for each kind: smallest, median and largest set, nodes
// converged.
void WriteCurves(const std::vector<NetworkRun>& runs, const fs::path& file) {
  size_t iterations = 0;
  for (const NetworkRun& run : runs) {
    iterations = std::max(iterations, run.sizes.size());
  }
  std::ofstream out(file);
  for (size_t i = 0; i < iterations; ++i) {
    out << i;
    for (const NetworkRun& run : runs) {
      const std::vector<uint32_t>& sizes = SizesAt(run, i);
      out << ' ' << *std::min_element(sizes.begin(), sizes.end()) << ' '
          << Median(sizes) << ' '
          << *std::max_element(sizes.begin(), sizes.end()) << ' '
          << std::count(sizes.begin(), sizes.end(), run.union_size);
    }
    out << '\n';
  }
}

std::string PlaceOf(uint32_t node, uint32_t nodes) {
  const double angle = 2 * M_PI * node / nodes;
  return std::to_string(std::cos(angle)) + ' ' +
         std::to_string(std::sin(angle));
}

// One gnuplot index per panel, `x y missing` per node: standard first, then
// distributed.
void WriteNetwork(const std::vector<NetworkRun>& runs, const fs::path& file) {
  std::ofstream out(file);
  for (size_t kind = 0; kind < 2; ++kind) {
    for (const size_t iteration : kPanels) {
      const std::vector<uint32_t>& sizes = SizesAt(runs[kind], iteration);
      for (uint32_t node = 0; node < sizes.size(); ++node) {
        out << PlaceOf(node, static_cast<uint32_t>(sizes.size())) << ' '
            << runs[kind].union_size - sizes[node] << '\n';
      }
      out << "\n\n";
    }
  }
}

void WriteEdges(const NetworkOptions& options, const fs::path& file) {
  std::ofstream out(file);
  const auto neighbours =
      RandomNeighbours(options.nodes, options.neighbours, options.seed);
  for (uint32_t a = 0; a < options.nodes; ++a) {
    for (const uint32_t b : neighbours[a]) {
      out << PlaceOf(a, options.nodes) << '\n'
          << PlaceOf(b, options.nodes) << "\n\n";
    }
  }
}

// Runs one of the paper's experiments under each mapping, one meeting an
// iteration so that there is something to see.
void WriteExperiment(const std::string& name, FilterSizing sizing,
                     const PictureOptions& options, Report* report) {
  NetworkOptions network;
  network.sizing = sizing;
  network.reduction = Reduction::kPlainMod;
  network.meetings = 1;
  network.seed = options.seed;
  std::vector<NetworkRun> runs;
  for (const MappingKind kind : kKinds) {
    network.mapping = kind;
    runs.push_back(RunNetwork(network));
    const NetworkRun& run = runs.back();
    report->Run({{"network", name},
                 {"filter", NameOf(kind)},
                 {"seed", network.seed},
                 {"union", run.union_size},
                 {"sizes", run.sizes}});
    report->Compare(name + ", median set at the end, " + NameOf(kind), nullptr,
                    run.median,
                    {kind == MappingKind::kStandard ? 700.0 : 998.0, 1000});
  }
  const fs::path data = options.data;
  WriteCurves(runs, data / (name + "-convergence.dat"));
  WriteNetwork(runs, data / (name + "-network.dat"));
  WriteEdges(network, data / (name + "-edges.dat"));
}

// --- From printed lines -----------------------------------------------------

std::vector<Json> ReadLines(const std::vector<std::string>& files) {
  std::vector<Json> lines;
  for (const std::string& file : files) {
    std::ifstream in(file);
    if (!in) std::cerr << "cannot read " << file << std::endl;
    std::string text;
    while (std::getline(in, text)) {
      Json line = Json::parse(text, nullptr, false);
      if (line.is_object()) lines.push_back(std::move(line));
    }
  }
  return lines;
}

// Writes rows sorted by their first column; false if there are none.
using Rows = std::map<double, std::string>;
bool WriteRows(const Rows& rows, const fs::path& file) {
  if (rows.empty()) return false;
  std::ofstream out(file);
  for (const auto& [first, rest] : rows) out << first << ' ' << rest << '\n';
  return true;
}

std::string Number(const Json& value) {
  return std::to_string(value.get<double>());
}

// Of bench_reconcile: differences, bytes; a file per mode.
bool WriteReconcile(const std::vector<Json>& lines, const fs::path& data) {
  std::map<std::string, Rows> modes;
  for (const Json& line : lines) {
    if (!line.contains("only_a") || line["n"] != 100'000) continue;
    modes[line["mode"]][line["only_a"].get<double>() +
                        line["only_b"].get<double>()] = Number(line["bytes"]);
  }
  for (const char* mode : {"adaptive", "dbf", "bloom", "merkle"}) {
    if (!WriteRows(modes[mode],
                   data / ("reconcile-" + std::string(mode) + ".dat"))) {
      return false;
    }
  }
  return true;
}

// Of the experiment compressed: bits and rate, plain and coded.
bool WriteFalsePositives(const std::vector<Json>& lines, const fs::path& data) {
  Rows rows;
  for (const Json& line : lines) {
    if (!line.contains("curve")) continue;
    rows[line["curve"]] =
        Number(line["plain_bits"]) + ' ' + Number(line["plain_rate"]) + ' ' +
        Number(line["coded_bits"]) + ' ' + Number(line["coded_rate"]);
  }
  return WriteRows(rows, data / "false-positives.dat");
}

// Of the experiment beyond: nodes, bytes per node; a file per mode and way.
bool WriteGrowth(const std::vector<Json>& lines, const fs::path& data) {
  std::map<std::string, Rows> files;
  for (const Json& line : lines) {
    if (!line.contains("summary")) continue;
    for (const Json& row : line["results"]) {
      if (!row.contains("growth")) continue;
      const std::string how = row["how"] == "measured" ? "measured" : "paper";
      files[row["growth"].get<std::string>() + "-" + how][row["nodes"]] =
          Number(row["bytes per node"]);
    }
  }
  if (files.size() != 4) return false;
  for (const auto& [name, rows] : files) {
    WriteRows(rows, data / ("growth-" + name + ".dat"));
  }
  return true;
}

bool Run(const PictureOptions& options, bool json) {
  Report report("pictures", json);
  fs::create_directories(options.data);
  WriteExperiment("dbf-1", FilterSizing::kFixed, options, &report);
  WriteExperiment("dbf-2", FilterSizing::kLarger, options, &report);
  const std::vector<Json> lines = ReadLines(options.lines);
  const bool reconcile = WriteReconcile(lines, options.data);
  const bool false_positives = WriteFalsePositives(lines, options.data);
  const bool growth = WriteGrowth(lines, options.data);
  if (!options.pictures.empty()) {
    fs::create_directories(options.pictures);
    const DrawingPaths paths = {options.data, options.pictures};
    for (const std::string experiment : {"dbf-1", "dbf-2"}) {
      Draw(paths, "convergence", experiment + "-convergence", &report);
      Draw(paths, "network", experiment + "-network", &report);
    }
    if (reconcile) Draw(paths, "reconcile", "reconcile", &report);
    if (false_positives) {
      Draw(paths, "false-positives", "false-positives", &report);
    }
    if (growth) Draw(paths, "growth", "growth", &report);
  }
  return report.Finish({{"seed", options.seed}, {"lines", options.lines}});
}

}  // namespace

void AddPictures(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<PictureOptions>();
  CLI::App* command = app.add_subcommand(
      "pictures", "the pictures of docs/results.md, and their data");
  command->add_option("--pictures", options->pictures,
                      "directory for the pictures; needs gnuplot");
  command->add_option("--data", options->data, "directory for the data")
      ->capture_default_str();
  command->add_option(
      "--lines", options->lines,
      "files of lines that bench reconcile (n = 100 000), experiment "
      "compressed and experiment beyond printed with --json");
  command->add_option("--seed", options->seed)->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
