#include "tests/crash/report.h"

#include <cstdio>
#include <iostream>

#include "nlohmann/json.hpp"

namespace rocksync::crash {

double Report::Seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       begin_)
      .count();
}

void Report::Print(const Kill& kill) {
  ++done_;
  ++by_machine_[kill.machine];
  acknowledged_ += kill.acknowledged;
  synced_ += kill.synced;
  if (!kill.wrong.empty()) ++violations_;
  if (json_) {
    std::cout << nlohmann::json{{"kill", kill.number},
                                {"machine", kill.machine},
                                {"moment", kill.moment},
                                {"acknowledged", kill.acknowledged},
                                {"synced", kill.synced},
                                {"pairs", kill.pairs},
                                {"tombstones", kill.tombstones},
                                {"violations", kill.wrong},
                                {"seconds", Seconds()}}
              << std::endl;
    return;
  }
  std::printf(
      "%4u/%u %6.1f s  %-5s %s: %llu writes acknowledged, %llu synced; %llu "
      "pairs, %llu tombstones, %s\n",
      done_, kills_, Seconds(), kill.machine.c_str(), kill.moment.c_str(),
      static_cast<unsigned long long>(kill.acknowledged),
      static_cast<unsigned long long>(kill.synced),
      static_cast<unsigned long long>(kill.pairs),
      static_cast<unsigned long long>(kill.tombstones),
      kill.wrong.empty() ? "right" : "WRONG");
  for (const std::string& what : kill.wrong) {
    std::printf("  violation: %s\n", what.c_str());
  }
  std::fflush(stdout);
}

void Report::PrintSummary() const {
  if (json_) {
    std::cout << nlohmann::json{{"kills", done_},
                                {"seed", seed_},
                                {"by_machine", by_machine_},
                                {"acknowledged", acknowledged_},
                                {"synced", synced_},
                                {"kills_with_violations", violations_},
                                {"seconds", Seconds()}}
              << std::endl;
    return;
  }
  std::printf(
      "%u kills (seed %llu) in %.0f s: %llu writes acknowledged, %llu of them "
      "synced; kills with violations: %u\n",
      done_, static_cast<unsigned long long>(seed_), Seconds(),
      static_cast<unsigned long long>(acknowledged_),
      static_cast<unsigned long long>(synced_), violations_);
}

}  // namespace rocksync::crash
