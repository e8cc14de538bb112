#include "push.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "drawing.h"
#include "experiments.h"
#include "streams.h"

namespace rocksync {

FilterShape ShapeWith(double n, uint32_t probes, double rate) {
  const double fill = std::pow(rate, 1.0 / probes);
  return {static_cast<uint64_t>(std::ceil(n * probes / -std::log1p(-fill))),
          probes};
}

uint32_t RanksFor(double distinct, uint32_t events) {
  uint32_t low = static_cast<uint32_t>(distinct);
  uint32_t high = 64 * events;
  while (low + 1 < high) {
    const uint32_t middle = low + (high - low) / 2;
    (Zipf(middle, 1).Distinct(events) < distinct ? low : high) = middle;
  }
  return high;
}

std::string PushData(const PushOptions& options, const std::string& name) {
  return options.pictures.empty()
             ? std::string()
             : (std::filesystem::path(options.data) / name).string();
}

namespace {

bool Run(const PushOptions& options, bool json) {
  Report report("push", json);
  Random random(options.first_seed);
  if (!options.pictures.empty()) {
    std::filesystem::create_directories(options.data);
    std::filesystem::create_directories(options.pictures);
  }
  RunPushSlices(options, &random, &report);
  RunPushTimers(options, &random, &report);
  RunPushMemory(options, &random, &report);
  RunPushBursts(options, &random, &report);
  RunPushTrees(options, &random, &report);
  if (!options.pictures.empty()) {
    for (const char* name : {"push-slices", "push-timers", "push-memory",
                             "push-bursts", "push-trees"}) {
      Draw({options.data, options.pictures}, name, name, &report);
    }
  }
  return report.Finish({{"seeds", options.seeds},
                        {"first_seed", options.first_seed},
                        {"events", options.events}});
}

}  // namespace

void AddPush(CLI::App& app, Chosen* chosen) {
  auto options = std::make_shared<PushOptions>();
  CLI::App* command = app.add_subcommand(
      "push",
      "sliding windows, bursts, trees and slices over streams (CIKM 2011)");
  command->add_option("--seeds", options->seeds, "streams of each kind")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  command->add_option("--first-seed", options->first_seed)
      ->capture_default_str();
  command->add_option("--events", options->events, "of a stream")
      ->check(CLI::Range(1000, 10'000'000))
      ->capture_default_str();
  command->add_option("--pictures", options->pictures,
                      "directory for the pictures; needs gnuplot");
  command
      ->add_option("--data", options->data,
                   "directory for the data of the pictures")
      ->capture_default_str();
  command->callback(
      [=] { chosen->run = [=] { return Run(*options, chosen->json); }; });
}

}  // namespace rocksync
