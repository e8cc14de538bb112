#include "tests/bench/filter/attack.h"

#include <functional>
#include <string>
#include <vector>

#include "plugin/filter_format.h"
#include "plugin/filter_hash.h"
#include "plugin/filter_sizing.h"
#include "tests/bench/filter/contenders.h"
#include "tests/bench/filter/keys.h"

namespace rocksdb {
// The hash that all built-in filters use; exported by the library.
uint64_t Hash64(const char* data, size_t n);
}  // namespace rocksdb

namespace rocksync::bench {
namespace {

constexpr size_t kOrdinary = 1'000'000;
constexpr size_t kInserted = 300;
constexpr size_t kAsked = 2'000;
constexpr double kBitsPerKey = 10;

struct Mined {
  std::vector<std::string> inserted;
  std::vector<std::string> asked;
};

// Tries keys until enough of them go to one line of the filter attacked.
Mined Mine(const std::function<uint64_t(const std::string&)>& line_of) {
  constexpr uint64_t kTarget = 1234;
  Mined mined;
  std::string key(kKeyBytes, 0);
  for (uint64_t number = 3 * kAbsent; mined.asked.size() < kAsked; ++number) {
    WriteKey(number, kKeyBytes, key.data());
    if (line_of(key) != kTarget) continue;
    (mined.inserted.size() < kInserted ? mined.inserted : mined.asked)
        .push_back(key);
  }
  return mined;
}

Mined MineAgainstBuiltIn() {
  constexpr uint64_t kLines =
      (kOrdinary + kInserted) * static_cast<uint64_t>(kBitsPerKey) / 512 + 1;
  return Mine([](const std::string& key) {
    const uint64_t hash = rocksdb::Hash64(key.data(), key.size());
    return (hash & 0xffffffff) * kLines >> 32;
  });
}

Mined MineAgainstAnotherOfOurs() {
  constexpr uint64_t kSeedOfAnother = 42;
  const uint32_t lines = FilterLineCount(kOrdinary + kInserted, kBitsPerKey);
  const uint32_t window = FilterWindow(lines);
  return Mine([=](const std::string& key) {
    return LocateLines(HashFilterKey(key.data(), key.size(), kSeedOfAnother),
                       lines, window)
        .first;
  });
}

double RateOf(const Filter& filter, const std::vector<std::string>& keys) {
  double matches = 0;
  for (const std::string& key : keys) matches += filter.reader().MayMatch(key);
  return matches / static_cast<double>(keys.size());
}

void Measure(const Contender& contender, const Mined& mined, const char* attack,
             Report* report) {
  constexpr int kFilters = 20;  // 40 000 questions in all
  double attack_fpr = 0;
  double fpr = 0;
  for (int i = 0; i < kFilters; ++i) {
    const uint64_t base = static_cast<uint64_t>(i) * kOrdinary;
    auto builder = NewBuilder(contender);
    std::string key(kKeyBytes, 0);
    for (uint64_t number = 0; number < kOrdinary; ++number) {
      WriteKey(base + number, kKeyBytes, key.data());
      builder->AddKey(key);
    }
    for (const std::string& inserted : mined.inserted) {
      builder->AddKey(inserted);
    }
    const Filter filter(contender, std::move(builder));
    attack_fpr += RateOf(filter, mined.asked) / kFilters;
    const Keys absent(kAbsent + base, 100'000, kKeyBytes);
    double matches = 0;
    for (const auto& k : absent.slices())
      matches += filter.reader().MayMatch(k);
    fpr += matches / 100'000 / kFilters;
  }
  report->Add({{"policy", contender.policy},
               {"isa", contender.isa},
               {"bits_per_key", kBitsPerKey},
               {"attack", attack},
               {"fpr", fpr},
               {"attack_fpr", attack_fpr},
               {"set", "attack"}});
}

}  // namespace

void MeasureAttack(Report* report) {
  const auto contenders = Contenders(kBitsPerKey);
  const Mined built_in = MineAgainstBuiltIn();
  Measure(contenders.front(), built_in, "public_hash", report);
  Measure(contenders.back(), built_in, "public_hash", report);
  Measure(contenders.back(), MineAgainstAnotherOfOurs(), "other_seed", report);
}

}  // namespace rocksync::bench
