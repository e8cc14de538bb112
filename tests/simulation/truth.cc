#include "tests/simulation/truth.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/apply.h"

namespace rocksync {
namespace {

constexpr size_t kMaxViolations = 20;

std::string Name(const Truth::Key& key) {
  return absl::StrCat(key.first, "/", key.second);
}

std::string Name(const Version& version) {
  return absl::StrCat(WallMs(version), ".", version.time & 0xffff, ":",
                      version.replica);
}

// Versions are unique here, but for adopted pairs.
bool Loses(const MemoryStorage::Record& a, const MemoryStorage::Record& b) {
  return Beats({b.version, b.tombstone, HashValue(b.value)},
               {a.version, a.tombstone, HashValue(a.value)});
}

Truth::Records Merge(const Truth::Records& a, const Truth::Records& b) {
  Truth::Records merged = a;
  for (const auto& [key, record] : b) {
    const auto [it, inserted] = merged.emplace(key, record);
    if (!inserted && Loses(it->second, record)) it->second = record;
  }
  return merged;
}

}  // namespace

void Truth::Violated(std::string what) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back(std::move(what));
  }
}

void Truth::Wrote(const Key& key, const MemoryStorage::Record& record,
                  bool shares_its_id) {
  auto& versions = written_[key];
  const bool repeated = versions.count(record.version) > 0;
  versions.emplace(record.version, record);
  if (repeated && !shares_its_id) {
    Violated(absl::StrCat("version ", Name(record.version), " of ", Name(key),
                          " was issued twice"));
  }
}

void Truth::Synced(const Records& records) {
  for (const auto& [key, record] : records) {
    Version& durable = durable_[key];
    durable = std::max(durable, record.version);
  }
}

void Truth::Lost(const Records& lost, const std::vector<const Records*>& left) {
  for (const auto& [key, record] : lost) {
    const auto durable = durable_.find(key);
    if (durable == durable_.end() || durable->second != record.version) {
      continue;
    }
    durable->second = {};
    for (const Records* replica : left) {
      const auto it = replica->find(key);
      if (it == replica->end()) continue;
      durable->second = std::max(durable->second, it->second.version);
    }
    if (durable->second == Version{}) durable_.erase(durable);
  }
}

void Truth::Applied(const Pair& pair, uint64_t wall_ms, uint64_t max_ahead_ms) {
  if (TooFarAhead(pair.version, wall_ms, max_ahead_ms)) {
    Violated(absl::StrCat("version ", Name(pair.version), " of ",
                          Name(Key(pair.family, pair.key)),
                          " was applied when the clock said ", wall_ms));
  }
}

void Truth::Proved(const Records& a, const Records& b, const Digest& merged,
                   const Records& now, const Records& synced) {
  Digest expected;
  for (const auto& [key, record] : Merge(a, b)) {
    expected.Add(record.hash);
    for (const Records* held : {&now, &synced}) {
      const auto it = held->find(key);
      if (it == held->end() || Loses(it->second, record)) {
        Violated(absl::StrCat(
            "called equal, but ", Name(key), " is ",
            it == held->end() ? "missing" : Name(it->second.version),
            held == &now ? "" : " after a crash", " and not ",
            Name(record.version)));
      }
    }
  }
  if (expected != merged) {
    Violated(absl::StrCat("called equal with ", merged.count,
                          " elements, but the snapshots merge to ",
                          expected.count, " others"));
  }
}

void Truth::ExpectWritten(const Key& key, const MemoryStorage::Record& record) {
  const auto [begin, end] = written_[key].equal_range(record.version);
  const bool same = std::any_of(begin, end, [&record](const auto& written) {
    return written.second.hash == record.hash &&
           written.second.value == record.value &&
           written.second.tombstone == record.tombstone;
  });
  if (same) return;
  Violated(absl::StrCat(
      "version ", Name(record.version), " of ", Name(key),
      begin == end ? " was never written" : " is not what was written"));
}

void Truth::Settle(const std::vector<const Records*>& replicas) {
  winners_.clear();
  for (const Records* replica : replicas) winners_ = Merge(winners_, *replica);
  for (const auto& [key, record] : winners_) ExpectWritten(key, record);
  for (const auto& [key, version] : durable_) {
    const auto it = winners_.find(key);
    if (it == winners_.end() || it->second.version < version) {
      Violated(absl::StrCat(
          "the durable version ", Name(version), " of ", Name(key),
          " is lost: ",
          it == winners_.end() ? "nothing" : Name(it->second.version),
          " is left"));
    }
  }
}

bool Truth::Equal(const std::vector<const Records*>& replicas) const {
  return std::all_of(
      replicas.begin(), replicas.end(), [this](const Records* replica) {
        return std::equal(replica->begin(), replica->end(), winners_.begin(),
                          winners_.end(), [](const auto& a, const auto& b) {
                            return a.first == b.first &&
                                   a.second.hash == b.second.hash;
                          });
      });
}

void Truth::ExpectEqual(const std::vector<const Records*>& replicas) {
  for (size_t i = 0; i < replicas.size(); ++i) {
    for (const auto& [key, winner] : winners_) {
      const auto it = replicas[i]->find(key);
      if (it != replicas[i]->end() && it->second.hash == winner.hash) continue;
      const bool lives =
          winner.tombstone && it != replicas[i]->end() && !it->second.tombstone;
      Violated(absl::StrCat(
          "replica ", i, " holds ",
          it == replicas[i]->end() ? "nothing" : Name(it->second.version),
          " for ", Name(key), ", the winner is ", Name(winner.version),
          lives ? " (a deleted key lives)" : ""));
    }
    for (const auto& [key, record] : *replicas[i]) {
      if (winners_.count(key) > 0) continue;
      Violated(absl::StrCat("replica ", i, " holds ", Name(record.version),
                            " for ", Name(key), ", which nobody had"));
    }
  }
}

}  // namespace rocksync
