#include "tests/simulation/truth.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "replication/session/acceptance.h"
#include "replication/session/conflict.h"

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

// Versions are unique here, but for unversioned pairs.
bool Loses(const Record& a, const Record& b) {
  return Beats(AsContender(b), AsContender(a));
}

// Adds what beats what is there.
void Merge(const Records& records, uint64_t stable_time, Records* merged) {
  for (const auto& [key, record] : records) {
    if (!record.Counts(stable_time)) continue;
    const auto [it, inserted] = merged->emplace(key, record);
    if (!inserted && Loses(it->second, record)) it->second = record;
  }
}

using Choice = std::pair<ElementHash, ElementHash>;

// True if `merged` is `sum` and one of each choice.
bool Reaches(const Digest& sum, absl::Span<const Choice> open,
             const Digest& merged) {
  if (open.empty()) return sum == merged;
  const auto reaches_with = [&](const ElementHash& chosen) {
    Digest more = sum;
    more.Add(chosen);
    return Reaches(more, open.subspan(1), merged);
  };
  return reaches_with(open[0].first) || reaches_with(open[0].second);
}

// The content that lost to `record` at the same version, null if none did.
const Record* OtherContent(const Truth::Key& key, const Record& record,
                           const Records& one, const Records& other) {
  for (const Records* side : {&one, &other}) {
    const auto it = side->find(key);
    if (it != side->end() && it->second.version == record.version &&
        it->second.tombstone == record.tombstone &&
        it->second.hash != record.hash) {
      return &it->second;
    }
  }
  return nullptr;
}

bool IsSound(const Record& record) {
  return !record.quarantined &&
         (record.damage == Damage::kNone || record.damage == Damage::kShows);
}

}  // namespace

void Truth::Violated(std::string what) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back(std::move(what));
  }
}

void Truth::Wrote(const Key& key, const Record& record, bool shares_its_id) {
  auto& versions = written_[key];
  const bool repeated = versions.count(record.version) > 0;
  versions.emplace(record.version, record);
  if (repeated && !shares_its_id) {
    Violated(absl::StrCat("version ", Name(record.version), " of ", Name(key),
                          " was issued twice"));
  }
}

void Truth::MadeUnversioned(const Key& key, const Version& was,
                            const Record& record) {
  Wrote(key, record, /*shares_its_id=*/true);
  if (!LivesAgain(key, was)) unversioned_.insert(key);
}

void Truth::Synced(const Records& records) {
  for (const auto& [key, record] : records) {
    if (!IsSound(record)) continue;
    Version& durable = durable_[key];
    durable = std::max(durable, record.version);
  }
}

void Truth::Lost(const Records& lost, const Storages& left) {
  for (const auto& [key, record] : lost) {
    const auto durable = durable_.find(key);
    if (durable == durable_.end() || durable->second != record.version) {
      continue;
    }
    NoteLeft(key, left);
  }
}

void Truth::NoteLeft(const Key& key, const Storages& left) {
  Version durable;
  for (const MemoryStorage* replica : left) {
    const auto it = replica->synced_records().find(key);
    if (it == replica->synced_records().end() || !IsSound(it->second)) {
      continue;
    }
    durable = std::max(durable, it->second.version);
  }
  if (durable == Version{}) {
    durable_.erase(key);
  } else {
    durable_[key] = durable;
  }
}

void Truth::Unlearn(const Storages& left) {
  const auto known = [&left](const Key& key, const Version& version) {
    return std::any_of(left.begin(), left.end(), [&](const auto* storage) {
      const auto it = storage->records().find(key);
      return IsCollected(true, version, storage->stable_time()) ||
             (it != storage->records().end() && it->second.version >= version);
    });
  };
  for (auto* deletions : {&collected_, &gone_}) {
    for (auto& [key, versions] : *deletions) {
      for (auto it = versions.begin(); it != versions.end();) {
        if (known(key, *it)) {
          ++it;
          continue;
        }
        const auto durable = durable_.find(key);
        if (durable != durable_.end() && durable->second <= *it) {
          NoteLeft(key, left);
        }
        it = versions.erase(it);
      }
    }
    std::erase_if(*deletions, [](const auto& of) { return of.second.empty(); });
  }
}

