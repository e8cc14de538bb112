// What a kill is aimed at and what was found after it.

#ifndef ROCKSYNC_TESTS_CRASH_KILL_H_
#define ROCKSYNC_TESTS_CRASH_KILL_H_

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace rocksync::crash {

struct Settings {
  std::string directory;  // for everything; exists
  uint64_t seed = 1;
  std::string fault = "none";
};

struct Kill {
  uint32_t number = 0;
  std::string machine;        // one, power, heal
  std::string moment;         // readable
  uint64_t acknowledged = 0;  // writes, in the incarnation that ended
  uint64_t synced = 0;        // of these
  uint64_t pairs = 0;         // found afterwards
  uint64_t tombstones = 0;    // found afterwards
  std::vector<std::string> wrong;

  void Complain(const std::string& where,
                const std::vector<std::string>& complaints) {
    for (const std::string& what : complaints) {
      wrong.push_back(where + ": " + what);
    }
  }
};

// What is decided about kill `number` comes from here.
class Dice {
 public:
  Dice(uint64_t seed, uint32_t number) {
    std::seed_seq mix{static_cast<uint32_t>(seed),
                      static_cast<uint32_t>(seed >> 32), number};
    random_.seed(mix);
  }
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>(random_() % bound);
  }
  std::chrono::microseconds Delay(uint32_t max_us) {
    return std::chrono::microseconds(Below(max_us + 1));
  }

 private:
  std::mt19937_64 random_;
};

// Longest wait for something that a healthy child does at once.
inline constexpr std::chrono::milliseconds kPatience{60'000};

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_KILL_H_
