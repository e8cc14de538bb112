#include "tests/bench/heal/measured.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

namespace rocksync::bench {

std::optional<Measured> MeasureIn(
    const std::string& directory,
    const std::function<bool(Measured*)>& measure) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  std::filesystem::create_directories(directory, ignored);
  Measured measured;
  const bool done = measure(&measured);
  std::filesystem::remove_all(directory, ignored);
  if (!done) return std::nullopt;
  return measured;
}

void Print(const Measured& measured, bool json) {
  const double ratio = measured.anchor_seconds / measured.seconds;
  const double mb_per_second =
      static_cast<double>(measured.bytes_needed) / measured.seconds / 1e6;
  if (json) {
    nlohmann::ordered_json line = {{"case", measured.name},
                                   {"pairs", measured.pairs},
                                   {"value_bytes", measured.value_bytes},
                                   {"seconds", measured.seconds},
                                   {"anchor_seconds", measured.anchor_seconds},
                                   {"ratio", ratio},
                                   {"mb_per_second", mb_per_second},
                                   {"bytes", measured.bytes},
                                   {"bytes_needed", measured.bytes_needed},
                                   {"memory_bytes", measured.memory_bytes}};
    if (measured.synced_anchor_seconds) {
      line["synced_anchor_seconds"] = *measured.synced_anchor_seconds;
      line["synced_ratio"] = *measured.synced_anchor_seconds / measured.seconds;
    }
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%-18s %9llu %7llu %8.2f %8.2f %6.2f %8.1f %12llu %6.3f %7.1f\n",
        measured.name.c_str(), static_cast<unsigned long long>(measured.pairs),
        static_cast<unsigned long long>(measured.value_bytes), measured.seconds,
        measured.anchor_seconds, ratio, mb_per_second,
        static_cast<unsigned long long>(measured.bytes),
        static_cast<double>(measured.bytes) /
            static_cast<double>(measured.bytes_needed),
        static_cast<double>(measured.memory_bytes) / (1 << 20));
    if (measured.synced_anchor_seconds) {
      std::printf("%-18s %25s %8.2f %6.2f\n", "", "until it is synced",
                  *measured.synced_anchor_seconds,
                  *measured.synced_anchor_seconds / measured.seconds);
    }
  }
  std::fflush(stdout);
}

void PrintHeader() {
  std::printf(
      "case                   pairs   bytes  seconds   anchor  ratio     MB/s  "
      " "
      "     bytes / need     MiB\n");
}

}  // namespace rocksync::bench