void Truth::Corrupted(uint64_t replica_id, const Key& key, const Record& record,
                      const Storages& left) {
  damaged_.insert({replica_id, key});
  const auto before = durable_.find(key);
  const Version was = before == durable_.end() ? Version{} : before->second;
  Lost({{key, record}}, left);
  const auto after = durable_.find(key);
  const Version is = after == durable_.end() ? Version{} : after->second;
  if (is != was || is < record.version) excused_.insert(key);
}

void Truth::Collected(const Key& key, const Version& version, bool fenced) {
  gone_[key].insert(version);
  if (fenced) return;
  std::set<Version>& collected = collected_[key];
  const bool is_new = collected.insert(version).second;
  if (is_new && *collected.rbegin() == version) unversioned_.erase(key);
}

bool Truth::IsGone(const Key& key, const Version& version) const {
  const auto it = gone_.find(key);
  return it != gone_.end() && version <= *it->second.rbegin();
}

bool Truth::IsUnversioned(const Key& key, const Version& version) const {
  return version == Version{} && unversioned_.count(key) > 0;
}

bool Truth::LivesAgain(const Key& key, const Version& version) const {
  const auto it = collected_.find(key);
  if (IsUnversioned(key, version)) return false;
  return it != collected_.end() && version < *it->second.rbegin() &&
         !IsExcused(key);
}

void Truth::Applied(const Pair& pair, uint64_t wall_ms, uint64_t max_ahead_ms,
                    bool fenced) {
  const Key key = {pair.family, pair.key};
  if (TooFarAhead(pair.version, wall_ms, max_ahead_ms)) {
    Violated(absl::StrCat("version ", Name(pair.version), " of ", Name(key),
                          " was applied when the clock said ", wall_ms));
  }
  if (!WasWritten(key, pair.version, pair.tombstone ? nullptr : &pair.value)) {
    Violated(absl::StrCat("version ", Name(pair.version), " of ", Name(key),
                          " was applied, but is not what was written"));
  }
  if (!fenced && !pair.tombstone && LivesAgain(key, pair.version)) {
    Violated(absl::StrCat("version ", Name(pair.version), " of ", Name(key),
                          " was applied, whose deletion is collected"));
  }
}

void Truth::Proved(const Proof& side, const Proof& other,
                   const Digest& merged) {
  Records both;
  Merge(*side.snapshot, side.stable_time, &both);
  Merge(*other.snapshot, other.stable_time, &both);
  for (const Proof* one : {&side, &other}) {
    for (const auto& [key, record] : *one->snapshot) {
      if (!record.IsLeftOut(one->stable_time) || both.count(key) > 0) continue;
      Violated(
          absl::StrCat("called equal, but ", Name(key),
                       " is quarantined on one side, and of neither's set"));
    }
  }
  const MemoryStorage& storage = *side.storage;
  Digest expected;
  std::vector<Choice> open;
  for (const auto& [key, record] : both) {
    // Of two contents of one version the one that a disk has damaged since
    // cannot be read to be compared: either may stay.
    const bool unread = IsDamaged(storage.options().replica_id, key) ||
                        IsDamaged(other.storage->options().replica_id, key);
    const Record* const lesser =
        unread ? OtherContent(key, record, *side.snapshot, *other.snapshot)
               : nullptr;
    if (lesser == nullptr) {
      expected.Add(record.hash);
    } else {
      open.push_back({record.hash, lesser->hash});
    }
    for (const bool synced : {false, true}) {
      const Records& held =
          synced ? storage.synced_records() : storage.records();
      const uint64_t stable_time =
          synced ? storage.synced_gc().stable_time : storage.stable_time();
      if (IsCollected(record.tombstone, record.version, stable_time) ||
          IsDamaged(storage.options().replica_id, key)) {
        continue;
      }
      const auto it = held.find(key);
      if (it != held.end() && !Loses(it->second, record)) continue;
      // It may have been deleted since, and that collected; or be a tombstone
      // that was, before the stable time of a newer list took it back.
      if (it == held.end() && IsGone(key, record.version)) continue;
      Violated(absl::StrCat(
          "called equal, but ", Name(key), " is ",
          it == held.end() ? "missing" : Name(it->second.version),
          synced ? " after a crash" : "", " and not ", Name(record.version)));
    }
  }
  if (!Reaches(expected, open, merged)) {
    Violated(absl::StrCat("called equal with ", merged.count,
                          " elements, but the snapshots merge to ",
                          expected.count + open.size(), " others"));
  }
}

bool Truth::WasWritten(const Key& key, const Version& version,
                       const std::string* value) const {
  const auto written = written_.find(key);
  if (written == written_.end()) return false;
  const auto [begin, end] = written->second.equal_range(version);
  return std::any_of(begin, end, [value](const auto& one) {
    const Record& record = one.second;
    return value == nullptr ? record.tombstone
                            : !record.tombstone && *record.value == *value;
  });
}

void Truth::Settle(const Storages& replicas, const Storages& fenced) {
  winners_.clear();
  for (const MemoryStorage* replica : replicas) {
    const bool is_fenced =
        std::find(fenced.begin(), fenced.end(), replica) != fenced.end();
    Records sound;
    for (const auto& [key, record] : replica->records()) {
      if (!IsSound(record) || (is_fenced && !record.tombstone &&
                               !IsUnversioned(key, record.version) &&
                               IsGone(key, record.version))) {
        continue;
      }
      sound.emplace(key, record);
    }
    Merge(sound, replica->stable_time(), &winners_);
  }
  for (auto& [key, record] : winners_) {
    record.damage = Damage::kNone;
    if (!WasWritten(key, record.version, record.value.get())) {
      Violated(absl::StrCat("version ", Name(record.version), " of ", Name(key),
                            " was never written"));
    }
    if (!record.tombstone && LivesAgain(key, record.version)) {
      Violated(absl::StrCat("version ", Name(record.version), " of ", Name(key),
                            " lives, whose deletion is collected"));
    }
  }
  for (const auto& [key, version] : durable_) {
    const auto it = winners_.find(key);
    // Collected by all; an old disk may still have an earlier tombstone, or
    // what it showed of the key since was adopted.
    const bool is_gone =
        IsGone(key, version) && (it == winners_.end() || it->second.tombstone ||
                                 IsUnversioned(key, it->second.version));
    if (IsExcused(key) || is_gone) continue;
    if (it == winners_.end() || it->second.version < version) {
      Violated(absl::StrCat(
          "the durable version ", Name(version), " of ", Name(key),
          " is lost: ",
          it == winners_.end() ? "nothing" : Name(it->second.version),
          " is left"));
    }
  }
}

bool Truth::Equal(const Storages& replicas) const {
  return std::all_of(
      replicas.begin(), replicas.end(), [this](const MemoryStorage* replica) {
        const uint64_t stable_time = replica->stable_time();
        size_t held = 0;
        for (const auto& [key, record] : replica->records()) {
          if (IsCollected(record.tombstone, record.version, stable_time))
            continue;
          const auto it = winners_.find(key);
          if (record.quarantined || record.damage != Damage::kNone ||
              it == winners_.end() || it->second.hash != record.hash) {
            return false;
          }
          ++held;
        }
        size_t wanted = 0;
        for (const auto& [key, record] : winners_) {
          if (record.Counts(stable_time)) ++wanted;
        }
        return held == wanted;
      });
}

void Truth::ExpectEqual(const Storages& replicas) {
  for (const MemoryStorage* replica : replicas) {
    const std::string name =
        absl::StrCat("replica ", replica->options().replica_id);
    const Records& records = replica->records();
    for (const auto& [key, winner] : winners_) {
      if (!winner.Counts(replica->stable_time())) continue;
      const auto it = records.find(key);
      if (it != records.end() && it->second.hash == winner.hash) continue;
      const bool lives =
          winner.tombstone && it != records.end() && !it->second.tombstone;
      Violated(absl::StrCat(
          name, " holds ",
          it == records.end() ? "nothing" : Name(it->second.version), " for ",
          Name(key), ", the winner is ", Name(winner.version),
          lives ? " (a deleted key lives)" : ""));
    }
    for (const auto& [key, record] : records) {
      if (IsCollected(record.tombstone, record.version,
                      replica->stable_time())) {
        continue;
      }
      if (record.quarantined || record.damage != Damage::kNone) {
        Violated(absl::StrCat(name, " still has ", Name(record.version),
                              " for ", Name(key), ", which is damaged"));
      } else if (record.Counts(replica->stable_time()) &&
                 winners_.count(key) == 0) {
        Violated(absl::StrCat(name, " holds ", Name(record.version), " for ",
                              Name(key), ", which nobody had"));
      }
    }
  }
}

}  // namespace rocksync
